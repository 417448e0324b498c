import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.contract.acceptance import read_rules
from visceral_cli.contract.identity import InputHash
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
    rule_from_json,
    rule_to_json,
)

HASH = InputHash("3fa94c1b20de" + "0" * 52)
RULE = Rule(
    decision_id="r-3fa94c1b20de",
    kind=RuleKind.REUSE_IDENTITY,
    match=Match("search_flights", input_hash=HASH, hash_v=1),
    guard=Guard(read_only=True, replay_safe=True),
    action=Action(Operation.REUSE_CACHED_RESULT, 600.0, 0.05),
    evidence={"calls": 84, "repeats": 41},
)


def test_a_rule_is_written_with_its_members_in_a_fixed_order():
    assert json.dumps(rule_to_json(RULE)) == (
        '{"decision_id": "r-3fa94c1b20de", "config": {"schema": 1, "rule_kind": "reuse_identity",'
        ' "match": {"tool_name": "search_flights", "input_hash": "' + HASH + '", "hash_v": 1},'
        ' "guard": {"read_only": true, "replay_safe": true}, "action": {"op":'
        ' "reuse_cached_result", "freshness_seconds": 600, "verify_sample_rate": 0.05}},'
        ' "evidence": {"calls": 84, "repeats": 41}}'
    )


@pytest.mark.parametrize(
    ("rule", "path", "expected"),
    [
        (replace(RULE, status=RuleStatus.CANDIDATE), ("status",), "candidate"),
        (
            replace(RULE, match=replace(RULE.match, namespace="shop")),
            ("config", "match", "namespace"),
            "shop",
        ),
        (
            replace(RULE, action=replace(RULE.action, freshness_seconds=1.5)),
            ("config", "action", "freshness_seconds"),
            1.5,
        ),
    ],
)
def test_members_of_our_own_are_written_where_there_is_something_to_say(rule, path, expected):
    value = rule_to_json(rule)
    for name in path:
        value = value[name]
    assert value == expected


def test_members_without_anything_to_say_are_left_out():
    bare = replace(RULE, evidence=None, action=Action(Operation.REUSE_CACHED_RESULT))
    written = rule_to_json(bare)
    assert set(written) == {"decision_id", "config"}
    assert written["config"]["action"] == {"op": "reuse_cached_result", "verify_sample_rate": 0}


def test_the_decision_id_is_made_of_the_whole_identity():
    expected = hashlib.sha256(b'["shop","search",1,"ab"]').hexdigest()[:12]
    assert decision_id("shop", "search", "ab") == f"r-{expected}"
    others = {
        decision_id("shop", "search", "ab"),
        decision_id("", "search", "ab"),
        decision_id("shop", "searcha", "b"),
        decision_id("shop", "search", "ab", hash_v=2),
    }
    assert len(others) == 4


def document(**changes: object) -> dict[str, object]:
    """A rule's JSON; ``part__member=value`` changes a member of a part of its config."""
    value = json.loads(json.dumps(rule_to_json(RULE)))
    for name, change in changes.items():
        part, _, member = name.partition("__")
        if member:
            value["config"][part][member] = change
        elif part in value:
            value[part] = change
        else:
            value["config"][part] = change
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        document(decision_id=7),
        document(config=[]),
        document(match=[]),
        document(match__tool_name=None),
        document(rule_kind="reuse_everything"),
        document(rule_kind="stable_head"),
        document(rule_kind=["reuse_identity"]),
    ],
)
def test_what_is_no_rule_about_a_tool_is_none(value):
    assert rule_from_json(value) is None


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.05, 0.05), (1, 1.0), (True, 1.0), (7, 1.0), (10**400, 1.0)]
    + [(rate, 0.0) for rate in (0, -1, None, "0.5", float("nan"), [], False)],
)
def test_a_verify_rate_is_the_share_a_client_would_verify(rate, expected):
    rule = rule_from_json(document(action__verify_sample_rate=rate))
    assert rule is not None
    assert rule.action.verify_sample_rate == expected


@pytest.mark.parametrize(
    ("hash_v", "expected"),
    [(1, 1), (1.0, 1), (True, 1), (2, 2), ("1", None), (1.5, None), (float("inf"), None)],
)
def test_a_hash_version_is_compared_as_a_number(hash_v, expected):
    rule = rule_from_json(document(match__hash_v=hash_v))
    assert rule is not None
    assert rule.match.hash_v == expected


@pytest.mark.parametrize("guard", [{"read_only": 1, "replay_safe": 1}, {}, None, "yes", [True]])
def test_only_true_itself_is_a_promise(guard):
    rule = rule_from_json(document(guard=guard))
    assert rule is not None
    assert rule.guard == Guard(read_only=False, replay_safe=False)


@pytest.mark.parametrize("freshness", [0, -1, None, "600", float("nan"), float("inf"), 10**400])
def test_a_freshness_that_is_no_positive_number_is_none(freshness):
    rule = rule_from_json(document(action__freshness_seconds=freshness))
    assert rule is not None
    assert rule.action.freshness_seconds is None


words = st.text(max_size=8)
rules = st.builds(
    Rule,
    decision_id=words,
    kind=st.sampled_from(RuleKind),
    match=st.builds(
        Match,
        tool_name=words,
        input_hash=st.none() | words.map(InputHash),
        hash_v=st.none() | st.integers(0, 3),
        system_prompt_hash=st.none() | words,
        namespace=words,
    ),
    guard=st.builds(Guard, read_only=st.booleans(), replay_safe=st.booleans()),
    action=st.builds(
        Action,
        op=st.sampled_from([*Operation, "other", ""]),
        freshness_seconds=st.none() | st.floats(0.001, 1e9),
        verify_sample_rate=st.floats(0, 1),
    ),
    status=st.sampled_from(RuleStatus),
    evidence=st.none() | st.dictionaries(words, st.integers() | words, max_size=3),
)


@settings(deadline=None)
@given(rules)
def test_a_rule_read_back_is_equal(rule):
    assert rule_from_json(json.loads(json.dumps(rule_to_json(rule)))) == rule


@pytest.mark.parametrize(
    ("scope", "schema", "written"),
    [
        (None, 1, None),
        (Sharing.ALL, 1, "all"),
        (Sharing.SERVICE, 2, "service"),
        (Sharing.USER, 2, "user"),
        (Sharing.SESSION, 2, "session"),
        (Sharing.RUN, 2, "run"),
    ],
)
def test_a_rule_for_less_than_all_has_a_schema_that_other_clients_do_not_know(
    scope, schema, written
):
    rule = replace(RULE, match=replace(RULE.match, scope=scope))
    found = rule_to_json(rule)
    assert found["config"]["schema"] == schema
    assert found["config"]["match"].get("scope") == written
    assert rule_from_json(found) == rule
    (client,) = read_rules([found])
    (ours,) = read_rules([found], limited=True)
    assert (client.inert is None) is (schema == 1)
    assert ours.rule == rule
    assert ours.inert is None


def test_a_scope_that_nobody_knows_is_the_narrowest():
    found = rule_to_json(RULE)
    found["config"]["match"]["scope"] = "planet"
    read = rule_from_json(found)
    assert read is not None
    assert read.match.scope is Sharing.RUN


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, None),
        ("run", Sharing.RUN),
        ("all", Sharing.ALL),
        ("moon", Sharing.ALL),
        (3, Sharing.ALL),
    ],
)
def test_how_far_writes_reach_is_read_and_what_is_not_known_is_the_widest(written, read):
    action = {"op": "reuse_cached_result"} | ({} if written is None else {"writers": written})
    value = {
        "decision_id": "r",
        "config": {"rule_kind": "reuse_identity", "match": {"tool_name": "t"}, "action": action},
    }
    rule = rule_from_json(value)
    assert rule is not None
    assert rule.action.writers is read
    again = rule_to_json(rule)["config"]["action"].get("writers")
    assert again == (None if read is None else read.value)
