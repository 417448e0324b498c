import copy

import pytest

from visceral_cli.contract.acceptance import Inert, read_rules

HASH = "a" * 64
PROMPT = "c09ea357bae28d1d040b0a09906409198c7607f696a7ad6a97fea6052ea8945a"


def reuse(decision_id: str = "d-1", **changes: object) -> dict:
    return changed(
        {
            "decision_id": decision_id,
            "config": {
                "schema": 1,
                "rule_kind": "reuse_identity",
                "match": {"tool_name": "get_customer", "input_hash": HASH, "hash_v": 1},
                "guard": {"read_only": True, "replay_safe": True},
                "action": {"op": "reuse_cached_result", "verify_sample_rate": 0.05},
            },
        },
        changes,
    )


def suppress(decision_id: str = "d-2", **changes: object) -> dict:
    return changed(
        {
            "decision_id": decision_id,
            "config": {
                "schema": 1,
                "rule_kind": "suppress_dead",
                "match": {"tool_name": "get_customer", "system_prompt_hash": PROMPT},
                "guard": {"read_only": True, "replay_safe": True},
                "action": {"op": "serve_stored_result", "verify_sample_rate": 0.05},
            },
        },
        changes,
    )


def changed(rule: dict, changes: dict) -> dict:
    """``part__member=value`` changes a member of a part of the config; ``...`` removes."""
    for name, change in changes.items():
        part, _, member = name.partition("__")
        place = rule["config"][part] if member else rule if part in rule else rule["config"]
        place[member or part] = change
        if change is ...:
            del place[member or part]
    return rule


def verdicts(*rules: object) -> list[Inert | None]:
    return [read.inert for read in read_rules(rules)]


@pytest.mark.parametrize(
    "rule",
    [
        reuse(),
        suppress(),
        reuse(schema=1.0),
        reuse(schema=True),
        reuse(match__hash_v=1.0),
        reuse(match__hash_v=True),
        reuse(match__input_hash="not a hash"),
        reuse(action__verify_sample_rate=...),
        reuse(action__verify_sample_rate="often"),
        reuse(action__freshness_seconds=600, match__namespace="shop", match__other={}),
        reuse(decision_id="", match__tool_name=""),
        # A client looks at the operation, not at the kind.
        suppress(
            action__op="reuse_cached_result",
            match__input_hash=HASH,
            match__hash_v=1,
        ),
        reuse(action__op="serve_stored_result", match__system_prompt_hash=PROMPT),
    ],
)
def test_rules_that_clients_use(rule):
    assert verdicts(rule) == [None]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (None, Inert.NOT_AN_OBJECT),
        ([], Inert.NOT_AN_OBJECT),
        (reuse(decision_id=7), Inert.DECISION_ID),
        (reuse(decision_id=...), Inert.DECISION_ID),
        (reuse(config=[]), Inert.CONFIG),
        (reuse(schema=2), Inert.SCHEMA),
        (reuse(schema="1"), Inert.SCHEMA),
        (reuse(schema=...), Inert.SCHEMA),
        (reuse(match=[]), Inert.MATCH),
        (reuse(match=None), Inert.MATCH),
        (reuse(rule_kind="reuse_everything"), Inert.UNKNOWN_KIND),
        (reuse(rule_kind=None), Inert.UNKNOWN_KIND),
        (reuse(rule_kind=["reuse_identity"]), Inert.UNKNOWN_KIND),
        (reuse(rule_kind="stable_head"), Inert.PROMPT_CACHE),
        (reuse(rule_kind="incremental_history"), Inert.PROMPT_CACHE),
        (reuse(rule_kind="set_prompt_cache_key"), Inert.PROMPT_CACHE),
        (reuse(match__tool_name=7), Inert.TOOL_NAME),
        (suppress(match__tool_name=...), Inert.TOOL_NAME),
        (reuse(match__input_hash=...), Inert.INPUT_HASH),
        (reuse(match__input_hash=7), Inert.INPUT_HASH),
        (suppress(match__system_prompt_hash=None), Inert.SYSTEM_PROMPT_HASH),
        (reuse(guard=...), Inert.GUARD),
        (reuse(guard=[]), Inert.GUARD),
        (reuse(guard=0), Inert.GUARD),
        (reuse(guard__read_only=1), Inert.GUARD),
        (reuse(guard__replay_safe="true"), Inert.GUARD),
        (reuse(guard__replay_safe=False), Inert.GUARD),
        (reuse(guard={"read_only": False}, action="all"), Inert.GUARD),
        (reuse(guard=["true"]), Inert.BROKEN_GUARD),
        (reuse(guard="true"), Inert.BROKEN_GUARD),
        (reuse(action="all"), Inert.BROKEN_ACTION),
        (reuse(action=...), Inert.OPERATION),
        (reuse(action=[]), Inert.OPERATION),
        (reuse(action__op="reuse"), Inert.OPERATION),
        (reuse(action__op=...), Inert.OPERATION),
        (reuse(match__hash_v=2), Inert.HASH_VERSION),
        (reuse(match__hash_v="1"), Inert.HASH_VERSION),
        (reuse(match__hash_v=...), Inert.HASH_VERSION),
        (suppress(action__op="reuse_cached_result"), Inert.INPUT_HASH),
        (reuse(action__op="serve_stored_result"), Inert.SYSTEM_PROMPT_HASH),
    ],
)
def test_rules_that_no_client_uses_say_why(rule, reason):
    assert verdicts(rule) == [reason]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (reuse("broken", guard="true"), Inert.BROKEN_GUARD),
        (suppress("broken", action="all"), Inert.BROKEN_ACTION),
    ],
)
def test_a_broken_rule_turns_off_what_is_reached_after_it(broken, reason):
    elsewhere = reuse("other", match__tool_name="search")
    assert verdicts(reuse("before"), suppress("before"), broken, reuse("after"), elsewhere) == [
        None,
        Inert.BEHIND_BROKEN,
        reason,
        Inert.BEHIND_BROKEN,
        None,
    ]


def test_a_rule_that_has_its_own_reason_keeps_it_behind_a_broken_one():
    assert verdicts(reuse(guard="true"), reuse(match__hash_v=2)) == [
        Inert.BROKEN_GUARD,
        Inert.HASH_VERSION,
    ]


def test_a_skipped_rule_is_never_reached_and_breaks_nothing():
    assert verdicts(reuse(guard="true", schema=2), reuse("after")) == [Inert.SCHEMA, None]


def test_every_value_comes_back_as_it_was():
    rules = [
        None,
        reuse(other={"deep": [1.5]}),
        suppress(schema=2, decision_id={"x": 1}),
        reuse(rule_kind="stable_head", match={"model": "m", "prefix_blocks": 3}),
        reuse(guard=1),
        reuse(match__hash_v=2),
    ]
    before = copy.deepcopy(rules)
    read = read_rules(rules)
    assert [entry.value for entry in read] == before
    assert rules == before


def test_a_rule_is_typed_exactly_when_a_snapshot_would_hold_it():
    read = read_rules([reuse(), reuse(match__hash_v=2), reuse(schema=2), reuse(guard="true")])
    assert [entry.rule is not None for entry in read] == [True, True, False, True]
    assert read[1].rule is not None
    assert read[1].rule.match.hash_v == 2
