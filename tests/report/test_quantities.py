from __future__ import annotations

import pytest

from visceral_cli.cli.durations import parse_duration
from visceral_cli.cli.shares import parse_share
from visceral_cli.report.quantities import (
    age_text,
    bytes_text,
    counted,
    duration_text,
    freshness_text,
    listed,
    money_text,
    rate_text,
    seconds_text,
    share_text,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.0004, "0 s"),
        (0.0005, "0 ms"),
        (0.34, "340 ms"),
        (0.9996, "1.0 s"),
        (81.94, "81.9 s"),
        (99.96, "100 s"),
        (599.4, "599 s"),
        (745.0, "12.4 min"),
        (7200.0, "2.0 h"),
        (172800.0, "2.0 days"),
        (float("nan"), "-"),
    ],
)
def test_a_time_has_about_three_digits(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(600.0, "10m"), (90.0, "90s"), (3600.0, "1h"), (172800.0, "2d"), (1.5, "1.5s"), (0.0, "0s")],
)
def test_a_duration_reads_as_the_option_it_can_be_given_to(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (600.0, "10m"),
        (3600.0, "1h"),
        (29.866032, "29.8s"),
        (898.698452, "14.9m"),
        (5400.03, "90m"),
        (1770.5, "29.5m"),
        (8000.0, "2.22h"),
        (200000.0, "2.31d"),
        (0.0012345, "0.00123s"),
        (0.0, "0s"),
    ],
)
def test_a_freshness_is_shown_rounded_down(seconds: float, text: str) -> None:
    assert freshness_text(seconds) == text
    assert parse_duration(text) <= seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(59.0, "59.0 s"), (252.0, "4m 12s"), (3600.0, "1h"), (7500.0, "2h 5m"), (90000.0, "1d 1h")],
)
def test_an_age_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (71, 312, "22.8%"),
        (0, 5, "0%"),
        (5, 5, "100%"),
        (1, 1_000_000, "<0.1%"),
        (999_999, 1_000_000, ">99.9%"),
        (1, 4, "25%"),
        (1, 0, "0%"),
    ],
)
def test_a_share_never_looks_like_nothing_or_everything_unless_it_is(
    part: float, whole: float, text: str
) -> None:
    assert share_text(part, whole) == text


def test_a_share_without_decimals_keeps_that_too() -> None:
    assert share_text(1, 1000, digits=0) == "<1%"
    assert share_text(999, 1000, digits=0) == ">99%"


@pytest.mark.parametrize(
    ("rate", "text"), [(0.01, "1%"), (0.0338, "3.38%"), (0.03381, "3.39%"), (0.4507, "45.1%")]
)
def test_a_proposed_rate_is_rounded_up_so_that_it_passes(rate: float, text: str) -> None:
    assert rate_text(rate) == text
    assert parse_share(text) >= rate


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0.42, "$0.42"),
        (1234.5, "$1,234.50"),
        (0.0042, "$0.0042"),
        (0.00001, "<$0.0001"),
        (0, "$0.00"),
    ],
)
def test_money_below_a_cent_still_says_something(usd: float, text: str) -> None:
    assert money_text(usd) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_400_000, "1.4 MB"),
        (512_000_000, "512 MB"),
        (10**13, "10.0 TB"),
    ],
)
def test_bytes_are_counted_in_thousands(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_one_is_singular() -> None:
    assert counted(1, "call") == "1 call"
    assert counted(0, "call") == "0 calls"
    assert counted(1284, "tool call") == "1,284 tool calls"
    assert counted(2, "identity", "identities") == "2 identities"


def test_counts_are_listed_most_first_then_by_name() -> None:
    assert listed({"b": 1, "a": 1, "c": 1200}) == "c 1,200, a 1, b 1"
