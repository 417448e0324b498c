"""E-values of verify samples and of a growing history."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.sequential import (
    RuleState,
    evidence_of_freshness,
    evidence_of_staleness,
    judge_rule,
)


@pytest.mark.parametrize(
    ("mismatches", "samples", "evidence", "state"),
    [
        (0, 100, 0.185, RuleState.UNDECIDED),
        (1, 1, 8.583, RuleState.UNDECIDED),
        (2, 2, 173.375, RuleState.BROKEN),
        (3, 10, 504.427, RuleState.BROKEN),
        (4, 50, 44.047, RuleState.BROKEN),
        (3, 300, 0.201, RuleState.UNDECIDED),
        (10, 300, 48.068, RuleState.BROKEN),
    ],
)
def test_verify_samples_judge_a_rule(mismatches, samples, evidence, state):
    assert evidence_of_staleness(mismatches, samples, 0.01) == pytest.approx(evidence, abs=5e-4)
    assert judge_rule(mismatches, samples, 0.01, 0.05) is state


@pytest.mark.parametrize(
    ("samples", "state"), [(298, RuleState.UNDECIDED), (299, RuleState.CONFIRMED)]
)
def test_enough_matching_samples_confirm_a_rule(samples, state):
    assert evidence_of_staleness(0, samples, 0.01) < 1
    assert judge_rule(0, samples, 0.01, 0.05) is state


@pytest.mark.parametrize(
    ("stale", "observations", "expected"),
    [(0, 299, 11.416), (0, 362, 19.861), (0, 363, 20.038), (1, 363, 2.313), (1, 687, 20.049)],
)
def test_a_growing_history_may_be_looked_at_at_any_time(stale, observations, expected):
    evidence = evidence_of_freshness(stale, observations, 0.01)
    assert evidence == pytest.approx(expected, abs=5e-4)


def test_only_stale_rates_below_one_are_bet_on():
    assert 0 < evidence_of_staleness(1, 2, 0.5) < 2  # of the factors only 1.5 is left
    assert evidence_of_staleness(10**6, 10**6, 0.01) == float("inf")
