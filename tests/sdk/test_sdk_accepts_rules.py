"""What we write and decide, held against the Visceral SDK itself (``pip install visceral-ai``)."""

import copy
import json
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.contract.acceptance import read_rules
from visceral_cli.contract.identity import (
    NotCanonical,
    canonical_json,
    faithful_json,
    hash_call,
    input_hash,
)
from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Operation,
    Rule,
    RuleKind,
    RuleStatus,
    Sharing,
    decision_id,
)
from visceral_cli.rules.rules_file import write_rules_file

REASON = "the Visceral SDK (visceral-ai) is not installed"
tool_hash = pytest.importorskip("visceral.tool_hash", reason=REASON)
apply_rules = pytest.importorskip("visceral.apply_rules", reason=REASON)
tool_serve = pytest.importorskip("visceral.tool_serve", reason=REASON)

PROMPT = "c09ea357bae28d1d040b0a09906409198c7607f696a7ad6a97fea6052ea8945a"


@pytest.fixture(scope="module", autouse=True)
def armed_client():
    """A client that matches rules, with the suppress dial on and a prompt already seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISCERAL_TOOL_SUPPRESS", "1")
        for name in ("VISCERAL_TOOL_APPLY", "VISCERAL_TOOL_SUPPRESS_TOOLS"):
            patch.delenv(name, raising=False)
        tool_serve.reset()
        tool_serve.install("key", "http://127.0.0.1:9", bytes(32))
        tool_serve.record_bucket(PROMPT)
        yield
        tool_serve.reset()
        apply_rules.reset()


def install(values: list[object]):
    snapshot = apply_rules.build_snapshot(values)
    apply_rules._install_snapshot_for_test(snapshot)
    return snapshot


def reuse_rule(tool: str, number: int, *, candidate: bool = False) -> Rule:
    found = input_hash(tool, {"n": number})
    promise = not candidate
    return Rule(
        decision_id=decision_id("shop", tool, found),
        kind=RuleKind.REUSE_IDENTITY,
        match=Match(tool, input_hash=found, hash_v=1, namespace="shop"),
        guard=Guard(read_only=promise, replay_safe=promise),
        action=Action(Operation.REUSE_CACHED_RESULT, 600.0, 0.05, (None, *Sharing)[number % 3]),
        status=RuleStatus.CANDIDATE if candidate else RuleStatus.ACTIVE,
        evidence={"cleared_by": [{"writer": "update"}], "calls": number},
    )


def test_the_snapshot_builder_accepts_and_indexes_every_rule_we_write(tmp_path):
    rules = [reuse_rule(tool, number) for tool in ("search", "größe.lesen") for number in range(5)]
    write_rules_file(tmp_path / "rules.json", rules)
    snapshot = install(json.loads((tmp_path / "rules.json").read_bytes())["rules"])

    assert snapshot.enabled
    held = [rule for of_tool in snapshot.by_tool.values() for rule in of_tool]
    assert [rule["decision_id"] for rule in held] == [rule.decision_id for rule in rules]
    for rule in rules:
        planned = tool_serve.plan(rule.match.tool_name, rule.match.input_hash)
        assert planned is not None
        assert planned.decision_id == rule.decision_id
        assert planned.kind == tool_serve.KIND_IDENTITY
    assert tool_serve.plan("search", input_hash("search", {"n": 5})) is None


def test_the_client_finds_one_rule_where_two_namespaces_agree(tmp_path):
    one = reuse_rule("search", 1)
    other = replace(one, decision_id="r-other", match=replace(one.match, namespace="web"))
    write_rules_file(tmp_path / "rules.json", [one, other])
    snapshot = install(json.loads((tmp_path / "rules.json").read_bytes())["rules"])

    assert [rule["decision_id"] for rule in snapshot.by_tool["search"]] == [one.decision_id]
    planned = tool_serve.plan("search", one.match.input_hash)
    assert planned is not None
    assert planned.decision_id == one.decision_id


def test_the_client_serves_nothing_by_a_candidate(tmp_path):
    rules = [reuse_rule("search", number, candidate=True) for number in range(3)]
    write_rules_file(tmp_path / "rules.json", rules)
    install(json.loads((tmp_path / "rules.json").read_bytes())["rules"])
    for rule in rules:
        assert tool_serve.plan("search", rule.match.input_hash) is None


def test_a_verify_rate_of_one_makes_every_match_a_sample():
    for rate, expected in ((1.0, True), (0.0, False)):
        value = {
            "decision_id": "d",
            "config": {
                "schema": 1,
                "rule_kind": "reuse_identity",
                "match": {"tool_name": "t", "input_hash": "h", "hash_v": 1},
                "guard": {"read_only": True, "replay_safe": True},
                "action": {"op": "reuse_cached_result", "verify_sample_rate": rate},
            },
        }
        (read,) = read_rules([value])
        assert read.rule is not None
        assert read.rule.action.verify_sample_rate == rate
        install([value])
        assert tool_serve.plan("t", "h").verify is expected


# Foreign documents: what we call inert, the client never uses, and the other way round.

ODD = [None, True, False, 0, 1, 1.0, 2, "", "1", "x", [], ["x"], {}, {"x": 1}, "stable_head"]
ODD += [*map(str, RuleKind), *map(str, Operation), PROMPT, ...]
PLACES = [
    ("decision_id",),
    ("config",),
    ("config", "schema"),
    ("config", "rule_kind"),
    ("config", "match"),
    ("config", "match", "tool_name"),
    ("config", "match", "input_hash"),
    ("config", "match", "hash_v"),
    ("config", "match", "system_prompt_hash"),
    ("config", "guard"),
    ("config", "guard", "read_only"),
    ("config", "guard", "replay_safe"),
    ("config", "action"),
    ("config", "action", "op"),
    ("config", "action", "verify_sample_rate"),
]


def sound_rule(number: int, kind: RuleKind) -> dict:
    reuses = kind is RuleKind.REUSE_IDENTITY
    key = {"input_hash": f"hash {number}", "hash_v": 1}
    return {
        "decision_id": f"d-{number}",
        "config": {
            "schema": 1,
            "rule_kind": str(kind),
            "match": {"tool_name": "a"} | (key if reuses else {"system_prompt_hash": PROMPT}),
            "guard": {"read_only": True, "replay_safe": True},
            "action": {"op": "reuse_cached_result" if reuses else "serve_stored_result"},
        },
    }


def put(value: dict, path: tuple[str, ...], change: object) -> None:
    """Put the change at the path, unless an earlier change took the path away; ``...`` removes."""
    for name in path[:-1]:
        value = value.get(name)
        if not isinstance(value, dict):
            return
    if change is ...:
        value.pop(path[-1], None)
    else:
        value[path[-1]] = copy.deepcopy(change)


@st.composite
def documents(draw):
    """Sound rules, some of them with a change or two somewhere."""
    kinds = draw(st.lists(st.sampled_from(RuleKind), min_size=1, max_size=5))
    values = [sound_rule(number, kind) for number, kind in enumerate(kinds)]
    for value in values:
        for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
            put(value, draw(st.sampled_from(PLACES)), draw(st.sampled_from(ODD)))
    if draw(st.integers(0, 9)) == 0:
        values.insert(draw(st.integers(0, len(values))), draw(st.sampled_from(ODD[:-1])))
    return values


def used_by_client(values: list[object], place: int) -> bool:
    """Whether a call exists that the rule at this place answers.

    Other rules that would answer the same call first are taken away: each rule is asked about on
    its own merits, and in the company of the broken ones.
    """
    rule = values[place]
    if not isinstance(rule, dict):
        return False
    install([v for number, v in enumerate(values) if number == place or not answers(v)])
    config = rule.get("config")
    match = config.get("match") if isinstance(config, dict) else None
    if not isinstance(match, dict) or not isinstance(match.get("tool_name"), str):
        return False
    found = match.get("input_hash")
    planned = tool_serve.plan(match["tool_name"], found if isinstance(found, str) else "any")
    return planned is not None and planned.decision_id == rule.get("decision_id")


def answers(value: object) -> bool:
    return read_rules([value])[0].inert is None


@settings(max_examples=400, deadline=None)
@given(documents())
def test_a_rule_is_inert_exactly_when_the_client_never_uses_it(values):
    for place, value in enumerate(values):
        if isinstance(value, dict) and isinstance(value.get("decision_id"), str):
            value["decision_id"] = f"d-{place}"
    for place, read in enumerate(read_rules(values)):
        suppress = read.rule is not None and read.rule.action.op == Operation.SERVE_STORED_RESULT
        if suppress and read.rule.match.system_prompt_hash != PROMPT:
            continue  # about another prompt than the one the client has seen
        assert (read.inert is None) == used_by_client(values, place), (place, read.inert)


# Hashes.

text = st.text(st.characters(exclude_categories=[]), max_size=10)
numbers = st.integers() | st.integers(-(2**80), 2**80) | st.floats()
leaves = st.none() | st.booleans() | numbers | text | st.binary(max_size=4)
leaves |= st.datetimes() | st.dates() | st.timedeltas() | st.decimals() | st.uuids()
leaves |= st.frozensets(st.integers(), max_size=1) | st.complex_numbers()
keys = st.one_of(text, text, text, text, text, st.integers(), st.none(), st.booleans())
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


def ours(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except NotCanonical:
        return None


@settings(deadline=None)
@given(values)
def test_canonical_json_is_that_of_the_sdk(value):
    assert ours(canonical_json, value) == tool_hash.canonical_json(value)
    assert ours(faithful_json, value) == tool_hash.canonical_output_json(value)


@settings(deadline=None)
@given(
    text,
    st.dictionaries(text, values, max_size=3),
    st.none() | st.lists(text, max_size=2),
    st.none() | text,
    st.randoms(),
)
def test_the_input_hash_is_that_of_the_sdk(tool, arguments, vary, version, random):
    if vary is not None:
        vary += random.sample(sorted(arguments), random.randint(0, len(arguments)))
    expected = tool_hash.compute_tool_hash(tool, arguments, vary=vary, version=version)
    assert ours(input_hash, tool, arguments, vary=vary, version=version) == expected


def function(a, /, b=datetime(2026, 1, 2), *rest, c=None, **more):  # noqa: DTZ001
    """Every kind of parameter."""


@settings(deadline=None)
@given(
    st.lists(values, max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), values, max_size=2),
    st.none() | st.lists(st.sampled_from(["a", "b", "c", "rest", "more", "d"]), max_size=3),
)
def test_the_identity_of_a_live_call_is_that_of_the_sdk(args, kwargs, vary):
    expected = tool_hash.hash_call(function, tuple(args), kwargs, tool="t", vary=vary)
    assert ours(hash_call, function, args, kwargs, tool="t", vary=vary) == expected
