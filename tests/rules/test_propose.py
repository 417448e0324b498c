import dataclasses
import tomllib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from visceral_cli.analysis.tools import ToolFacts, ToolName
from visceral_cli.contract.acceptance import Inert, read_rules
from visceral_cli.contract.identity import InputHash
from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Rule,
    RuleKind,
    RuleStatus,
    decision_id,
    rule_to_json,
)
from visceral_cli.rules.evidence import (
    BoundEvidence,
    IdentityCalls,
    IdentityServes,
    Missing,
    ToolEvidence,
)
from visceral_cli.rules.propose import Proposal, RulePolicy, add_savings, propose_rules
from visceral_cli.rules.refusal import EXPLANATIONS, Refusal, RefusalKind, table_of

A, B, C = (InputHash(digit * 64) for digit in "abc")
BOUND = BoundEvidence(
    freshness_seconds=600.0,
    any_identity=False,
    stale_rate_at_most=0.00993612345,
    confidence=0.95,
    effective_observations=300.0,
    serves=310,
    stale=0,
    stored_results=300,
    runs=40,
    span_seconds=86400.0,
    largest_age_seconds=598.5,
    shared_change_bound=0.0104,
)
TOO_FEW = Missing(RefusalKind.TOO_FEW_OBSERVATIONS, "298 clean observations, needs 299")
NEAREST = replace(
    BOUND,
    shared_change_bound=None,
    stale_rate_at_most=0.010002,
    smallest_passing_stale_rate=0.010002,
)


def facts(
    tool: str = "search",
    *,
    namespace: str = "shop",
    kind: str = "tool",
    readonly: bool | None = True,
    replay_safe: bool | None = True,
    writer: bool = False,
) -> ToolFacts:
    return ToolFacts(
        name=ToolName(namespace, tool, kind),
        readonly=readonly,
        replay_safe=replay_safe,
        writer=writer,
        declared_by=None,
        freshness_cap_seconds=None,
        price_usd=None,
    )


def identity(
    input_hash: InputHash = A, *, repeats: int = 5, empty: bool = False, hash_v: int = 1
) -> IdentityCalls:
    return IdentityCalls(
        input_hash=input_hash,
        hash_v=hash_v,
        calls=repeats + 1,
        repeats=repeats,
        same_result=repeats,
        changed=0,
        empty_result=empty,
    )


def serves(*, stale: int = 0, volatile: bool = False, in_scope: bool = True) -> IdentityServes:
    return IdentityServes(serves=5, stale=stale, volatile=volatile, in_scope=in_scope)


def tool(
    of: ToolFacts | None = None,
    *,
    bound: BoundEvidence | None = BOUND,
    missing: Missing | None = None,
    identities: Sequence[IdentityCalls] = (identity(),),
    served: dict[str, IdentityServes] | None = None,
) -> ToolEvidence:
    """A declared tool with a proven freshness, all of whose identities were compared."""
    everything = {one.input_hash: serves() for one in identities}
    return ToolEvidence(
        facts=of or facts(),
        bound=bound,
        missing=missing,
        repeats=sum(one.repeats for one in identities),
        identities=identities,
        serves=everything if served is None else everything | served,
    )


EVERYTHING = RulePolicy(include_candidates=True)


def propose(*tools: ToolEvidence, policy: RulePolicy = EVERYTHING) -> Proposal:
    return propose_rules(tools, policy)


def reasons(proposal: Proposal) -> list[tuple[RefusalKind, str, str | None]]:
    return [(one.kind, one.message, one.input_hash) for one in proposal.refusals]


def test_a_declared_tool_with_a_proven_freshness_gets_a_rule():
    proposal = propose(tool())
    assert proposal.rules == (
        Rule(
            decision_id=decision_id("shop", "search", A),
            kind=RuleKind.REUSE_IDENTITY,
            match=Match("search", input_hash=A, hash_v=1, namespace="shop"),
            guard=Guard(read_only=True, replay_safe=True),
            action=Action("reuse_cached_result", 600.0, 0.05),
            evidence={
                "calls": 6,
                "repeats": 5,
                "same_result": 5,
                "changed": 0,
                "served": 5,
                "served_stale": 0,
                "proven_for": "identities",
                "stale_rate_at_most": 0.009936,
                "confidence": 0.95,
                "effective_observations": 300,
                "serves": 310,
                "stale": 0,
                "stored_results": 300,
                "runs": 40,
                "span_seconds": 86400,
                "largest_age_seconds": 598.5,
                "shared_change_bound": 0.0104,
            },
        ),
    )
    assert proposal.candidates == ()
    assert proposal.refusals == ()


def test_each_identity_that_was_compared_gets_a_rule_of_its_own():
    proposal = propose(tool(identities=[identity(B), identity(A)]))
    assert [rule.match.input_hash for rule in proposal.rules] == [A, B]
    assert len({rule.decision_id for rule in proposal.rules}) == 2


def test_every_proposed_rule_is_one_that_clients_use_and_no_candidate_is():
    proposal = propose(
        tool(identities=[identity(A), identity(B)]),
        tool(facts("other"), missing=TOO_FEW, bound=NEAREST),
    )
    read = read_rules([rule_to_json(rule) for rule in proposal.rules])
    assert [entry.inert for entry in read] == [None, None]
    read = read_rules([rule_to_json(rule) for rule in proposal.candidates])
    assert [entry.inert for entry in read] == [Inert.GUARD]


def test_the_verify_rate_is_the_user_s():
    (rule,) = propose(tool(), policy=RulePolicy(verify_rate=0.25, include_candidates=True)).rules
    assert rule.action.verify_sample_rate == 0.25


# What keeps a tool from having rules.


def test_an_undeclared_tool_gets_a_candidate_and_the_table_to_write():
    proposal = propose(tool(facts("web.search", readonly=None, replay_safe=None)))
    assert proposal.rules == ()
    assert proposal.refusals == (
        Refusal(
            RefusalKind.NOT_DECLARED,
            "shop",
            "web.search",
            None,
            "neither spans nor settings declare it read-only and replay-safe",
            "if it is, write read-only = true and replay-safe = true under "
            '[tool.visceral.tools."web.search"] in pyproject.toml',
            5,
        ),
    )
    (candidate,) = proposal.candidates
    assert candidate.status is RuleStatus.CANDIDATE
    assert candidate.guard == Guard(read_only=False, replay_safe=False)
    assert candidate.action.freshness_seconds == 600
    assert candidate.evidence is not None
    assert candidate.evidence["missing"] == proposal.refusals[0].message


@pytest.mark.parametrize(
    ("readonly", "replay_safe", "said"),
    [
        (True, None, "declare it replay-safe"),
        (None, True, "declare it read-only"),
    ],
)
def test_only_what_is_not_declared_yet_is_asked_for(readonly, replay_safe, said):
    (refusal,) = propose(tool(facts(readonly=readonly, replay_safe=replay_safe))).refusals
    assert refusal.kind is RefusalKind.NOT_DECLARED
    assert refusal.message.endswith(said)
    assert refusal.next_step.count("= true") == 1


@pytest.mark.parametrize("readonly", [True, None])
def test_a_tool_declared_not_replay_safe_is_left_alone(readonly):
    proposal = propose(tool(facts(readonly=readonly, replay_safe=False)))
    assert proposal.rules == ()
    assert reasons(proposal) == [
        (RefusalKind.NOT_REPLAY_SAFE, "it is declared not to be replay-safe", None)
    ]


@pytest.mark.parametrize(
    ("readonly", "message", "next_step"),
    [
        (
            None,
            "its name looks like that of a tool that changes something",
            "if it only reads, write read-only = true under [tool.visceral.tools.send_mail] in "
            "pyproject.toml",
        ),
        (False, "it is declared to change something", ""),
    ],
)
def test_a_writer_gets_neither_rule_nor_candidate(readonly, message, next_step):
    proposal = propose(tool(facts("send_mail", readonly=readonly, writer=True)))
    assert proposal.rules == proposal.candidates == ()
    (refusal,) = proposal.refusals
    assert (refusal.kind, refusal.message) == (RefusalKind.WRITER, message)
    assert refusal.next_step == next_step


def test_a_tool_without_repeats_is_told_just_that():
    proposal = propose(
        tool(
            facts(readonly=None, replay_safe=None),
            bound=None,
            missing=Missing(RefusalKind.NO_REPEATS, "no call repeats an earlier one"),
            identities=[],
        )
    )
    assert reasons(proposal) == [(RefusalKind.NO_REPEATS, "no call repeats an earlier one", None)]
    assert proposal.candidates == ()


def test_a_declared_tool_short_of_evidence_is_told_both_numbers_and_what_passes_today():
    proposal = propose(tool(bound=NEAREST, missing=TOO_FEW))
    assert proposal.rules == ()
    (refusal,) = proposal.refusals
    assert refusal.kind is RefusalKind.TOO_FEW_OBSERVATIONS
    assert refusal.message == "298 clean observations, needs 299"
    assert refusal.next_step == ("analyse more traces; today it passes at --max-stale-rate 1.01%")
    (candidate,) = proposal.candidates
    assert candidate.evidence is not None
    assert candidate.evidence["missing"] == "298 clean observations, needs 299"


@pytest.mark.parametrize(
    ("rate", "said"),
    [(0.02, "2.0%"), (0.016, "1.6%"), (0.0160001, "1.61%"), (0.01609999, "1.61%"), (0.5, "50.0%")],
)
def test_the_rate_that_passes_today_is_rounded_up(rate, said):
    nearest = replace(NEAREST, smallest_passing_stale_rate=rate)
    (refusal,) = propose(tool(bound=nearest, missing=TOO_FEW)).refusals
    assert refusal.next_step.endswith(f" {said}")
    assert float(said.rstrip("%")) / 100 >= rate


@pytest.mark.parametrize("rate", [None, 1.0])
def test_no_rate_is_named_where_none_passes(rate):
    nearest = replace(NEAREST, smallest_passing_stale_rate=rate)
    (refusal,) = propose(tool(bound=nearest, missing=TOO_FEW)).refusals
    assert refusal.next_step == "analyse more traces"


@pytest.mark.parametrize(
    ("kind", "next_step"),
    [
        (RefusalKind.DECLARED_NEVER, ""),
        (RefusalKind.NO_REPEATS, ""),
        (RefusalKind.NEW_EVERY_TIME, "look for a time, an id or a model's words in the result"),
        (RefusalKind.CHANGES_IN_SECONDS, "look for a time, an id or a model's words in the result"),
    ],
)
def test_more_traces_are_asked_for_only_where_they_could_help(kind, next_step):
    (refusal,) = propose(tool(bound=None, missing=Missing(kind, "…"))).refusals
    assert refusal.next_step == next_step


def test_a_tool_that_is_neither_declared_nor_proven_is_told_both():
    proposal = propose(tool(facts(readonly=None), bound=NEAREST, missing=TOO_FEW))
    assert [kind for kind, _, _ in reasons(proposal)] == [
        RefusalKind.NOT_DECLARED,
        RefusalKind.TOO_FEW_OBSERVATIONS,
    ]
    (candidate,) = proposal.candidates
    assert candidate.evidence is not None
    assert candidate.evidence["missing"] == (
        "neither spans nor settings declare it read-only; 298 clean observations, needs 299"
    )


def test_without_a_single_comparison_there_is_no_candidate():
    missing = Missing(RefusalKind.NO_REPEATS, "no call repeats an earlier one within the bound")
    assert propose(tool(bound=None, missing=missing)).candidates == ()


# What keeps an identity of a proven tool from having a rule.


def test_a_volatile_identity_is_left_out():
    proposal = propose(
        tool(
            identities=[identity(A), identity(B, repeats=7)],
            served={B: serves(stale=3, volatile=True, in_scope=False)},
        )
    )
    assert [rule.match.input_hash for rule in proposal.rules] == [A]
    assert proposal.refusals == (
        Refusal(
            RefusalKind.VOLATILE,
            "shop",
            "search",
            B,
            "3 of 5 serves would have been stale",
            "",
            7,
        ),
    )


def test_an_identity_never_compared_gets_no_rule_unless_the_bound_speaks_for_any():
    identities = [identity(A), identity(B, repeats=2), identity(C, repeats=3)]
    served = {B: serves(in_scope=False)}
    of = replace(tool(identities=identities, served=served), serves={A: serves()} | served)

    proposal = propose(of)
    assert [rule.match.input_hash for rule in proposal.rules] == [A]
    (refusal,) = proposal.refusals
    assert (refusal.kind, refusal.input_hash) == (RefusalKind.NOT_COMPARED, None)
    assert refusal.message.startswith("2 identities with no comparison")
    assert refusal.repeats == 5

    any_identity = replace(of, bound=replace(BOUND, any_identity=True))
    proposal = propose(any_identity)
    assert [rule.match.input_hash for rule in proposal.rules] == [A, B, C]
    assert proposal.refusals == ()
    assert all(rule.evidence["proven_for"] == "tool" for rule in proposal.rules)


def test_a_volatile_identity_is_left_out_of_a_bound_that_speaks_for_any_too():
    of = tool(
        bound=replace(BOUND, any_identity=True),
        served={A: serves(stale=5, volatile=True, in_scope=False)},
    )
    assert propose(of).rules == ()


def test_an_empty_result_is_served_only_if_asked_for():
    of = tool(identities=[identity(A, empty=True), identity(B)])
    proposal = propose(of)
    assert [rule.match.input_hash for rule in proposal.rules] == [B]
    assert [(kind, found) for kind, _, found in reasons(proposal)] == [
        (RefusalKind.EMPTY_RESULT, A)
    ]
    proposal = propose(of, policy=RulePolicy(include_empty_results=True, include_candidates=True))
    assert [rule.match.input_hash for rule in proposal.rules] == [A, B]
    assert proposal.refusals == ()


def test_an_identity_of_another_hash_version_gets_no_rule():
    proposal = propose(tool(identities=[identity(A, hash_v=2), identity(B)]))
    assert [rule.match.input_hash for rule in proposal.rules] == [B]
    assert reasons(proposal) == [
        (RefusalKind.HASH_VERSION, "1 identity with hash_v 2, but clients make 1", None)
    ]


def test_identities_are_not_refused_one_by_one_where_the_whole_tool_is():
    of = tool(bound=NEAREST, missing=TOO_FEW, identities=[identity(A, empty=True), identity(B)])
    proposal = propose(of)
    assert [kind for kind, _, _ in reasons(proposal)] == [RefusalKind.TOO_FEW_OBSERVATIONS]
    assert [rule.match.input_hash for rule in proposal.candidates] == [B]


def test_of_a_tool_and_a_retriever_of_one_name_the_more_cautious_rule_stays():
    shorter = replace(BOUND, freshness_seconds=60.0)
    both = [tool(), tool(facts(kind="retriever"), bound=shorter)]
    for order in (both, both[::-1]):
        (rule,) = propose(*order).rules
        assert rule.action.freshness_seconds == 60


def test_namespaces_keep_rules_apart():
    proposal = propose(tool(facts(namespace="b")), tool(facts(namespace="a")))
    assert [rule.match.namespace for rule in proposal.rules] == ["a", "b"]
    assert len({rule.decision_id for rule in proposal.rules}) == 2


def test_refusals_come_with_the_most_repeats_first():
    few = tool(facts("b"), bound=NEAREST, missing=TOO_FEW, identities=[identity(repeats=2)])
    many = tool(facts("a"), bound=NEAREST, missing=TOO_FEW, identities=[identity(repeats=9)])
    assert [one.repeats for one in propose(few, many).refusals] == [9, 2]


@settings(deadline=None)
@given(st.permutations(["a", "b", "c", "d"]), st.permutations([A, B, C]))
def test_the_order_of_the_evidence_does_not_matter(names, hashes):
    def tools(names, hashes):
        identities = [identity(found, repeats=3) for found in hashes]
        for name in names:
            missing = TOO_FEW if name in "cd" else None
            yield tool(facts(name), missing=missing, identities=identities)

    assert propose(*tools(names, hashes)) == propose(*tools("abcd", [A, B, C]))


# Savings, and words.


def test_a_saving_is_added_to_the_evidence_of_its_rule():
    rules = propose(tool(identities=[identity(A), identity(B)])).rules
    saved = add_savings(rules, {("shop", "search", A): (4, 6.1500001), ("", "search", B): (9, 9.9)})
    assert [(rule.evidence["saved_calls"], rule.evidence["saved_seconds"]) for rule in saved] == [
        (4, 6.15),
        (0, 0),
    ]
    assert [dataclasses.replace(rule, evidence=None) for rule in saved] == [
        dataclasses.replace(rule, evidence=None) for rule in rules
    ]


def test_warnings_and_what_there_is_to_say_stand_in_the_evidence():
    (rule,) = propose(tool(bound=replace(BOUND, warnings=("old ones are worse",)))).rules
    assert rule.evidence["warnings"] == ["old ones are worse"]
    (rule,) = propose(tool(bound=replace(BOUND, largest_age_seconds=None))).rules
    assert "largest_age_seconds" not in rule.evidence
    assert "warnings" not in rule.evidence


def test_every_kind_of_refusal_is_explained_in_a_line():
    assert set(EXPLANATIONS) == set(RefusalKind)
    assert all(line and "\n" not in line for line in EXPLANATIONS.values())


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_the_table_named_for_a_tool_is_toml_that_declares_it(name):
    assert tomllib.loads(table_of(name)) == {"tool": {"visceral": {"tools": {name: {}}}}}
