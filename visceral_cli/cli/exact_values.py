"""The values of limits, read exactly: ``20%`` is one fifth, and no nearest binary number.

What is no share, duration or amount is refused by the readers of the other settings.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from visceral_cli.cli.durations import UNIT_SECONDS, parse_duration
from visceral_cli.cli.readers import parse_money
from visceral_cli.cli.shares import parse_share
from visceral_cli.cli.wrong_value import WrongValue

_MOST_DIGITS = 40


def exact_share(given: object) -> Fraction:
    """Return a share from 0 to 1. Raises ``WrongValue``."""
    parse_share(given)
    text = str(given).strip()
    return _exact(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def exact_duration(given: object) -> Fraction:
    """Return seconds. Raises ``WrongValue``."""
    parse_duration(given)
    text = str(given).strip()
    unit = text[-1] if text[-1:] in UNIT_SECONDS else ""
    return _exact(text.removesuffix(unit)) * UNIT_SECONDS[unit]


def exact_money(given: object) -> Fraction:
    """Return USD. Raises ``WrongValue``."""
    parse_money(given)
    return _exact(str(given))


def _exact(number: str) -> Fraction:
    decimal = Decimal(number.strip())
    if len(number) > _MOST_DIGITS or abs(decimal.adjusted()) > _MOST_DIGITS:
        raise WrongValue("more digits than a limit can have")
    return Fraction(decimal)
