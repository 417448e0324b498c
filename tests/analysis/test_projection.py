"""Savings per 1,000 runs and their interval."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.projection import project


@pytest.mark.parametrize(
    ("saved", "mean", "low", "high"),
    [
        ([10] * 40, 10000, 10000, 10000),
        ([0, 20] * 20, 10000, 6377.901161, 13622.098839),
        ([i % 7 for i in range(100)], 2950, 2492.629203, 3407.370797),
        ([5] * 19, 5000, None, None),
        ([5] * 20, 5000, 5000, 5000),
        ([5] * 21, 5000, 5000, 5000),
        ([], 0, None, None),
    ],
    ids=["equal", "alternating", "sawtooth", "19 runs", "20 runs", "21 runs", "no run"],
)
def test_the_projection(saved, mean, low, high):
    projection = project(saved)
    assert projection.mean == pytest.approx(mean, abs=1e-6)
    assert (projection.low, projection.high) == pytest.approx((low, high), abs=1e-6)
    assert projection.runs == len(saved)


def test_a_saving_in_one_run_of_many_does_not_promise_less_than_nothing():
    projection = project([0] * 29 + [100])
    assert projection.low == 0
    assert projection.high > projection.mean == pytest.approx(100_000 / 30)


def test_runs_that_resemble_their_neighbours_widen_the_interval():
    mixed, sorted_ = [0, 10] * 50, [0] * 50 + [10] * 50
    assert project(sorted_).high > project(mixed).high
