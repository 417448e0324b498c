"""Bounds on a share, against worked values and against the exact binomial distribution."""

from __future__ import annotations

import subprocess
import sys
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.analysis.binomial import effective, exceeds, lower, needed, upper


@pytest.mark.parametrize(
    ("x", "n", "delta", "expected"),
    [
        (0, 298, 0.05, 0.010002),
        (0, 299, 0.05, 0.009969),
        (0, 300, 0.05, 0.009936),
        (0, 59, 0.05, 0.049508),
        (0, 30, 0.05, 0.095034),
        (0, 300, 0.01, 0.015233),
        (1, 472, 0.05, 0.010011),
        (0, 1, 0.05, 0.95),
        (1, 473, 0.05, 0.009990),
        (2, 628, 0.05, 0.009991),
        (3, 1000, 0.05, 0.007735),
        (5, 1000, 0.05, 0.010484),
        (10, 1000, 0.05, 0.016903),
        (0.5, 400, 0.05, 0.009727),
        (2.5, 512.3, 0.05, 0.013669),
        (3, 3, 0.05, 1),
        (0, 0, 0.05, 1),
        (0, 400, 0.05, 0.007461),
    ],
)
def test_the_upper_bound(x, n, delta, expected):
    assert upper(x, n, delta) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "n", "expected"),
    [
        (5, 5, 0.549280),
        (1, 100, 0.000513),
        (60, 80, 0.657815),
        (3, 10, 0.087264),
        (0, 50, 0),
        (1, 5, 0.010206),
        (1, 6, 0.008512),
        (2, 35, 0.010249),
        (2, 36, 0.009961),
        (3, 82, 0.010045),
        (3, 83, 0.009923),
        (0, 0, 0),
    ],
)
def test_the_lower_bound(x, n, expected):
    assert lower(x, n, 0.05) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "rate", "delta", "expected"),
    [
        (0, 0.01, 0.05, 299),
        (1, 0.01, 0.05, 473),
        (2, 0.01, 0.05, 628),
        (3, 0.01, 0.05, 773),
        (5, 0.01, 0.05, 1049),
        (10, 0.01, 0.05, 1693),
        (0, 0.02, 0.05, 149),
        (0, 0.05, 0.05, 59),
        (1, 0.05, 0.05, 93),
        (0, 0.005, 0.05, 598),
        (0, 0.001, 0.05, 2995),
        (0, 0.01, 0.025, 368),
        (0, 0.01, 0.01, 459),
        (0, 0.01, 0.005, 528),
        (0, 1, 0.05, 0),
    ],
)
def test_how_many_observations_are_needed(x, rate, delta, expected):
    assert needed(x, rate, delta) == expected


def test_a_share_of_zero_cannot_be_proven():
    with pytest.raises(ValueError, match="above 0"):
        needed(0, 0, 0.05)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1] * 300, 300),
        ([10] * 30, 30),
        ([100] + [1] * 300, 15.533981),
        ([5, 5, 5, 1, 1, 1, 1, 1], 5),
        ([], 0),
    ],
    ids=["300 ones", "thirty tens", "one of a hundred", "three fives", "none"],
)
def test_effective_counts(counts, expected):
    assert effective(counts) == pytest.approx(expected, abs=1e-6)


@given(
    x=st.integers(0, 30),
    more=st.integers(1, 200),
    delta=st.sampled_from([0.005, 0.05, 0.2]),
)
def test_the_upper_bound_is_where_so_few_bad_outcomes_have_the_chance_delta(x, more, delta):
    n = x + more
    p = upper(x, n, delta)
    chance = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(x + 1))
    assert chance == pytest.approx(delta, rel=1e-6)


@given(x=st.integers(0, 12), rate=st.sampled_from([0.003, 0.01, 0.1, 0.5]))
def test_one_observation_less_than_needed_is_too_few(x, rate):
    n = needed(x, rate, 0.05)
    assert upper(x, n, 0.05) <= rate < upper(x, n - 1, 0.05)


@given(
    counts=st.lists(
        st.integers(0, 90).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1
    ),
    rate=st.sampled_from([0.01, 0.05, 0.3]),
)
def test_many_shares_are_judged_as_each_one_is(counts, rate):
    x, n = np.array(counts, dtype=np.int64).T
    assert exceeds(x, n, rate, 0.05).tolist() == [lower(*each, 0.05) > rate for each in counts]


def test_clean_evidence_needs_no_scipy():
    code = (
        "import sys; from visceral_cli.analysis.binomial import upper, lower, needed;"
        "upper(0, 300, .05), lower(0, 300, .05), needed(0, .01, .05), needed(1, .01, .05);"
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
