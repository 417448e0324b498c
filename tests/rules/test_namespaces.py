"""Whether the rules of several namespaces agree, from the calls of a store."""

import duckdb
import pytest
from msgspec.structs import replace

from visceral_cli.contract.identity import InputHash
from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Rule,
    RuleKind,
    Sharing,
    decision_id,
)
from visceral_cli.rules.namespaces import agree_between_namespaces
from visceral_cli.rules.propose import Proposal
from visceral_cli.rules.refusal import Refusal, RefusalKind

A, B = InputHash("a" * 64), InputHash("b" * 64)
SECOND = 1_000_000_000


def rule(namespace, input_hash=A, *, seconds=10.0, scope=Sharing.ALL, writers=Sharing.RUN):
    return Rule(
        decision_id=decision_id(namespace, "search", input_hash),
        kind=RuleKind.REUSE_IDENTITY,
        match=Match("search", input_hash=input_hash, hash_v=1, namespace=namespace, scope=scope),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action("reuse_cached_result", seconds, 0.05, writers),
        evidence={"repeats": 4},
    )


def calls(*rows):
    """Return a store of calls: namespace, second, result, and perhaps what differs."""
    store = duckdb.connect()
    store.execute(
        "CREATE TABLE tool_call (call_key INTEGER, namespace VARCHAR, tool VARCHAR, "
        "input_hash VARCHAR, hash_v INTEGER, content_hash VARCHAR, start_ns BIGINT, "
        "failed BOOLEAN, served_decision_id VARCHAR, verify_match BOOLEAN)"
    )
    for key, (namespace, second, result, *other) in enumerate(rows):
        row = {
            "tool": "search",
            "input_hash": A,
            "hash_v": 1,
            "failed": False,
            "served": None,
            "verify_match": None,
        } | (other[0] if other else {})
        store.execute(
            "INSERT INTO tool_call VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(key, namespace, row["tool"], row["input_hash"], row["hash_v"], result),
                None if second is None else second * SECOND,
                *(row["failed"], row["served"], row["verify_match"]),
            ],
        )
    return store


def agreed(store, *rules):
    return agree_between_namespaces(store, Proposal(rules, (), ()))


def test_equal_results_make_rules_agree_on_the_more_careful_terms():
    store = calls(("a", 0, "x"), ("b", 5, "x"))
    one, other = rule("a", seconds=10.0), rule("b", seconds=7.0, writers=None)
    found = agreed(store, one, other)
    assert found.refusals == ()
    assert [each.match for each in found.rules] == [one.match, other.match]
    assert {(each.action.freshness_seconds, each.action.writers) for each in found.rules} == {
        (7.0, None)
    }
    assert [each.evidence for each in found.rules] == [
        {"repeats": 4, "agrees_with": ["b"], "compared_between": 1},
        {"repeats": 4, "agrees_with": ["a"], "compared_between": 1},
    ]


@pytest.mark.parametrize(
    ("writers", "widest"),
    [
        ((Sharing.RUN, Sharing.RUN), Sharing.RUN),
        ((Sharing.RUN, Sharing.USER), Sharing.USER),
        ((Sharing.RUN, None), None),
        ((None, Sharing.ALL), Sharing.ALL),
    ],
)
def test_writes_reach_as_far_as_in_any_of_them(writers, widest):
    store = calls(("a", 0, "x"), ("b", 5, "x"))
    for given in (writers, writers[::-1]):
        rules = [rule(name, writers=each) for name, each in zip("ab", given, strict=True)]
        assert {each.action.writers for each in agreed(store, *rules).rules} == {widest}


@pytest.mark.parametrize(
    ("second", "refused"), [(9, 2), (10, 2), (11, 0)], ids=["within", "at", "beyond"]
)
def test_a_result_that_differs_within_the_freshness_refuses_both(second, refused):
    store = calls(("a", 0, "x"), ("b", second, "y"), ("a", 100, "y"))
    found = agreed(store, rule("a"), rule("b"))
    assert len(found.refusals) == refused
    assert len(found.rules) == 2 - refused


def test_the_refusals_name_both_and_say_why():
    store = calls(("a", 0, "x"), ("b", 1, "y"), ("a", 2, "y"))
    found = agreed(store, rule("b"), rule("a"))
    assert found.refusals == tuple(
        Refusal(
            RefusalKind.NAMESPACES_DIFFER,
            namespace,
            "search",
            A,
            "1 of 2 results in a and b, no further apart than the freshness, differ, and clients "
            "of the SDK know no namespace",
            "analyse the traces of each apart; or, if they share one source, with --namespace none",
            4,
        )
        for namespace in ("a", "b")
    )


@pytest.mark.parametrize(
    "row",
    [
        ("b", 1, "y", {"failed": True}),
        ("b", 1, "y", {"served": "d-1"}),
        ("b", 1, None),
        ("b", None, "y"),
        ("b", 1, "y", {"tool": "other"}),
        ("b", 1, "y", {"input_hash": B}),
        ("b", 1, "y", {"hash_v": 2}),
    ],
    ids=["failed", "served", "no result", "no time", "tool", "identity", "hash version"],
)
def test_what_is_no_execution_of_the_identity_says_nothing(row):
    store = calls(("a", 0, "x"), row, ("b", 2, "x"))
    assert agreed(store, rule("a"), rule("b")).refusals == ()


def test_a_verify_sample_really_ran():
    store = calls(("a", 0, "x"), ("b", 1, "y", {"served": "d-1", "verify_match": False}))
    assert len(agreed(store, rule("a"), rule("b")).refusals) == 2


def test_all_namespaces_must_be_linked_by_equal_results():
    linked = [("a", 0, "x"), ("b", 1, "x"), ("c", 2, "x")]
    rules = [rule(name) for name in "abcd"]
    assert agreed(calls(*linked), *rules[:3]).refusals == ()
    apart = agreed(calls(*linked, ("d", 100, "y")), *rules)
    assert [one.namespace for one in apart.refusals] == ["a", "b", "c", "d"]
    assert apart.refusals[0].message.startswith(
        "no result in a was found equal to the next one in b or c or d"
    )


def test_a_namespace_without_a_rule_links_nothing_but_contradicts():
    between = [("a", 0, "x"), ("c", 1, "x"), ("b", 2, "x")]
    assert len(agreed(calls(*between), rule("a"), rule("b")).refusals) == 2
    assert agreed(calls(("a", 0, "x"), ("c", 1, "x")), rule("a")).refusals == ()
    assert len(agreed(calls(("a", 0, "x"), ("c", 1, "y")), rule("a")).refusals) == 1


def test_rules_that_do_not_hold_for_the_same_callers_do_not_agree():
    store = calls(("a", 0, "x"), ("b", 1, "x"))
    found = agreed(store, rule("a"), rule("b", scope=Sharing.USER))
    assert {one.message for one in found.refusals} == {
        "results are shared by all in a and within one user in b, and clients of the SDK know no "
        "namespace"
    }


def test_rules_for_one_user_meet_in_no_client():
    store = calls(("a", 0, "x"), ("b", 1, "y"))
    rules = tuple(rule(name, scope=Sharing.USER) for name in "ab")
    assert agreed(store, *rules) == Proposal(rules, (), ())


def test_only_the_identities_that_contradict_lose_their_rules():
    store = calls(("a", 0, "x"), ("b", 1, "y"))
    rules = (rule("a"), rule("a", B), rule("b"))
    found = agreed(store, *rules)
    assert found.rules == (rules[1],)
    assert len(found.refusals) == 2


def test_with_one_namespace_all_stays_as_it_is():
    proposal = Proposal((rule("a"), rule("a", B)), (), ())
    assert agree_between_namespaces(calls(("a", 0, "x"), ("a", 1, "y")), proposal) is proposal
    nobody = replace(proposal, rules=())
    assert agree_between_namespaces(calls(("a", 0, "x"), ("b", 1, "y")), nobody) is nobody


def test_calls_of_no_namespace_are_one_of_their_own():
    store = calls(("", 0, "x"), ("b", 1, "y"))
    found = agreed(store, rule(""), rule("b"))
    assert found.refusals[0].message.startswith("1 of 1 results in no namespace and b")
