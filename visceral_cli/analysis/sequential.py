"""Evidence that may be looked at as often as one likes, and acted on at any moment.

An e-value is a bet against a hypothesis that is fair if the hypothesis holds: the chance that it
ever reaches ``1 / delta`` is at most ``delta`` (Ville's inequality), however often one looks.
"""

from __future__ import annotations

import math
from enum import StrEnum

from visceral_cli.analysis import binomial

_FACTORS = (1.5, 2, 3, 5, 10, 30)
"""The stale rates that are bet on, as multiples of the tolerated one."""


class RuleState(StrEnum):
    """What verify samples say of a live rule."""

    BROKEN = "broken"
    """To be withdrawn: results are stale more often than tolerated."""
    CONFIRMED = "confirmed"
    UNDECIDED = "undecided"


def judge_rule(mismatches: int, samples: int, rate: float, delta: float) -> RuleState:
    """Judge a rule by its verify samples since it went live.

    Of samples of one identity less than the freshness apart only the first may be among them: they
    test the same stored result. A rule that keeps to ``rate`` is ever called broken with a chance
    of at most ``delta``.
    """
    if evidence_of_staleness(mismatches, samples, rate) >= 1 / delta:
        return RuleState.BROKEN
    if binomial.upper(mismatches, samples, delta) <= rate:
        return RuleState.CONFIRMED
    return RuleState.UNDECIDED


def evidence_of_staleness(stale: float, observations: float, rate: float) -> float:
    """Return the e-value against "at most ``rate`` of the results are stale"."""
    return _mean_bet(stale, observations, rate, [factor * rate for factor in _FACTORS])


def evidence_of_freshness(stale: float, observations: float, rate: float) -> float:
    """Return the e-value against "more than ``rate`` of the results are stale".

    A bound that is taken again and again while traces grow, until it passes, is safe if this has
    reached ``1 / delta``; it asks for a fifth more observations than a bound taken once.
    """
    return _mean_bet(stale, observations, rate, [0.0, rate / 4, rate / 2])


def _mean_bet(x: float, n: float, rate: float, alternatives: list[float]) -> float:
    bets = [_bet(x, n, rate, alternative) for alternative in alternatives if alternative < 1]
    return math.fsum(bets) / len(bets) if bets else 0.0


def _bet(x: float, n: float, rate: float, alternative: float) -> float:
    """Return how much likelier the outcome is under the alternative; huge is infinite."""
    if alternative == 0 and x > 0:
        return 0.0
    log_ratio = (n - x) * (math.log1p(-alternative) - math.log1p(-rate))
    if x:
        log_ratio += x * math.log(alternative / rate)
    return math.exp(log_ratio) if log_ratio < 700 else math.inf
