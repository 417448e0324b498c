"""Bounds that hold for one look, and for as many as one likes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from visceral_cli.analysis.freshness import Bound, NoBound, freshness_bounds
from visceral_cli.analysis.history import ToolCalls
from visceral_cli.analysis.proof import observations_needed, upper_bound
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000
ANYTIME = FreshnessSettings(anytime=True)


@pytest.mark.parametrize(
    ("stale", "once", "anytime"), [(0, 299, 363), (1, 473, 687)], ids=["clean", "one stale"]
)
def test_looking_again_asks_for_more(stale, once, anytime):
    assert observations_needed(stale, 0.01, 0.05, anytime=False) == once
    assert observations_needed(stale, 0.01, 0.05, anytime=True) == anytime


@pytest.mark.parametrize(("stale", "observations"), [(0, 50), (0, 363), (1, 687), (2.5, 900.5)])
def test_a_bound_is_what_the_observations_are_needed_for(stale, observations):
    bound = upper_bound(stale, observations, 0.05, anytime=True)
    assert bound > upper_bound(stale, observations, 0.05, anytime=False)
    assert upper_bound(stale, observations + 1, 0.05, anytime=True) < bound


@pytest.mark.parametrize(("observations", "holds"), [(362, False), (363, True), (364, True)])
def test_the_bound_crosses_the_rate_where_the_evidence_does(observations, holds):
    assert (upper_bound(0, observations, 0.05, anytime=True) <= 0.01) is holds


@pytest.mark.parametrize(("stale", "observations"), [(0, 0), (3, 3)])
def test_nothing_seen_proves_nothing(stale, observations):
    assert upper_bound(stale, observations, 0.05, anytime=True) == 1


def pairs(count: int) -> ToolCalls:
    """Each of ``count`` identities twice, a minute apart, with one result."""
    starts = np.array([1000 * i + age for i in range(count) for age in (0, 60)], np.int64) * SECOND
    identity = np.repeat(np.arange(count, dtype=np.int32), 2)
    return ToolCalls(starts, starts, identity, identity, np.zeros(2 * count, np.int32))


@pytest.mark.parametrize(
    ("count", "once", "anytime"),
    [(299, True, False), (362, True, False), (363, True, True)],
)
def test_a_rule_needs_363_observations_instead_of_299(count, once, anytime):
    (by_one_look,) = freshness_bounds([pairs(count)], None, FreshnessSettings())
    (by_many,) = freshness_bounds([pairs(count)], None, ANYTIME)
    assert isinstance(by_one_look, Bound) is once
    assert isinstance(by_many, Bound) is anytime


def test_what_is_missing_is_told_by_the_same_measure():
    (found,) = freshness_bounds([pairs(300)], None, ANYTIME)
    assert isinstance(found, NoBound)
    assert found.missing[0].message == "300 clean observations, needs 363"
    looser = replace(ANYTIME, max_stale_rate=found.passes_at)
    assert isinstance(freshness_bounds([pairs(300)], None, looser)[0], Bound)
