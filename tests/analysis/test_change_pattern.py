"""When results changed: together, or more often lately, beyond what chance would do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from visceral_cli.analysis import binomial
from visceral_cli.analysis.change_pattern import (
    ChangePattern,
    LateChanges,
    SharedChanges,
    expected_moments,
    find_change_pattern,
    likely_to_change,
)
from visceral_cli.analysis.freshness import shared_change_rate
from visceral_cli.analysis.history import ToolCalls, find_writers
from visceral_cli.analysis.lanes import lay_out

SECOND = 1_000_000_000
IDENTITIES, ROUNDS, APART = 30, 100, 600
LAST = IDENTITIES * ROUNDS


def asked(
    version: Callable[[int, float], int],
    *,
    question: Callable[[int], int] | None = None,
    apart: int = APART,
) -> ToolCalls:
    """Each of 30 identities 100 times, ``apart`` seconds between, one after the other."""
    rows = [
        (nth * apart + apart / IDENTITIES * identity, identity)
        for nth in range(ROUNDS)
        for identity in range(IDENTITIES)
    ]
    start = np.array([round(at * SECOND) for at, _ in rows])
    identity = np.array([one for _, one in rows], np.int32)
    return ToolCalls(
        start_ns=start,
        end_ns=start,
        identity=identity,
        run=np.arange(len(rows), dtype=np.int32),
        content=np.array([version(one, at) for at, one in rows], np.int32),
        question=None
        if question is None
        else np.array([question(one) for _, one in rows], np.int32),
    )


def pattern_of(
    calls: ToolCalls, *, freshness: int = 600, excluded: tuple[int, ...] = (), writers=None
) -> ChangePattern:
    lanes = lay_out(calls, writers)
    left_out = np.array(excluded, np.int32)
    return find_change_pattern(calls, lanes, freshness * SECOND, left_out, 0.05)


def test_results_that_never_change_show_no_pattern():
    assert pattern_of(asked(lambda _identity, _at: 0)) == ChangePattern()


def test_what_changes_at_one_moment_for_all_is_one_shared_change():
    found = pattern_of(asked(lambda _identity, at: int(at > 30_001)))
    assert found == ChangePattern(SharedChanges(moments=1, changed=30, compared=30))


def test_shared_changes_are_counted_moment_by_moment_with_their_share():
    def version(identity: int, at: float) -> int:
        return int(at > 10_001) + int(at > 20_001) + int(identity < 15 and at > 40_001)

    shared = pattern_of(asked(version)).shared
    assert shared == SharedChanges(moments=3, changed=75, compared=90)
    assert shared.share == pytest.approx(75 / 90)


@pytest.mark.parametrize("apart", [600, 5400])
def test_moments_are_told_apart_where_calls_are_dense_and_seen_where_they_are_few(apart):
    found = pattern_of(asked(lambda _identity, at: int((at + 1) // (6 * apart)), apart=apart))
    assert found.shared == SharedChanges(moments=16, changed=16 * 30, compared=16 * 30)


def test_two_that_change_together_are_no_shared_change():
    assert pattern_of(asked(lambda one, at: int(one < 2 and at > 30_001))).shared is None
    assert pattern_of(asked(lambda one, at: int(one < 3 and at > 30_001))).shared == SharedChanges(
        moments=1, changed=3, compared=30
    )


def test_changes_one_after_the_other_are_shared_by_none():
    found = pattern_of(asked(lambda one, at: int(at > 1800 * (one + 1) + 1)))
    assert found == ChangePattern()


def test_changes_in_the_last_quarter_only_are_late():
    found = pattern_of(asked(lambda one, at: int(at > 45_000 + 450 * (one + 1))))
    assert found.shared is None
    assert found.late == LateChanges(changes=30, expected=pytest.approx(30 * 0.25, rel=0.02))
    assert found.late.factor == pytest.approx(4, rel=0.02)


def test_changes_in_the_first_quarter_only_are_not_late():
    assert pattern_of(asked(lambda one, at: int(at > 450 * (one + 1)))).late is None


def test_a_shared_change_at_the_end_does_not_make_changes_late():
    found = pattern_of(asked(lambda _identity, at: int(at > 55_001)))
    assert found == ChangePattern(SharedChanges(moments=1, changed=30, compared=30))


def test_what_is_left_beside_shared_changes_is_too_little_to_be_late():
    def version(identity: int, at: float) -> int:
        return int(at > 30_001) + int(identity < 10 and at > 45_000 + 1000 * (identity + 1))

    found = pattern_of(asked(version))
    assert found == ChangePattern(SharedChanges(moments=1, changed=30, compared=30))


def test_a_pace_is_such_that_as_many_changes_are_expected_as_there_were():
    # Two of four pairs of an hour and of three hours changed: with x = exp(-pace * 1 h) the
    # expected number 2 (1 - x) + 2 (1 - x**3) is 2 where x + x**3 = 1.
    lane, gap = np.zeros(4, np.int32), np.array([1.0, 1.0, 3.0, 3.0])
    x = 0.6823278038
    expected = [1 - x, 1 - x, 1 - x**3, 1 - x**3]
    for changed in ([True, True, False, False], [False, True, True, False]):
        assert likely_to_change(lane, gap, np.array(changed)) == pytest.approx(expected, abs=1e-9)
    assert likely_to_change(lane, gap, np.ones(4, np.bool_)) == pytest.approx(np.ones(4), abs=1e-6)
    assert likely_to_change(lane, gap, np.zeros(4, np.bool_)).tolist() == [0, 0, 0, 0]


def test_excluded_lanes_do_not_count():
    calls = asked(lambda one, at: int(one < 5 and at > 30_001))
    assert pattern_of(calls).shared == SharedChanges(moments=1, changed=5, compared=30)
    assert pattern_of(calls, excluded=(0, 1, 2)).shared is None


def test_the_users_who_ask_one_question_count_once():
    def version(identity: int, at: float) -> int:
        return int(identity < 10 and at > 30_001)

    assert pattern_of(asked(version)).shared is not None
    assert pattern_of(asked(version, question=lambda one: one // 10)).shared is None


@pytest.mark.parametrize(
    ("apart", "freshness", "seen"), [(21_600, 1, 30), (21_601, 1, 0), (21_601, 21_601, 30)]
)
def test_pairs_further_apart_than_six_hours_and_the_freshness_say_nothing(apart, freshness, seen):
    calls = asked(lambda _identity, at: int(at > 50.01 * apart), apart=apart)
    shared = pattern_of(calls, freshness=freshness).shared
    assert (0 if shared is None else shared.changed) == seen


def test_what_a_writer_of_the_run_changed_is_expected_to_change():
    calls = asked(lambda _identity, at: int(at > 30_001))
    at = np.full(LAST, 30_001 * SECOND)
    writers = find_writers(calls.run, at, at)
    assert pattern_of(calls, writers=writers) == ChangePattern()


def test_independent_steady_changes_are_seldom_taken_for_anything_else():
    rounds, wrong = 120, 0
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        moments = [np.sort(rng.uniform(0, ROUNDS * APART, rng.poisson(8))) for _ in range(30)]
        calls = asked(lambda one, at, moments=moments: int(np.searchsorted(moments[one], at)))
        found = pattern_of(calls)
        wrong += (found.shared is not None) + (found.late is not None)
    # Two tests at 5 % each: what chance alone exceeds once in a thousand.
    assert binomial.lower(wrong, 2 * rounds, 0.001) < 0.05


@pytest.mark.parametrize(
    ("seen", "at_most"), [(0, 2.995732), (1, 4.743865), (7, 13.148114), (30, 40.690508)]
)
def test_the_expected_number_of_moments_is_the_upper_limit_of_a_poisson_mean(seen, at_most):
    assert expected_moments(seen, 0.05) == pytest.approx(at_most, abs=1e-5)


def test_moments_that_were_seen_raise_the_shared_change_rate_by_their_share():
    week, hour = 7 * 86_400 * SECOND, 3600 * SECOND
    seven = SharedChanges(moments=7, changed=93, compared=100)
    rate = shared_change_rate(hour, week, 0.05, seen=seven)
    assert rate == pytest.approx(13.148114 * 0.93 / 2 / 168, abs=1e-6)
    few = SharedChanges(moments=1, changed=3, compared=100)
    assert shared_change_rate(hour, week, 0.05, seen=few) == shared_change_rate(hour, week, 0.05)
