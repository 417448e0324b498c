"""Spans that tell one execution become one call, and equal executions stay apart."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.calls.one_call import Joined, one_call_each
from visceral_cli.calls.tool_call import CallKind, ContentMissing, IdentityMissing, ToolCall
from visceral_cli.ingest.span import CLIENT, SERVER

Recorded = Callable[..., ToolCall]
Tree = dict[str, str | None]


def join(calls: list[ToolCall], tree: Tree | None = None) -> list[Joined]:
    """Join calls whose spans hang below each other as ``tree`` says."""
    whole = tree or dict.fromkeys(call.span_id for call in calls)
    return one_call_each(calls, dict.fromkeys((call.trace_id for call in calls), whole))


def ids(joined: list[Joined]) -> dict[str, list[str]]:
    return {item.call.span_id: sorted(place[1] for place in item.absorbed) for item in joined}


def test_a_call_inside_a_call_of_the_same_tool_and_arguments_is_one(recorded: Recorded) -> None:
    outer, inner = recorded("outer"), recorded("inner", start_ms=5, end_ms=95)
    joined = join([outer, inner], {"outer": None, "step": "outer", "inner": "step"})
    assert ids(joined) == {"outer": ["inner"]}
    assert joined[0].call.end_ns == outer.end_ns


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": '{"q":"b"}'},
        {"tool": "fetch"},
        {"call_id": "c-2"},
        {"start_ms": 200, "end_ms": 300},
    ],
    ids=["other arguments", "other tool", "other call id", "after the outer one ended"],
)
def test_a_call_inside_a_call_is_its_own_if_anything_contradicts(
    recorded: Recorded, change: dict[str, Any]
) -> None:
    calls = [recorded("outer", call_id="c-1"), recorded("inner", **{"end_ms": 50} | change)]
    assert len(join(calls, {"outer": None, "inner": "outer"})) == 2


def test_another_tool_between_separates(recorded: Recorded) -> None:
    calls = [recorded("outer"), recorded("between", tool="agent"), recorded("inner")]
    tree: Tree = {"outer": None, "between": "outer", "inner": "between"}
    assert len(join(calls, tree)) == 3


@pytest.mark.parametrize("missing", ["outer", "inner", "both"])
def test_missing_arguments_contradict_nothing(recorded: Recorded, missing: str) -> None:
    calls = [
        recorded(
            span,
            arguments=None if missing in (span, "both") else '{"q":"a"}',
            identity_missing=IdentityMissing.NOT_CAPTURED if missing in (span, "both") else None,
        )
        for span in ("outer", "inner")
    ]
    (joined,) = join(calls, {"outer": None, "inner": "outer"})
    assert joined.call.arguments == (None if missing == "both" else '{"q":"a"}')
    assert (joined.call.input_hash is None) == (missing == "both")
    assert (joined.call.identity_missing is None) == (missing != "both")


def test_a_chain_of_three_spans_is_one_call(recorded: Recorded) -> None:
    calls = [
        recorded("client", span_kind=CLIENT, arguments=None),
        recorded("send", span_kind=CLIENT, arguments=None, start_ms=1, end_ms=99),
        recorded("server", span_kind=SERVER, arguments=None, start_ms=2, end_ms=98),
    ]
    tree: Tree = {"client": None, "send": "client", "server": "send"}
    assert ids(join(calls, tree)) == {"client": ["send", "server"]}


def test_a_servers_clock_may_be_wrong(recorded: Recorded) -> None:
    calls = [
        recorded("client", span_kind=CLIENT),
        recorded("server", span_kind=SERVER, start_ms=-9000, end_ms=-8900),
    ]
    assert len(join(calls, {"client": None, "server": "client"})) == 1
    calls[1].span_kind = CLIENT
    assert len(join(calls, {"client": None, "server": "client"})) == 2


def test_equal_calls_side_by_side_are_repeats(recorded: Recorded) -> None:
    calls = [recorded("one"), recorded("two"), recorded("three", start_ms=10, end_ms=90)]
    tree: Tree = {"run": None, "one": "run", "two": "run", "three": "run"}
    assert len(join(calls, tree)) == 3


def test_of_two_equal_calls_below_a_wrapper_only_the_first_is_the_wrappers(
    recorded: Recorded,
) -> None:
    calls = [
        recorded("wrapper"),
        recorded("first", start_ms=1, end_ms=40),
        recorded("second", start_ms=50, end_ms=90),
    ]
    tree: Tree = {"wrapper": None, "first": "wrapper", "second": "wrapper"}
    assert ids(join(calls, tree)) == {"wrapper": ["first"], "second": []}


def test_one_call_id_joins_even_if_a_wrapper_changed_the_arguments(recorded: Recorded) -> None:
    calls = [
        recorded("outer", call_id="c-1"),
        recorded("inner", call_id="c-1", arguments='{"q":"a","limit":10}'),
    ]
    (joined,) = join(calls, {"outer": None, "inner": "outer"})
    assert joined.call.arguments == '{"q":"a"}'


def test_a_tool_around_a_retriever_of_another_name_stays_two(recorded: Recorded) -> None:
    calls = [
        recorded("tool", tool="search_docs"),
        recorded("retriever", tool="DocsRetriever", kind=CallKind.RETRIEVER, start_ms=1, end_ms=99),
        recorded("private", tool="DocsRetriever", kind=CallKind.RETRIEVER, start_ms=2, end_ms=98),
    ]
    tree: Tree = {"tool": None, "retriever": "tool", "private": "retriever"}
    assert ids(join(calls, tree)) == {"tool": [], "retriever": ["private"]}


# --- beside each other ----------------------------------------------------------------------------


def test_the_servers_side_is_joined_to_the_caller_whose_interval_holds_it(
    recorded: Recorded,
) -> None:
    calls = [
        recorded("client-1", start_ms=0, end_ms=50),
        recorded("client-2", start_ms=10, end_ms=60),
        recorded("server-1", span_kind=SERVER, start_ms=5, end_ms=45),
        recorded("server-2", span_kind=SERVER, start_ms=15, end_ms=55),
        recorded("server-3", span_kind=SERVER, start_ms=20, end_ms=70),
    ]
    tree: Tree = dict.fromkeys([call.span_id for call in calls], "session")
    assert ids(join(calls, tree)) == {
        "client-1": ["server-1"],
        "client-2": ["server-2"],
        "server-3": [],
    }


def two_tellers(recorded: Recorded, **second: Any) -> list[ToolCall]:
    """One execution as two instrumentations tell it; their callbacks take turns."""
    fields = {"start_ms": 1, "end_ms": 101, "scope": "library b"} | second
    return [recorded("a", scope="library a", call_id="c-1"), recorded("b", **fields)]


@pytest.mark.parametrize(
    ("second", "joined"),
    [
        ({"call_id": "c-1"}, 1),
        ({"call_id": "c-1", "trace": "trace-2"}, 1),
        ({"call_id": "c-1", "arguments": None}, 1),
        ({"call_id": "c-1", "arguments": '{"input":"a"}', "unnamed_arguments": True}, 1),
        ({"call_id": "c-1", "arguments": '{"q":"b"}'}, 2),
        ({"call_id": "c-1", "scope": "library a"}, 2),
        ({"call_id": "c-1", "trace": "trace-2", "service": "another"}, 2),
        ({"call_id": "c-1", "trace": "trace-2", "start_ms": 101, "end_ms": 200}, 2),
        ({"call_id": "c-2"}, 2),
        ({"call_id": None}, 1),
        ({"call_id": None, "trace": "trace-2"}, 2),
        ({"call_id": None, "scope": "library a"}, 2),
        ({"call_id": None, "start_ms": 40, "end_ms": 140}, 2),
        ({"call_id": None, "tool": "fetch"}, 2),
    ],
    ids=[
        "same id, one trace",
        "same id, two traces",
        "same id, arguments on one side",
        "same id, unnamed arguments",
        "same id, other arguments",
        "same id, one library",
        "same id, two services",
        "same id, one after the other",
        "other id",
        "no id, one trace",
        "no id, two traces",
        "no id, one library",
        "no id, little overlap",
        "no id, other tool",
    ],
)
def test_what_two_instrumentations_tell_is_one_call(
    recorded: Recorded, second: dict[str, Any], joined: int
) -> None:
    calls = two_tellers(recorded, **second)
    assert len(join(calls)) == joined


def test_traces_that_share_a_call_id_are_one_run_for_calls_without_id(recorded: Recorded) -> None:
    def of_both(number: int, call_id: str | None) -> list[ToolCall]:
        start = number * 1000
        return [
            recorded(
                f"{library}{number}",
                scope=library,
                trace=f"trace of {library}",
                call_id=call_id,
                start_ms=start,
                end_ms=start + 100,
            )
            for library in ("a", "b")
        ]

    assert len(join([*of_both(1, "c-1"), *of_both(2, None)])) == 2
    assert len(join(of_both(2, None))) == 2


def test_two_tellers_of_parallel_equal_calls_are_joined_one_to_one(recorded: Recorded) -> None:
    calls = [
        recorded(f"{library}{number}", scope=library, start_ms=offset, end_ms=100 + offset)
        for number, offset in ((1, 0), (2, 4))
        for library in ("a", "b")
    ]
    assert sorted(len(item.absorbed) for item in join(calls)) == [1, 1]


def test_an_inner_call_of_the_same_name_below_another_tool_is_not_told_twice(
    recorded: Recorded,
) -> None:
    calls = [
        recorded("outer", scope="library a", arguments=None),
        recorded("agent", tool="agent", scope="library a"),
        recorded("inner", scope="library b", arguments=None),
    ]
    assert len(join(calls, {"outer": None, "agent": "outer", "inner": "agent"})) == 3


def test_phases_with_one_number_are_one_call_from_the_first_to_the_last(
    recorded: Recorded,
) -> None:
    def phase(span: str, number: int, start_ms: float, **fields: Any) -> ToolCall:
        told = {"convention": "openinference-beeai", "call_id": f"phase {number}"}
        return recorded(span, start_ms=start_ms, end_ms=900, **told | fields)

    calls = [
        phase("start-1", 1, 0),
        phase("success-1", 1, 30, result='"ok"', content_hash="h"),
        phase("finish-1", 1, 31, arguments=None),
        phase("start-2", 2, 5),
    ]
    tree: Tree = dict.fromkeys([call.span_id for call in calls], "run")
    joined = join(calls, tree)
    assert ids(joined) == {"start-1": ["finish-1", "success-1"], "start-2": []}
    call = joined[0].call
    assert (call.end_ns or 0) - (call.start_ns or 0) == 31_000_000
    assert call.content_hash == "h"


def test_claude_codes_execution_gives_the_time_and_the_outcome(recorded: Recorded) -> None:
    calls = [
        recorded("tool", tool="Bash", convention="claude-code", start_ms=0, end_ms=5000),
        recorded(
            "execution",
            tool="claude_code.tool.execution",
            convention="claude-code-execution",
            arguments=None,
            failed=True,
            content_missing=ContentMissing.FAILED,
            start_ms=4000,
            end_ms=5000,
        ),
    ]
    (joined,) = join(calls, {"tool": None, "execution": "tool"})
    call = joined.call
    assert (call.tool, call.failed, call.content_missing) == ("Bash", True, "failed")
    assert (call.end_ns or 0) - (call.start_ns or 0) == 1_000_000_000


# --- what is told together ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outer", "inner", "failed", "content"),
    [
        ({"content_hash": "o"}, {"content_hash": "i"}, False, "o"),
        ({"content_missing": ContentMissing.NOT_CAPTURED}, {"content_hash": "i"}, False, "i"),
        ({"content_hash": "o"}, {"failed": True}, False, "o"),
        ({"content_missing": ContentMissing.NOT_CAPTURED}, {"failed": True}, True, None),
        (
            {"failed": True, "content_missing": ContentMissing.FAILED},
            {"content_hash": "i"},
            True,
            None,
        ),
    ],
    ids=["both known", "inner known", "outer recovered", "outer silent", "outer failed"],
)
def test_the_outer_span_is_believed_where_it_knows(
    recorded: Recorded,
    outer: dict[str, Any],
    inner: dict[str, Any],
    failed: bool,
    content: str | None,
) -> None:
    calls = [recorded("outer", **outer), recorded("inner", **inner)]
    (joined,) = join(calls, {"outer": None, "inner": "outer"})
    assert (joined.call.failed, joined.call.content_hash) == (failed, content)
    assert (joined.call.content_missing == "failed") is failed


def test_what_only_one_span_knows_is_kept(recorded: Recorded) -> None:
    calls = [
        recorded("outer", session="s-1", unnamed_arguments=True, arguments='{"input":"a"}'),
        recorded("inner", session="s-2", user="u-1", call_id="c-1", cost_usd=0.5),
    ]
    (joined,) = join(calls, {"outer": None, "inner": "outer"})
    call = joined.call
    assert (call.session, call.user, call.call_id, call.cost_usd) == ("s-1", "u-1", "c-1", 0.5)
    assert (call.arguments, call.unnamed_arguments) == ('{"q":"a"}', False)


def test_the_records_given_are_left_as_they_were(recorded: Recorded) -> None:
    calls = [recorded("outer", session=None), recorded("inner", session="s-1")]
    join(calls, {"outer": None, "inner": "outer"})
    assert calls[0].session is None


def test_several_calls_of_one_span_are_told_apart_by_position(recorded: Recorded) -> None:
    calls = [
        recorded("step", position=0),
        recorded("step", position=1, arguments='{"q":"b"}'),
        recorded("inner", arguments='{"q":"b"}', start_ms=5, end_ms=95),
    ]
    joined = join(calls, {"step": None, "inner": "step"})
    assert [(item.call.position, item.absorbed) for item in joined] == [
        (0, []),
        (1, [("trace-1", "inner", 0)]),
    ]


def test_damaged_trees_and_missing_times_do_no_harm(recorded: Recorded) -> None:
    calls = [recorded("one", start_ms=None, end_ms=None), recorded("two", start_ms=None)]
    loop: Tree = {"one": "two", "two": "one"}
    assert sum(1 + len(item.absorbed) for item in join(calls, loop)) == 2
    assert len(one_call_each(calls, {})) == 2
    assert one_call_each([], {}) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0, max_value=10**6))
def test_every_record_is_told_exactly_once_whatever_their_order(
    recorded: Recorded, seed: int
) -> None:
    chance = random.Random(seed)
    calls = []
    tree: Tree = {}
    for number in range(12):
        start = chance.randrange(100)
        calls.append(
            recorded(
                f"s{number}",
                tool=chance.choice(["f", "g"]),
                scope=chance.choice(["a", "b"]),
                call_id=chance.choice([None, "c-1", "c-2"]),
                arguments=chance.choice([None, '{"q":"a"}', '{"q":"b"}']),
                span_kind=chance.choice([CLIENT, SERVER]),
                start_ms=start,
                end_ms=start + chance.randrange(100),
            )
        )
        tree[f"s{number}"] = chance.choice([None, *tree])
    first = join(calls, tree)
    places = [place for item in first for place in item.absorbed]
    places += [(item.call.trace_id, item.call.span_id, item.call.position) for item in first]
    assert sorted(places) == sorted((call.trace_id, call.span_id, 0) for call in calls)

    chance.shuffle(calls)
    distinct_starts = len({(call.start_ns, call.end_ns) for call in calls}) == len(calls)
    if distinct_starts:
        assert ids(join(calls, tree)) == ids(first)


def test_many_calls_of_one_trace_take_linear_time(recorded: Recorded) -> None:
    """Quadratic work over 20,000 records would take minutes."""
    calls = [
        recorded(f"s{n}", call_id="c-1", scope="ab"[n % 2], start_ms=n, end_ms=n + 0.5)
        for n in range(20_000)
    ]
    tree: Tree = dict.fromkeys([call.span_id for call in calls], "run")
    assert len(join(calls, tree)) == 20_000
