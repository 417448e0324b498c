"""Shares of one as people write them: ``20%`` or ``0.2``."""

from __future__ import annotations

import math

from visceral_cli.cli.wrong_value import WrongValue, kind_of

_HINT = "write 20% or 0.2"


def parse_share(given: object) -> float:
    """Return a share from 0 to 1. Raises ``WrongValue``.

    A bare ``20`` is refused: whether it means 20 % or 2,000 % is not for us to guess.
    """
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise WrongValue(f"{kind_of(given)} is no share", hint=_HINT)
    text = str(given).strip()
    percent = text.endswith("%")
    try:
        value = float(text[:-1] if percent else text)
    except ValueError:
        raise WrongValue(f'"{text}" is no share', hint=_HINT) from None
    share = value / 100 if percent else value
    if not math.isfinite(share) or share < 0:
        raise WrongValue(f"{text} is no share", hint=_HINT)
    if share > 1 and percent:
        raise WrongValue(f"{text} is above 100%")
    if share > 1:
        raise WrongValue(f"{text} is above 1", hint=f"write {text}% or {value / 100:g}")
    return share
