"""What the evidence of a rule warns of: dangers that the bound itself does not cover."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from visceral_cli.analysis.freshness import Bound, freshness_bounds
from visceral_cli.analysis.history import ToolCalls
from visceral_cli.rules.gather import bound_evidence
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000
IDENTITIES, ROUNDS = 300, 10


def asked_twice(version: Callable[[int, float], int], *, apart: float, age: int = 60) -> ToolCalls:
    """300 identities in turn, ten rounds; each is asked twice, ``age`` seconds between."""
    rows = sorted(
        (apart * nth + later, nth % IDENTITIES, nth)
        for nth in range(IDENTITIES * ROUNDS)
        for later in (0, age)
    )
    start = np.array([round(at * SECOND) for at, _, _ in rows])
    return ToolCalls(
        start_ns=start,
        end_ns=start,
        identity=np.array([one for _, one, _ in rows], np.int32),
        run=np.array([nth for _, _, nth in rows], np.int32),
        content=np.array([version(one, at) for at, one, _ in rows], np.int32),
    )


def warnings_of(calls: ToolCalls, **settings: float) -> tuple[str, ...]:
    (found,) = freshness_bounds([calls], None, FreshnessSettings(**settings))
    assert isinstance(found, Bound)
    assert found.freshness_seconds == 60
    return bound_evidence(found).warnings


def test_a_freshness_that_the_traces_span_often_enough_warns_of_nothing():
    assert warnings_of(asked_twice(lambda _one, _at: 0, apart=10)) == ()


@pytest.mark.parametrize(
    ("apart", "at_most"),
    [(3.0, None), (2.97, "1.1%"), (0.7, "4.2%")],
)
def test_with_no_change_seen_the_span_limits_what_a_change_of_all_could_do(apart, at_most):
    # 1.498 * 60 s is 1 % of 8,987 s: the traces span 9,057 s, 8,967 s or 2,159 s.
    warnings = warnings_of(asked_twice(lambda _one, _at: 0, apart=apart))
    expected = (
        f"if all results changed at once, too seldom for {3000 * apart / 3600:.1f} h of traces to "
        f"show it, up to {at_most} of the serves would be stale"
    )
    assert warnings == (() if at_most is None else (expected,))


def test_results_that_changed_together_are_told_with_what_that_could_do():
    warnings = warnings_of(asked_twice(lambda _one, at: int(at > 6002), apart=4))
    assert warnings == (
        "results of different arguments changed together, at one moment and 100% of those that "
        "were compared then: up to 1.2% of the serves may be stale",
    )


def late(one: int, at: float) -> int:
    """Twelve identities change, in the ninth of ten rounds, between being asked and asked again."""
    return int(one % 25 == 0 and at > 10 * (IDENTITIES * 8 + one) + 30)


def test_results_that_changed_more_often_lately_are_told_with_what_follows_if_they_go_on():
    (warning,) = warnings_of(asked_twice(late, apart=10))
    assert warning.startswith("results changed ")
    assert warning.endswith(
        " times as often in the last quarter of the calls as in all of them: if that goes on, "
        "up to 2.8% of the serves will be stale"
    )


def test_what_stays_tolerable_even_so_is_not_warned_of():
    assert warnings_of(asked_twice(late, apart=10), max_stale_rate=0.03) == ()
