"""Calls as columns: what rows of the store become."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.analysis import columns as columns_module
from visceral_cli.analysis.columns import NONE, _coded, _coded_few, ranked
from visceral_cli.analysis.history import count_distinct
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

SECOND = 1_000_000_000


def test_equal_texts_have_equal_codes(recorded, call):
    columns = recorded(
        call(0, 1, arguments="a", result="r", run="one"),
        call(2, 3, arguments="b", result="r", run="two"),
        call(4, 5, arguments="a", result="s", run="one"),
    ).columns()
    assert columns.identity.tolist() == [0, 1, 0]
    assert columns.content.tolist() == [0, 0, 1]
    assert columns.run.tolist() == [0, 1, 0]
    assert (columns.identities, columns.runs) == (2, 2)


def test_unknown_values_are_none_of_the_codes(recorded, call):
    columns = recorded(call(arguments=None, result=None)).columns()
    assert columns.identity.tolist() == [NONE]
    assert columns.content.tolist() == [NONE]
    assert columns.cost_nanousd.tolist() == [NONE]


def test_the_identities_of_one_tool_are_neighbours(recorded, call):
    columns = recorded(
        call(0, tool="get_a", arguments="x"),
        call(1, tool="get_b", arguments="x"),
        call(2, tool="get_a", arguments="y"),
        call(3, tool="get_b", arguments="y"),
    ).columns()
    assert columns.identity.tolist() == [0, 2, 1, 3]
    assert columns.identity_starts.tolist() == [0, 2, 4]


def test_tools_come_in_order_of_their_first_call(recorded, call):
    columns = recorded(
        call(0, tool="get_b"), call(1, tool="get_a"), call(2, tool="get_b")
    ).columns()
    assert [facts.name.tool for facts in columns.tools] == ["get_b", "get_a"]
    assert columns.tool.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"namespace": "a"}, {"namespace": "b"}),
        ({"tool": "get_a"}, {"tool": "get_b"}),
        ({"kind": "tool"}, {"kind": "retriever"}),
        ({"version": None}, {"version": "1"}),
        ({"hash_v": 1}, {"hash_v": 2}),
        ({"arguments": "a"}, {"arguments": "b"}),
    ],
    ids=str,
)
def test_identities_never_cross_what_sets_calls_apart(recorded, call, one, other):
    columns = recorded(call(0, **one), call(1, **other), call(2, **one)).columns()
    assert columns.identity[0] == columns.identity[2] != columns.identity[1]


def test_the_scope_trace_sets_traces_apart(recorded, call):
    calls = recorded(call(0, run="one"), call(1, run="two"), call(2, run="one"))
    assert calls.columns(Settings(scope="trace")).identity.tolist() == [0, 1, 0]
    assert calls.columns(Settings(scope="all")).identity.tolist() == [0, 0, 0]


def test_a_call_without_an_end_or_that_ends_before_it_starts_has_no_times(recorded, call):
    columns = recorded(call(0, 1), call(5, 4), call(6, has_end=False), call(None)).columns()
    assert columns.timed.tolist() == [True, False, False, False]
    assert columns.duration_ns.tolist() == [SECOND, 0, 0, 0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([None, None], None), ([None, True], True), ([True, False], False), ([False, None], False)],
)
def test_of_spans_that_disagree_the_cautious_one_counts(recorded, call, values, expected):
    columns = recorded(*(call(n, readonly=value) for n, value in enumerate(values))).columns()
    assert columns.tools[0].readonly is expected
    assert columns.writer.tolist() == [expected is False] * 2


def test_the_smallest_attested_freshness_of_a_tool_is_its_cap(recorded, call):
    calls = [call(0, freshness_override=60.0), call(1), call(2, freshness_override=30.0)]
    assert recorded(*calls).columns().tools[0].freshness_cap_seconds == 30.0
    assert recorded(call(0)).columns().tools[0].freshness_cap_seconds is None


def test_a_cost_on_the_span_beats_the_price_of_the_tool(recorded, call):
    settings = Settings(
        extract=ExtractSettings(tools={"get_a": ToolDeclaration(price_usd=0.5)}),
        prices={"get_b": 0.25},
    )
    columns = recorded(
        call(0, tool="get_a"),
        call(1, tool="get_a", cost_usd=0.125),
        call(2, tool="get_a", cost_usd=0.0),
        call(3, tool="get_b"),
        call(4, tool="get_c"),
        call(5, tool="get_c", cost_usd=-1.0),
    ).columns(settings)
    assert [columns.cost_usd(np.array([n])) for n in range(6)] == [
        0.5,
        0.125,
        0.0,
        0.25,
        None,
        None,
    ]


def test_a_sum_of_costs_is_exact_and_unknown_only_where_nothing_is_known(recorded, call):
    columns = recorded(call(0, cost_usd=0.1), call(1, cost_usd=0.2), call(2)).columns()
    assert columns.cost_usd(np.arange(3)) == 0.3
    assert columns.cost_usd(np.array([2])) is None
    assert columns.cost_usd(np.arange(0)) == 0.0
    assert recorded(call(0)).columns().cost_usd(np.arange(0)) is None


def test_a_store_may_hold_no_call(recorded):
    columns = recorded().columns()
    assert (len(columns), columns.tools, columns.identities, columns.runs) == (0, (), 0, 0)


KEYS = st.lists(st.sampled_from([1, 2, 2**63, 2**64 - 1]) | st.integers(1, 2**64 - 1))


@given(KEYS)
def test_codes_are_the_same_by_sorting_and_by_a_table(keys):
    column = np.array(keys, np.uint64)
    for one, other in zip(_coded(column), _coded_few(column), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@given(st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)))
def test_ranks_and_their_number_are_those_of_numpy(keys):
    column = np.array(keys, np.int64)
    codes, known = ranked(column)
    expected, places = np.unique(column, return_inverse=True)
    assert (codes.tolist(), known.tolist()) == (places.tolist(), expected.tolist())
    assert count_distinct(codes) == len(expected)


def test_what_only_some_calls_tell_is_in_their_rows_alone(recorded, call, monkeypatch):
    monkeypatch.setattr(columns_module, "_BATCH_ROWS", 2)
    told = recorded(
        *(call(start, user="u-1" if start == 4 else None) for start in range(7)),
        call(7, cost_usd=2.0, served_start=3),
    ).columns()
    assert told.user.tolist() == [NONE] * 4 + [0] + [NONE] * 3
    assert told.session.tolist() == [NONE] * 8
    assert told.cost_nanousd.tolist() == [NONE] * 7 + [2 * SECOND]
    assert told.served_start_ns.tolist() == [0] * 7 + [3 * SECOND]
