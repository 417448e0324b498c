"""Outcomes to verdicts."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.sequential import RuleState
from visceral_cli.errors import InputError
from visceral_cli.settings import FreshnessSettings, Settings
from visceral_cli.verify.judge import Observation, passes_limit, thinned
from visceral_cli.verify.outcome import Outcome


def pairs(call, count, *, differing=(), arguments="a"):
    """Return pairs of calls of one identity 1,000 s apart, the second 10 s after the first."""
    return [
        call(
            1000 * i + at,
            run=f"run-{i}",
            arguments=arguments,
            result="other" if at and i in differing else "r",
        )
        for i in range(count)
        for at in (0, 10)
    ]


@pytest.mark.parametrize(
    ("gap", "counted"), [(59, 1), (60, 2), (61, 2)], ids=["inside", "at", "outside"]
)
def test_observations_less_than_a_freshness_apart_are_one(gap, counted):
    observations = [Observation(gap, 1, True), Observation(0, 0, False)]
    found = thinned(observations, 60)
    assert len(found) == counted
    assert not found[0].mismatch


def test_a_rule_without_mismatch_is_confirmed_once_there_are_enough(recorded, call, rule):
    (few,) = recorded(*pairs(call, 298)).verify(rule()).rules
    assert (few.judgement.samples, few.judgement.state) == (298, RuleState.UNDECIDED)
    verification = recorded(*pairs(call, 299)).verify(rule())
    assert verification.rules[0].judgement.state is RuleState.CONFIRMED
    assert verification.passed


def test_two_mismatches_of_two_break_a_rule(recorded, call, rule):
    verification = recorded(*pairs(call, 2, differing=(0, 1))).verify(rule())
    (found,) = verification.rules
    assert (found.served, found.matched, found.mismatched) == (2, 0, 2)
    assert found.judgement.evidence == pytest.approx(173.375, abs=5e-4)
    assert found.broken
    assert not verification.passed
    assert verification.withdrawn == {"r-get_weather-a"}
    assert found.oldest_mismatch_seconds == 10
    assert [(one.trace_id, one.age_seconds) for one in found.mismatches] == [
        ("run-0", 10),
        ("run-1", 10),
    ]


def test_rules_of_one_tool_can_be_broken_together_only(recorded, call, rule):
    histories = [
        one for name in ("a", "b") for one in pairs(call, 1, differing=(0,), arguments=name)
    ]
    verification = recorded(*histories).verify(rule("a"), rule("b"))
    assert verification.broken == ()
    assert [tool.judgement.mismatches for tool in verification.broken_tools] == [2]
    assert not verification.passed
    assert verification.withdrawn == {"r-get_weather-a", "r-get_weather-b"}


def test_the_interval_holds_the_observed_rate_and_counts_stored_results(recorded, call, rule):
    (found,) = recorded(*pairs(call, 20, differing=(3,))).verify(rule()).rules
    assert found.stale_rate == 0.05
    # Clopper-Pearson, two-sided at 95 %: 1 of 20.
    assert found.stale_rate_low == pytest.approx(0.001265, abs=1e-6)
    assert found.stale_rate_high == pytest.approx(0.248733, abs=1e-6)
    burst = recorded(call(0), *(call(at) for at in range(1, 51))).verify(rule()).rules[0]
    assert burst.matched == 50
    assert burst.stale_rate_high == pytest.approx(0.975)  # 50 serves of one stored result


def test_nothing_compared_is_idle_and_no_verdict(recorded, call, rule):
    (found,) = recorded(call(0), call(100)).verify(rule()).rules
    assert found.idle
    assert found.stale_rate is None
    assert (found.stale_rate_low, found.stale_rate_high) == (0, 1)
    assert found.judgement.state is RuleState.UNDECIDED


def test_no_call_under_a_rule_is_an_error(recorded, call, rule):
    with pytest.raises(InputError, match="none of 1 calls matches one of 1 rules"):
        recorded(call(0)).verify(rule("other"))


@pytest.mark.parametrize(
    ("mismatches", "compared", "limit", "passed"),
    [
        (1, 100, 0.01, False),
        (1, 99, 0.01, True),
        (3, 10, 0.3, False),
        (0, 5, 0.0, False),
        (1, 5, 0.0, True),
        (5, 5, None, False),
        (0, 0, 0.0, False),
    ],
)
def test_a_limit_may_be_reached_and_not_passed(mismatches, compared, limit, passed):
    assert passes_limit(mismatches, compared, limit) is passed


def test_a_limit_on_mismatches_breaks_what_chance_would_explain(recorded, call, rule):
    history = recorded(*pairs(call, 50, differing=(7,)))
    assert history.verify(rule()).passed
    assert history.verify(rule(), max_mismatch_rate=0.02).passed
    assert not history.verify(rule(), max_mismatch_rate=0.019).passed


def test_the_promise_is_the_users(recorded, call, rule):
    history = recorded(*pairs(call, 60))
    loose = Settings(freshness=FreshnessSettings(max_stale_rate=0.05))
    assert history.verify(rule()).rules[0].judgement.state is RuleState.UNDECIDED
    (found,) = history.verify(rule(), settings=loose).rules
    assert found.judgement.state is RuleState.CONFIRMED


def test_a_share_of_the_serves_is_compared_and_always_the_same(recorded, call, rule):
    history = recorded(*pairs(call, 200))
    few = history.verify(rule(), sample_rate=0.25).rules[0]
    assert few == history.verify(rule(), sample_rate=0.25).rules[0]
    more = history.verify(rule(), sample_rate=0.5).rules[0]
    assert 25 < few.matched < 75 < more.matched < 125
    assert few.outcomes[Outcome.NOT_SAMPLED] == 200 - few.matched
    assert few.served == 200


def test_how_many_samples_a_tool_needs_is_said(recorded, call, rule):
    verification = recorded(*pairs(call, 865)).verify(rule(), within_days=5)
    (tool,) = verification.tools
    assert verification.samples_to_notice == 765
    assert tool.served_per_day == pytest.approx(86.5, rel=0.01)
    assert tool.verify_rate == 1  # 765 of 432 serves
