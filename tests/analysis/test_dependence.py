"""Whether answers depend on who asks, or have only changed with time."""

from __future__ import annotations

import numpy as np
import pytest

from visceral_cli.analysis.dependence import Answers, Dependence, Tally, compare_answers
from visceral_cli.analysis.history import ToolCalls

SECOND = 1_000_000_000
HOUR = 3600


def answers(rows, *, rate=0.01, delta=0.05) -> Answers:
    """Compare calls given as (seconds, question, user, answer)."""
    rows = sorted(rows)
    start, question, user, answer = (np.array(column) for column in zip(*rows, strict=True))
    start_ns = (start * SECOND).astype(np.int64)
    calls = ToolCalls(
        start_ns=start_ns,
        end_ns=start_ns,
        identity=question.astype(np.int32),
        run=np.zeros(len(rows), np.int32),
        content=np.array([-1 if one is None else ord(one) for one in answer], np.int32),
    )
    everywhere = np.zeros(len(rows), np.int64)
    return compare_answers(calls, everywhere, user.astype(np.int64), rate=rate, delta=delta)


def asked(questions, *told):
    """Return the same calls, as (seconds, user, answer), for each of some questions."""
    return [(1e5 * q + at, q, user, answer) for q in range(questions) for at, user, answer in told]


def test_users_who_get_different_answers_in_turn_are_told_from_a_change():
    found = answers(asked(40, (0, 1, "a"), (10, 2, "b"), (20, 1, "a"), (30, 2, "b")))
    assert (found.others, found.own) == (Tally(120, 120), Tally(80, 0))
    # No call of one user lies between two others of it, so the pairs have to tell.
    assert found.dependence == Dependence(
        at_the_same_time=False, apart_seconds=10, others=Tally(120, 120), own=Tally(80, 0)
    )


def test_how_large_the_numbers_of_questions_and_users_are_makes_no_difference():
    rows = asked(40, (0, 1, "a"), (10, 2, "b"), (20, 1, "a"), (30, 2, "b"), (40, 3, "a"))
    large = [(at, q + 2**30, user + 2**31, answer) for at, q, user, answer in rows]
    assert answers(large) == answers(rows)


def test_a_result_that_changed_for_all_users_is_no_dependence():
    found = answers(asked(100, (0, 1, "a"), (10, 2, "a"), (20, 1, "b"), (30, 2, "b")))
    assert (found.others, found.own) == (Tally(300, 100), Tally(200, 200))
    assert found.dependence is None


def test_a_change_between_distant_calls_of_users_who_ask_twice_at_once_is_no_dependence():
    # Users differ in every pair and no user ever does; but nobody asked again after as long.
    found = answers(asked(100, (0, 1, "a"), (10, 1, "a"), (3000, 2, "b"), (3010, 2, "b")))
    assert (found.others, found.own) == (Tally(100, 100), Tally(200, 0))
    assert found.dependence is None


def test_what_differs_for_another_user_between_two_equal_answers_depends_on_who_asks():
    # One question in 250 does; far less than is tolerated as stale.
    same = asked(1000, *((10 * n, n % 2, "a") for n in range(8)))
    private = [(at + 1e9, q + 1000, user, "ab"[user]) for at, q, user, _ in same[: 8 * 4]]
    found = answers(same + private)
    assert found.others.differing == 28
    assert found.dependence == Dependence(
        at_the_same_time=True, apart_seconds=30, others=Tally(6 * 1004, 6 * 4), own=Tally(4016, 0)
    )


@pytest.mark.parametrize("seed", range(20))
def test_answers_that_go_back_and_forth_for_everybody_do_not_depend_on_who_asks(seed):
    chance = np.random.default_rng(seed)
    told = [
        (20 * n, int(chance.integers(3)), "ab"[int(chance.random() < 0.1)])
        for question in range(60)
        for n in range(10)
    ]
    rows = [
        (1e5 * (place // 10) + at, place // 10, *rest) for place, (at, *rest) in enumerate(told)
    ]
    assert answers(rows).dependence is None


@pytest.mark.parametrize(("questions", "tells"), [(2, False), (3, False), (12, True)])
def test_few_calls_tell_nothing(questions, tells):
    told = asked(questions, (0, 1, "a"), (10, 2, "b"), (20, 1, "a"), (30, 2, "b"))
    assert (answers(told).dependence is not None) is tells


def test_calls_more_than_an_hour_apart_are_not_compared():
    told = asked(100, (0, 1, "a"), (HOUR, 2, "b"), (2 * HOUR + 1, 1, "a"), (3 * HOUR + 2, 2, "b"))
    assert answers(told) == Answers(Tally(100, 100), Tally(0, 0), None)


def test_calls_whose_result_is_not_known_are_passed_over():
    told = asked(40, (0, 1, "a"), (5, 2, None), (10, 1, "a"))
    assert answers(told) == Answers(Tally(0, 0), Tally(40, 0), None)


def test_differences_up_to_the_tolerated_rate_are_no_dependence_unless_at_the_same_time():
    once_each = asked(3000, (0, 1, "a"), (10, 1, "a"), (20, 2, "a"))
    few = [(at + 1e9, q + 3000, user, "ab"[user - 1]) for at, q, user, _ in once_each[:60]]
    assert answers(once_each + few, rate=0.01).dependence is None
    assert answers(once_each + few, rate=0.001).dependence == Dependence(
        at_the_same_time=False, apart_seconds=10, others=Tally(3020, 20), own=Tally(3020, 0)
    )
