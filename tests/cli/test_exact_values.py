"""Limits are read exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest

from visceral_cli.cli.exact_values import exact_duration, exact_money, exact_share
from visceral_cli.cli.wrong_value import WrongValue


@pytest.mark.parametrize(
    ("given", "expected"),
    [("20%", "1/5"), ("0.1", "1/10"), (0.1, "1/10"), (1, "1"), ("33.3 %", "333/1000"), ("0", "0")],
)
def test_shares(given: object, expected: str) -> None:
    assert exact_share(given) == Fraction(expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("90", "90"), (90.1, "901/10"), ("1.5h", "5400"), (".1m", "6"), ("2 d", "172800"), (0, "0")],
)
def test_durations(given: object, expected: str) -> None:
    assert exact_duration(given) == Fraction(expected)


@pytest.mark.parametrize(("given", "expected"), [("0.0075", "3/400"), (0.3, "3/10"), (2, "2")])
def test_money(given: object, expected: str) -> None:
    assert exact_money(given) == Fraction(expected)


@pytest.mark.parametrize("given", ["20", 20, "-1%", "nan", "101%", True, None, "1e-99999999"])
def test_what_is_no_share_is_refused(given: object) -> None:
    with pytest.raises(WrongValue):
        exact_share(given)


@pytest.mark.parametrize("given", ["soon", "-1", "5 weeks", float("inf"), True, "9" * 50])
def test_what_is_no_duration_is_refused(given: object) -> None:
    with pytest.raises(WrongValue):
        exact_duration(given)
