"""Durations as people write them: ``90``, ``90s``, ``10m``, ``1.5h``, ``2d``."""

from __future__ import annotations

import math
import re

from visceral_cli.cli.wrong_value import WrongValue, kind_of

UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

_FORM = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([smhd]?)", re.ASCII)
_HINT = "write 90s, 10m, 1.5h or 2d"


def parse_duration(given: object) -> float:
    """Return seconds; a bare number is seconds. Raises ``WrongValue``."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise WrongValue(f"{kind_of(given)} is no duration", hint=_HINT)
    if isinstance(given, str):
        return _seconds_of(given)
    if not math.isfinite(given) or given < 0:
        raise WrongValue(f"{given} is no duration", hint=_HINT)
    return float(given)


def _seconds_of(text: str) -> float:
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise WrongValue(f'"{text}" is no duration', hint=_HINT)
    seconds = float(found[1]) * UNIT_SECONDS[found[2]]
    if not math.isfinite(seconds):
        raise WrongValue("the duration is too long", hint=_HINT)
    return seconds
