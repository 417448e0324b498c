"""The candidate freshnesses and the guards around them."""

from __future__ import annotations

import numpy as np
import pytest

from visceral_cli.analysis.candidates import (
    SECOND_NS,
    block_of,
    grid_ns,
    longest_supported_ns,
    measure_curve,
)
from visceral_cli.analysis.history import ToolCalls
from visceral_cli.analysis.stale_curve import Guard
from visceral_cli.settings import FreshnessSettings

MINUTE = 60 * SECOND_NS


@pytest.mark.parametrize(
    ("cap_seconds", "last"),
    [(59, [30, 59]), (60, [30, 60]), (61, [60, 61]), (0.5, [0.5]), (None, [1209600, 2592000])],
)
def test_a_cap_ends_the_grid(cap_seconds, last):
    cap = None if cap_seconds is None else round(cap_seconds * SECOND_NS)
    assert [each / SECOND_NS for each in grid_ns(cap)][-2:] == last


def test_a_cap_of_nothing_leaves_no_candidate():
    assert grid_ns(0) == []


@pytest.mark.parametrize(
    ("factor", "span_ns", "longest_ns"),
    [
        (30, 30 * MINUTE - 1, MINUTE - 1),
        (30, 30 * MINUTE, MINUTE),
        (30, 30 * MINUTE + 1, MINUTE),
        (2.5, 25, 10),
        (1, 2**62 + 1, 2**62 + 1),
    ],
    ids=["just too short", "thirty times", "a little more", "a broken factor", "beyond a float"],
)
def test_the_traces_must_span_a_freshness_thirty_times(factor, span_ns, longest_ns):
    settings = FreshnessSettings(span_factor=factor)
    assert longest_supported_ns(span_ns, settings) == longest_ns


@pytest.mark.parametrize(
    ("calls", "blocks"),
    [(16, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]), (3, [0, 2, 5]), (0, [])],
)
def test_blocks_are_equal_in_calls(calls, blocks):
    assert block_of(calls, 8).tolist() == blocks


def repeats(count: int, apart_ns: int) -> ToolCalls:
    """``count`` identities, each called in two runs of its own and ``apart_ns`` apart."""
    start = np.arange(2 * count, dtype=np.int64) // 2 * 7 * apart_ns
    start[1::2] += apart_ns
    identity = (np.arange(2 * count) // 2).astype(np.int32)
    return ToolCalls(start, start, identity, identity, identity)


@pytest.mark.parametrize(
    ("count", "failed"),
    [(29, {Guard.RUNS, Guard.RESULTS}), (30, set()), (31, set())],
)
def test_a_candidate_needs_thirty_runs_and_thirty_results_near_its_age(count, failed):
    curve = measure_curve(repeats(count, MINUTE), None, FreshnessSettings())
    (point,) = [each for each in curve.points if each.freshness_ns == MINUTE]
    assert set(point.failed_guards) == failed
    assert (point.runs, point.near_results) == (count, count)


def test_results_compared_at_the_age_of_a_shorter_candidate_do_not_support_a_longer_one():
    curve = measure_curve(repeats(100, MINUTE), None, FreshnessSettings())
    near = {point.freshness_ns // SECOND_NS: point.near_results for point in curve.points}
    assert (near[30], near[60], near[120]) == (0, 100, 0)


def test_candidates_too_long_for_the_traces_are_measured_only_to_say_what_is_missing():
    clean = measure_curve(repeats(300, MINUTE), None, FreshnessSettings())
    assert all(Guard.SPAN not in point.failed_guards for point in clean.points)
    few = measure_curve(repeats(3, MINUTE), None, FreshnessSettings())
    assert [point.freshness_ns // SECOND_NS for point in few.points][-1] == 60
    assert few.points[-1].serves == 3


def test_repeats_at_the_very_same_moment_support_no_freshness():
    calls = repeats(300, 0)
    spread = ToolCalls(
        np.sort(calls.identity * np.int64(1000 * SECOND_NS)),
        np.sort(calls.identity * np.int64(1000 * SECOND_NS)),
        calls.identity,
        calls.run,
        calls.content,
    )
    curve = measure_curve(spread, None, FreshnessSettings())
    assert {point.serves for point in curve.points} == {300}
    assert not any(point.supported for point in curve.points)


def test_a_candidate_saves_the_durations_of_its_serves():
    starts = np.array([0, 5, 30, 200]) * SECOND_NS
    calls = ToolCalls(
        start_ns=starts,
        end_ns=starts + np.array([1, 2, 3, 4]) * SECOND_NS,
        identity=np.zeros(4, np.int32),
        run=np.arange(4, dtype=np.int32),
        content=np.array([0, 0, 1, 1], np.int32),
    )
    saved = {
        point.freshness_ns // SECOND_NS: (point.serves, point.stale, point.saved_ns // SECOND_NS)
        for point in measure_curve(calls, None, FreshnessSettings()).points
    }
    assert saved[2] == (0, 0, 0)
    assert saved[5] == (1, 0, 2)
    assert saved[30] == (2, 1, 5)
    assert saved[300] == (3, 2, 9)
