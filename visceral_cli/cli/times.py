"""Times as RFC 3339 has them: ``2026-05-04T12:00:00Z``."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from visceral_cli.cli.wrong_value import WrongValue, kind_of

_FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_HINT = "write an RFC 3339 time such as 2026-05-04T12:00:00Z"


def parse_time(given: object) -> int:
    """Return nanoseconds since the Unix epoch, exactly. Raises ``WrongValue``.

    A day alone is its midnight in UTC. A time without a zone is refused: the same command would
    mean another moment on another machine.
    """
    if isinstance(given, date):
        given = given.isoformat()
    if not isinstance(given, str):
        raise WrongValue(f"{kind_of(given)} is no time", hint=_HINT)
    found = _FORM.fullmatch(given.strip())
    if found is None:
        raise WrongValue(f'"{given}" is no time', hint=_HINT)
    day, clock, fraction, zone = found.groups()
    if clock is not None and zone is None:
        raise WrongValue(
            f'"{given}" has no zone', hint=f"write {day}T{clock}Z for UTC, or a zone as +02:00"
        )
    try:
        moment = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}{(zone or 'Z').upper()}")
    except ValueError:
        raise WrongValue(f'"{given}" is no time', hint=_HINT) from None
    seconds = (moment - _EPOCH) // _SECOND
    return seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
