"""Calls decided again under rules: worked cases, and a literal use of the contract's decision."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.scopes import who_of
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
from visceral_cli.contract.narrowing import voids
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import Settings
from visceral_cli.verify.outcome import Outcome
from visceral_cli.verify.replay import replay_rules
from visceral_cli.verify.rule_cover import OUTCOMES, cover_calls, split_by_cover

SECOND = 1_000_000_000
WRITER = "send_mail"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def replayed(history, *rules, from_ns=None, settings=None):
    """Return the outcome and the source of every call."""
    settings = settings or Settings()
    calls = read_calls(history.store, settings)
    cover = cover_calls(history.store, calls, rules, settings)
    calls = split_by_cover(calls, cover)
    who = who_of(calls)
    replay = replay_rules(calls, read_spans(history.store, calls), cover, who, from_ns=from_ns)
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
    assert outcomes(history, rule(writers=Sharing.RUN)) == [
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


def test_a_rule_of_several_namespaces_holds_in_each_of_them_and_keeps_their_results_apart(
    recorded, call, rule
):
    both = rule()
    both = replace(both, match=replace(both.match, namespaces=("desk", "shop")))
    history = recorded(
        *(call(nth, namespace=name) for nth, name in enumerate(("shop", "desk", "web") * 2))
    )
    assert outcomes(history, both) == [
        *(Outcome.NO_RESULT, Outcome.NO_RESULT, None),
        *(Outcome.MATCHED, Outcome.MATCHED, None),
    ]


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


def writes(call, start, end=None, **more):
    return call(start, end, tool=WRITER, readonly=None, arguments=None, **more)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (None, Outcome.WRITER),
        (Sharing.ALL, Outcome.WRITER),
        (Sharing.USER, Outcome.MATCHED),
        (Sharing.RUN, Outcome.MATCHED),
    ],
)
def test_a_writer_of_another_run_voids_within_the_scope_of_the_rule(
    recorded, call, rule, scope, expected
):
    history = recorded(
        call(0, run="r1", user="ann"),
        writes(call, 5, run="r2", user="bob"),
        call(10, run="r1", user="ann"),
    )
    assert outcomes(history, rule(scope=scope))[2] == expected


def test_a_writer_of_the_same_user_in_another_run_voids_for_that_user(recorded, call, rule):
    history = recorded(
        call(0, run="r1", user="ann"),
        writes(call, 5, run="r2", user="ann"),
        call(10, run="r3", user="ann"),
    )
    assert outcomes(history, rule(scope=Sharing.USER))[2] == Outcome.WRITER


def test_a_writer_that_names_no_user_might_be_anybodys(recorded, call, rule):
    history = recorded(
        call(0, run="r1", user="ann"),
        writes(call, 5, run="r2"),
        call(10, run="r1", user="ann"),
    )
    assert outcomes(history, rule(scope=Sharing.USER))[2] == Outcome.WRITER


def test_a_source_that_overlapped_a_writer_of_another_run_is_no_source(recorded, call, rule):
    history = recorded(call(0, 10, run="r1"), writes(call, 2, 3, run="r2"), call(20, run="r3"))
    assert outcomes(history, rule())[2] == Outcome.NO_RESULT


def test_a_writer_of_another_namespace_voids_nothing(recorded, call, rule):
    history = recorded(
        call(0, run="r1", namespace="eu"),
        writes(call, 5, run="r2", namespace="us"),
        call(10, run="r1", namespace="eu"),
    )
    assert outcomes(history, rule())[2] == Outcome.MATCHED


def test_a_rule_that_says_so_heeds_writers_beyond_its_scope(recorded, call, rule):
    history = recorded(call(0, run="r1"), writes(call, 5, run="r2"), call(10, run="r1"))
    limited = rule(scope=Sharing.RUN, writers=Sharing.ALL)
    assert outcomes(history, limited)[2] == Outcome.WRITER


def test_a_writer_that_names_the_tool_voids_beyond_the_scope(recorded, call, rule):
    history = recorded(
        call(0, run="r1"),
        writes(call, 5, run="r2", invalidates="get_weather"),
        call(10, run="r1"),
    )
    assert outcomes(history, rule(scope=Sharing.RUN))[2] == Outcome.WRITER


def test_a_rule_that_says_other_runs_are_harmless_heeds_its_own_run(recorded, call, rule):
    history = recorded(
        call(0, run="r1"),
        writes(call, 5, run="r2"),
        call(10, run="r1"),
        writes(call, 15, run="r1"),
        call(20, run="r1"),
    )
    found = outcomes(history, rule(writers=Sharing.RUN))
    assert (found[2], found[4]) == (Outcome.MATCHED, Outcome.WRITER)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, Outcome.WRITER),
        ("", Outcome.MATCHED),
        ("get_time", Outcome.MATCHED),
        ("get_time,get_weather", Outcome.WRITER),
    ],
)
@pytest.mark.parametrize("run", ["r1", "r2"])
def test_a_writer_voids_the_tools_that_it_declares(recorded, call, rule, declared, expected, run):
    history = recorded(
        call(0, run="r1"), writes(call, 5, run=run, invalidates=declared), call(10, run="r1")
    )
    assert outcomes(history, rule())[2] == expected


@pytest.mark.parametrize(
    ("of_writer", "of_reader", "expected"),
    [
        ("a", "a", Outcome.WRITER),
        ("a", "b", Outcome.MATCHED),
        (None, "b", Outcome.WRITER),
        ("a", None, Outcome.WRITER),
    ],
)
@pytest.mark.parametrize("trace", ["r1", "r2"])
def test_a_declared_run_keeps_its_writes_from_other_declared_runs(
    recorded, call, rule, of_writer, of_reader, expected, trace
):
    history = recorded(
        call(0, run="r1", declared_run=of_reader),
        writes(call, 5, run=trace, declared_run=of_writer),
        call(10, run="r1", declared_run=of_reader),
    )
    assert outcomes(history, rule())[2] == expected


def test_a_write_without_times_in_another_run_voids_while_that_run_lasts(recorded, call, rule):
    history = recorded(
        call(0, run="r1"),
        call(10, run="r1"),
        call(12, run="r2", tool="get_time"),
        call(16, run="r2", tool="get_time"),
        call(20, run="r1"),
        call(30, run="r1"),
        writes(call, None, run="r2"),
    )
    found = outcomes(history, rule())
    assert [found[row] for row in (1, 4, 5)] == [Outcome.MATCHED, Outcome.WRITER, Outcome.MATCHED]


# --- a literal use of the decision, in order of time ---------------------------------------------


def _hears(c, write, rule):
    """Whether a call under the rule hears of a write, case by case."""
    if not voids(write.invalidates, c.tool):
        return False
    if None not in (c.declared_run, write.declared_run):
        return c.declared_run == write.declared_run
    if c.run == write.run or write.invalidates is not None:
        return True
    if Sharing.RUN in (rule.action.writers, rule.match.scope):
        return False
    return rule.match.scope is None or (c.user is not None and write.user in (None, c.user))


def _shares(c, other, rule):
    """Whether the rule lets a result pass between two calls."""
    if (c.tool, c.arguments) != (other.tool, other.arguments):
        return False
    if rule.match.scope is Sharing.USER and c.user is not None:
        return c.user == other.user
    run, another = ((one.run, one.declared_run, one.user) for one in (c, other))
    return rule.match.scope is None or run == another


def _literally(calls, rules):
    """Return {row: decision} of all calls under a rule, and {row: source} of the served ones."""
    rows = {c.span: row for row, c in enumerate(calls)}
    rule_of = {(rule.match.tool_name, rule.match.input_hash): rule for rule in rules}

    def is_absorbed(row):
        while (row := rows.get(calls[row].parent)) is not None:
            if row in source:
                return True
        return False

    source, decisions, executions, written = {}, {}, [], []
    order = sorted(range(len(calls)), key=lambda row: (calls[row].start_ns, -calls[row].end_ns))
    for row in order:
        c = calls[row]
        if is_absorbed(row):
            continue
        if c.tool == WRITER:
            written.append(c)
            continue
        rule = rule_of.get((c.tool, sha(c.arguments)))
        if c.failed or rule is None:
            continue

        def heard(reader, rule=rule):
            return [Write(w.start_ns, w.end_ns) for w in written if _hears(reader, w, rule)]

        stored = [
            e
            for e in executions
            if _shares(c, calls[e], rule)
            and calls[e].end_ns <= c.start_ns
            and calls[e].result is not None
            and may_store(calls[e].start_ns, calls[e].end_ns, heard(calls[e]))
        ]
        newest = max(stored, default=None)
        decisions[row] = decide(
            None if newest is None else StoredResult(calls[newest].start_ns, calls[newest].end_ns),
            now_ns=c.start_ns,
            freshness_ns=round(rule.action.freshness_seconds * SECOND),
            last_write_end_ns=last_write_end(heard(c), by_ns=c.start_ns),
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
            "declared_run": st.sampled_from([None, None, "d1", "d2"]),
            "user": st.sampled_from([None, "ann", "ann", "bob"]),
            "invalidates": st.sampled_from([None, None, "", "get_a", "get_b,get_c"]),
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
@given(
    rows=_history,
    freshness=st.sampled_from([1, 5, 20, 100]),
    scope=st.sampled_from([None, None, Sharing.USER, Sharing.RUN]),
    own=st.booleans(),
)
def test_every_call_is_decided_as_the_contract_decides(
    recorded, call, rule, rows, freshness, scope, own
):
    calls, start, last = [], 0, {}
    for nth, row in enumerate(rows):
        start += row.pop("after")  # no two calls start at once
        lasts, inside = row.pop("lasts"), row.pop("inside")
        parent = last.get(row["run"]) if inside else None
        if row["tool"] == WRITER:
            row["readonly"] = None
        else:
            row["invalidates"] = None
        one = call(start, start + lasts, span=f"{nth:03}", parent=parent, **row)
        calls.append(one)
        last[row["run"]] = f"{nth:03}"
    history = recorded(*calls)
    tools = ("get_a", "get_b")
    rules = [
        rule(arguments, freshness, tool=tool, scope=scope, writers=Sharing.RUN if own else None)
        for tool in tools
        for arguments in ("x", "y")
    ]
    found, source = replayed(history, *rules)
    decisions, sources = _literally(history.calls, rules)
    assert {row: place for row, place in enumerate(source) if place >= 0} == sources
    for row, decision in decisions.items():
        assert decision is Decision.SERVE or decision in _DECIDED[found[row]]

    columns = read_calls(history.store, Settings())
    columns = split_by_cover(columns, cover_calls(history.store, columns, rules, Settings()))
    codes = [code for code, facts in enumerate(columns.tools) if facts.name.tool in tools]
    allowed = freshness_by_identity(
        columns, [Permission(code, freshness * SECOND) for code in codes]
    )
    reach = dict.fromkeys(codes, Sharing.RUN if own else scope or Sharing.ALL)
    who = who_of(columns)
    serving = serve_calls(columns, read_spans(history.store, columns), allowed, who, reach)
    assert dict(zip(serving.served.tolist(), serving.source.tolist(), strict=True)) == sources


# --- rules for less than all who ask -------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (None, [1, 2, 3, 4, 5]),
        (Sharing.ALL, [1, 2, 3, 4, 5]),
        (Sharing.SERVICE, [1, 2, 3, 4, 5]),
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
