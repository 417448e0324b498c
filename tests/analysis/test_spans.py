"""Calls in the tree of spans."""

from __future__ import annotations

import numpy as np

from visceral_cli.analysis.columns import NONE
from visceral_cli.analysis.spans import read_spans

SECOND = 1_000_000_000


def test_a_call_below_another_has_it_as_its_caller_at_any_depth(recorded, call, other_span):
    calls = recorded(
        call(0, 10, span="outer"),
        call(2, 8, span="inner", parent="step", tool="get_b"),
        call(3, 4, span="innermost", parent="inner", tool="get_c"),
        call(20, 30, span="apart", parent="root"),
        spans=[
            other_span(1, 9, "http", "outer"),
            other_span(1, 9, "step", "http"),
            other_span(5, 6, "leaf", "step"),
            other_span(0, 40, "root"),
        ],
    )
    tree = read_spans(calls.store, calls.columns())
    assert tree.caller.tolist() == [NONE, 0, 1, NONE]
    assert tree.leaf.tolist() == [False, False, True, True]
    assert tree.other_start_ns.tolist() == [5 * SECOND]
    assert tree.other_caller.tolist() == [0]


def test_within_holds_at_any_depth_and_not_for_the_chosen_itself(recorded, call):
    calls = recorded(
        call(0, 10, span="a"),
        call(1, 9, span="b", parent="a"),
        call(2, 8, span="c", parent="b"),
        call(3, 7, span="d", parent="c"),
        call(20, 21, span="e"),
    )
    tree = read_spans(calls.store, calls.columns())
    chosen = np.array([False, True, False, False, True])
    assert tree.within(chosen).tolist() == [False, False, True, True, False]
    assert not tree.within(np.zeros(5, bool)).any()


def test_equal_span_ids_of_two_traces_are_two_spans(recorded, call):
    calls = recorded(call(0, 10, span="a", run="one"), call(1, 9, span="b", parent="a", run="two"))
    assert read_spans(calls.store, calls.columns()).caller.tolist() == [NONE, NONE]


def test_traces_without_a_call_are_left_out(recorded, call, other_span):
    calls = recorded(call(0, 1), spans=[other_span(0, 1, "x", run="another")])
    assert len(read_spans(calls.store, calls.columns()).other_run) == 0


def test_spans_that_are_each_other_s_parents_are_inside_of_nothing(recorded, call):
    calls = recorded(
        call(0, 10, span="a", parent="b"),
        call(1, 9, span="b", parent="a"),
        call(2, 8, span="c", parent="b"),
        call(3, 4, span="self", parent="self"),
    )
    assert read_spans(calls.store, calls.columns()).caller.tolist() == [NONE] * 4


def test_several_calls_of_one_span_share_what_is_below(recorded, call, other_span):
    calls = recorded(
        call(0, 10, span="a"),
        call(0, 10, span="a", position=1, arguments="b"),
        call(2, 3, span="b", parent="a"),
    )
    tree = read_spans(calls.store, calls.columns())
    assert tree.caller.tolist() == [NONE, NONE, 0]
    assert tree.leaf.tolist() == [False, False, True]


def test_a_store_may_hold_no_span(recorded):
    calls = recorded()
    assert len(read_spans(calls.store, calls.columns()).caller) == 0
