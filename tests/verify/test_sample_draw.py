"""Which serves are drawn, and how many are enough."""

from __future__ import annotations

import pytest

from visceral_cli.verify.sample_draw import is_drawn, samples_to_notice, verify_rate


def test_a_larger_share_draws_the_same_serves_and_more():
    spans = [f"{number:016x}" for number in range(2000)]
    drawn = {
        rate: {span for span in spans if is_drawn(rate, "r-1", "trace", span)}
        for rate in (0.0, 0.1, 0.3, 1.0)
    }
    assert drawn[0.0] == set()
    assert drawn[0.1] < drawn[0.3] < drawn[1.0]
    assert 150 < len(drawn[0.1]) < 250
    assert len(drawn[1.0]) == 2000


def test_another_rule_draws_other_serves():
    spans = [f"{number:016x}" for number in range(100)]
    one, other = (
        [is_drawn(0.5, decision, "trace", span) for span in spans] for decision in ("r-1", "r-2")
    )
    assert one != other


@pytest.mark.parametrize(
    ("true_rate", "samples"), [(0.02, 765), (0.03, 228), (0.05, 73), (0.10, 21), (1.0, 1)]
)
def test_how_many_samples_find_a_rule_broken(true_rate, samples):
    assert samples_to_notice(true_rate, 0.01, 0.05) == samples


def test_a_rate_that_keeps_the_promise_is_never_noticed():
    with pytest.raises(ValueError, match="above the promised one"):
        samples_to_notice(0.01, 0.01, 0.05)


@pytest.mark.parametrize(
    ("samples", "per_day", "days", "rate"),
    [(765, 1000, 7, 765 / 7000), (765, 10, 7, 1.0), (765, 1e6, 7, 0.01), (765, 0, 7, 1.0)],
)
def test_the_verify_rate_follows_from_the_traffic(samples, per_day, days, rate):
    assert verify_rate(samples, per_day, days) == pytest.approx(rate)
