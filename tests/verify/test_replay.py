"""Calls decided again under rules: worked cases, and a literal use of the contract's decision."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.serving import Permission, freshness_by_identity, serve_calls
from visceral_cli.analysis.spans import read_spans
from visceral_cli.contract.decide import (
    Decision,
    StoredResult,
    Write,
    decide,
    last_write_end,
    may_store,
)
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import Settings
from visceral_cli.verify.outcome import Outcome
from visceral_cli.verify.replay import replay_rules
from visceral_cli.verify.rule_cover import OUTCOMES, cover_calls, split_by_cover

SECOND = 1_000_000_000
WRITER = "send_mail"


def replayed(history, *rules, from_ns=None, settings=None):
    """Return the outcome and the source of every call."""
    settings = settings or Settings()
    calls = read_calls(history.store, settings)
    cover = cover_calls(history.store, calls, rules, settings)
    calls = split_by_cover(calls, cover)
    replay = replay_rules(calls, read_spans(history.store, calls), cover, from_ns=from_ns)
    outcomes = [None if code < 0 else OUTCOMES[code] for code in replay.outcome.tolist()]
    return outcomes, replay.source.tolist()


def outcomes(history, *rules, **more):
    return replayed(history, *rules, **more)[0]


def test_a_repeat_with_the_same_result_matches_and_with_another_one_mismatches(
    recorded, call, rule
):
    history = recorded(call(0), call(10), call(20, result="other"), call(30, result=None))
    assert outcomes(history, rule()) == [
        Outcome.NO_RESULT,
        Outcome.MATCHED,
        Outcome.MISMATCHED,
        Outcome.NOT_COMPARED,
    ]
    assert replayed(history, rule())[1] == [-1, 0, 0, 0]  # a serve renews nothing


@pytest.mark.parametrize(
    ("start", "expected"),
    [(59, Outcome.MATCHED), (60, Outcome.MATCHED), (60.5, Outcome.EXPIRED)],
    ids=["fresh", "as old as allowed", "older"],
)
def test_a_result_is_served_up_to_the_freshness_of_the_rule(recorded, call, rule, start, expected):
    assert outcomes(recorded(call(0), call(start)), rule(freshness=60))[1] is expected


def test_an_execution_still_running_serves_nothing(recorded, call, rule):
    history = recorded(call(0, 10), call(5, 6), call(10, 11))
    assert outcomes(history, rule()) == [Outcome.NO_RESULT, Outcome.IN_FLIGHT, Outcome.MATCHED]


def test_the_newest_result_is_the_one_whose_execution_began_last(recorded, call, rule):
    history = recorded(call(0, 10, result="A"), call(3, 6, result="B"), call(11, 12, result="B"))
    assert replayed(history, rule())[1] == [-1, -1, 1]


def test_a_writer_of_the_run_voids_until_it_has_ended(recorded, call, rule):
    history = recorded(
        call(0, 1),
        call(5, 20, tool=WRITER, readonly=None, arguments=None, failed=True),
        call(10, 12),
        call(15, 16, run="other"),
        call(30, 31),
    )
    assert outcomes(history, rule()) == [
        Outcome.NO_RESULT,
        None,
        Outcome.WRITER,
        Outcome.MATCHED,  # of another run
        Outcome.WRITER,  # nothing that ran beside the writer was stored
    ]


def test_calls_without_a_rule_are_left_alone(recorded, call, rule):
    history = recorded(call(0), call(1, arguments="b"), call(2, tool="get_time"), call(3))
    assert outcomes(history, rule()) == [Outcome.NO_RESULT, None, None, Outcome.MATCHED]


def test_a_rule_of_a_namespace_holds_for_no_other_and_one_of_none_for_all(recorded, call, rule):
    history = recorded(
        call(0, namespace="shop"), call(1, namespace="desk"), call(2, namespace="desk")
    )
    of_desk = outcomes(history, rule(namespace="desk"))
    assert of_desk == [None, Outcome.NO_RESULT, Outcome.MATCHED]
    of_all = outcomes(history, rule())
    assert of_all == [Outcome.NO_RESULT, Outcome.NO_RESULT, Outcome.MATCHED]


def test_the_first_rule_of_the_document_counts(recorded, call, rule):
    history = recorded(call(0), call(30))
    short, long = rule(freshness=10), rule(freshness=60)
    assert outcomes(history, short, long)[1] is Outcome.EXPIRED
    assert outcomes(history, long, short)[1] is Outcome.MATCHED


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"readonly": False}, Outcome.NOT_READ_ONLY),
        ({"replay_safe": False}, Outcome.NOT_REPLAY_SAFE),
        ({"readonly": None, "replay_safe": None}, Outcome.MATCHED),
        ({"freshness_override": 5.0}, Outcome.EXPIRED),
        ({"freshness_override": 0.0}, Outcome.EXPIRED),
    ],
    ids=["writes", "not replay-safe", "nothing declared", "shorter", "never"],
)
def test_what_traces_declare_beats_the_rule(recorded, call, rule, declared, expected):
    history = recorded(call(0, **declared), call(10, **declared))
    assert outcomes(history, rule())[1] is expected


def test_a_rule_without_a_freshness_serves_nothing_unless_the_user_names_one(recorded, call, rule):
    from visceral_cli.settings import FreshnessSettings

    history = recorded(call(0), call(10))
    assert outcomes(history, rule(freshness=None)) == [Outcome.NO_FRESHNESS] * 2
    named = Settings(freshness=FreshnessSettings(max_freshness_seconds=10))
    assert outcomes(history, rule(freshness=None), settings=named)[1] is Outcome.MATCHED


def test_failed_and_untimed_calls_are_no_part_of_it(recorded, call, rule):
    history = recorded(call(0, failed=True), call(1), call(2, 1), call(None), call(3, failed=True))
    found = sorted(str(outcome) for outcome in outcomes(history, rule()))
    assert found == ["failed", "failed", "no-result", "untimed", "untimed"]


def test_a_call_inside_of_a_served_call_would_not_have_been_made(recorded, call, rule):
    history = recorded(
        call(0, 10, tool="get_parent", span="p0"),
        call(20, 30, tool="get_parent", span="p20"),
        call(21, 22, span="c", parent="p20"),
        call(23, 24, tool=WRITER, readonly=None, arguments=None, parent="c"),
        call(40, 41),
    )
    rules = rule(tool="get_parent"), rule()
    assert outcomes(history, *rules) == [
        Outcome.NO_RESULT,
        Outcome.MATCHED,
        Outcome.ABSORBED,
        None,
        Outcome.NO_RESULT,
    ]


def test_what_happened_before_the_part_to_verify_is_not_known(recorded, call, rule):
    history = recorded(call(0), call(10), call(20), call(30))
    assert outcomes(history, rule(), from_ns=20 * SECOND) == [
        None,
        None,
        Outcome.NO_RESULT,
        Outcome.MATCHED,
    ]


# --- a literal use of the decision, in order of time ---------------------------------------------


def _literally(calls, freshness_ns, tools):
    """Return {row: decision} of all calls under a rule, and {row: source} of the served ones."""
    rows = {c.span: row for row, c in enumerate(calls)}

    def is_absorbed(row):
        while (row := rows.get(calls[row].parent)) is not None:
            if row in source:
                return True
        return False

    source, decisions, executions, writes = {}, {}, [], {"one": [], "two": []}
    order = sorted(range(len(calls)), key=lambda row: (calls[row].start_ns, -calls[row].end_ns))
    for row in order:
        c = calls[row]
        if is_absorbed(row):
            continue
        if c.tool == WRITER:
            writes[c.run].append(Write(c.start_ns, c.end_ns))
            continue
        if c.failed or c.tool not in tools:
            continue
        stored = [
            e
            for e in executions
            if (calls[e].tool, calls[e].arguments) == (c.tool, c.arguments)
            and calls[e].end_ns <= c.start_ns
            and calls[e].result is not None
            and may_store(calls[e].start_ns, calls[e].end_ns, writes[calls[e].run])
        ]
        newest = max(stored, default=None)
        decisions[row] = decide(
            None if newest is None else StoredResult(calls[newest].start_ns, calls[newest].end_ns),
            now_ns=c.start_ns,
            freshness_ns=freshness_ns,
            last_write_end_ns=last_write_end(writes[c.run], by_ns=c.start_ns),
        )
        if decisions[row] is Decision.SERVE:
            source[row] = newest
        else:
            executions.append(row)
    return decisions, source


_history = st.lists(
    st.fixed_dictionaries(
        {
            "tool": st.sampled_from(["get_a", "get_a", "get_b", "get_c", WRITER]),
            "arguments": st.sampled_from(["x", "x", "y"]),
            "result": st.sampled_from(["r", "r", "s", None]),
            "run": st.sampled_from(["one", "one", "two"]),
            "failed": st.sampled_from([False] * 5 + [True]),
            "lasts": st.integers(0, 12),
            "after": st.integers(1, 6),
            "inside": st.booleans(),
        }
    ),
    max_size=25,
)

_DECIDED = {
    Outcome.EXPIRED: {Decision.EXPIRED},
    Outcome.WRITER: {Decision.WRITER},
    Outcome.NO_RESULT: {Decision.NO_RESULT},
    Outcome.IN_FLIGHT: {Decision.NO_RESULT},  # which the replay tells apart
}


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=_history, freshness=st.sampled_from([1, 5, 20, 100]))
def test_every_call_is_decided_as_the_contract_decides(recorded, call, rule, rows, freshness):
    calls, start, last = [], 0, {}
    for nth, row in enumerate(rows):
        start += row.pop("after")  # no two calls start at once
        lasts, inside = row.pop("lasts"), row.pop("inside")
        parent = last.get(row["run"]) if inside else None
        declared = {"readonly": None} if row["tool"] == WRITER else {}
        one = call(start, start + lasts, span=f"{nth:03}", parent=parent, **row, **declared)
        calls.append(one)
        last[row["run"]] = f"{nth:03}"
    history = recorded(*calls)
    tools = ("get_a", "get_b")
    rules = [rule(arguments, freshness, tool=tool) for tool in tools for arguments in ("x", "y")]
    found, source = replayed(history, *rules)
    decisions, sources = _literally(history.calls, freshness * SECOND, tools)
    assert {row: place for row, place in enumerate(source) if place >= 0} == sources
    for row, decision in decisions.items():
        assert decision is Decision.SERVE or decision in _DECIDED[found[row]]

    columns = read_calls(history.store, Settings())
    permissions = [
        Permission(code, freshness * SECOND)
        for code, facts in enumerate(columns.tools)
        if facts.name.tool in tools
    ]
    allowed = freshness_by_identity(columns, permissions)
    serving = serve_calls(columns, read_spans(history.store, columns), allowed)
    assert dict(zip(serving.served.tolist(), serving.source.tolist(), strict=True)) == sources


# --- rules for less than all who ask -------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (None, [1, 2, 3, 4, 5]),
        (Sharing.ALL, [1, 2, 3, 4, 5]),
        (Sharing.USER, [2, 3, 5]),
        (Sharing.SESSION, [3, 5]),
        (Sharing.RUN, [5]),
    ],
)
def test_a_result_stays_within_the_scope_of_the_rule(recorded, call, rule, scope, expected):
    history = recorded(
        call(0, run="r1", user="ann", session="s1"),
        call(1, run="r2", user="bob", session="s2"),
        call(2, run="r3", user="ann", session="s3"),
        call(3, run="r4", user="bob", session="s2"),
        call(4, run="r5", user=None, session=None),
        call(5, run="r5", user=None, session=None),
    )
    _, source = replayed(history, rule(scope=scope))
    assert [row for row, place in enumerate(source) if place >= 0] == expected
