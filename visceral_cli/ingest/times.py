"""Times as whole nanoseconds since the Unix epoch, however a format writes them.

Nanoseconds stay integers from the file to the row: a float holds them only to 256 ns. Times that
are missing, zero or impossible are ``None``.
"""

from __future__ import annotations

import math
import re
from datetime import date

from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.ingest.values import BadValue, integer

SHORTEST_NS = 10**15
"""A smaller number of nanoseconds (before 1970-01-12) is not a time in nanoseconds."""

SURELY_NS = 5 * SHORTEST_NS
"""From here on (1970-02-27) a number of nanoseconds is taken for one without a second look."""

_MAX_NS = 2**63 - 1
_SECOND = 10**9
_EPOCH_DAY = date(1970, 1, 1).toordinal()

_UNITS = (
    (5 * 10**8, 5 * 10**9, _SECOND, "seconds"),
    (5 * 10**11, 5 * 10**12, 10**6, "milliseconds"),
    (5 * 10**14, 5 * 10**15, 10**3, "microseconds"),
)
"""Where numbers of the years 1985 to 2128 lie, by unit: from, to, nanoseconds, name."""

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?"
    r"\s*(?:([Zz]|UTC|GMT)|([+-])(\d\d):?(\d\d)?)?(?: UTC)?",
    re.ASCII,
)
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{0,30})?", re.ASCII)


def nanoseconds(value: object, reading: Reading, field: str) -> int | None:
    """Return a time that a format defines as nanoseconds; ``field`` is its name in notes.

    Some writers put another unit into such a field. A number that makes sense in one of them only
    is read so, and noted; a number too small for any is kept as it stands, and noted.
    """
    if type(value) is int and SURELY_NS <= value <= _MAX_NS:
        return value
    if value is None or value in ("", "0", 0):
        return None
    if isinstance(value, str) and _ISO.fullmatch(value):
        return from_iso(value, reading, field)
    try:
        number = _whole(value, reading, field)
    except BadValue:
        reading.add_damage(DamageKind.FIELD, f"{field} is no number; left out")
        return None
    if number == 0:
        return None
    if number < 0 or number > _MAX_NS:
        reading.add_damage(DamageKind.FIELD, f"{field} is out of range; left out")
        return None
    return _in_likely_unit(number, reading, field)


def _whole(value: object, reading: Reading, field: str) -> int:
    if isinstance(value, float) and math.isfinite(value):
        reading.add_damage(DamageKind.FIELD, f"{field} is a float; its nanoseconds are approximate")
        return round(value)
    return integer(value)


def _in_likely_unit(number: int, reading: Reading, field: str) -> int:
    for low, high, unit, name in _UNITS[1:]:  # seconds: too near to the small numbers of tests
        if low <= number < high:
            reading.add_damage(DamageKind.FIELD, f"{field} holds {name}; read as such")
            return number * unit
    if number < SHORTEST_NS:
        reading.add_damage(
            DamageKind.FIELD, f"{field} is too small for a time of today; kept as it stands"
        )
    return number


def any_time(value: object, reading: Reading, field: str) -> int | None:
    """Return a time of which the format does not say the unit: ISO 8601, or a number since the
    epoch in the unit in which it lies between 1985 and 2128.
    """
    if value is None or value in ("", 0, "0"):
        return None
    if isinstance(value, bool):
        reading.add_damage(DamageKind.FIELD, f"{field} is no time; left out")
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return from_iso(value, reading, field)
        value = float(value) if "." in value else int(value)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        reading.add_damage(DamageKind.FIELD, f"{field} is no time; left out")
        return None
    for low, high, unit, _ in _UNITS:
        if low <= value < high:
            return value * unit if isinstance(value, int) else _scaled(value, unit)
    return nanoseconds(value, reading, field)


def scaled(value: object, unit: int, reading: Reading, field: str) -> int | None:
    """Return a number of ``unit`` nanoseconds each (1000: microseconds) in nanoseconds.

    For times and durations in formats that define their unit; absent is ``None``.
    """
    if value is None or value == "":
        return None
    if isinstance(value, float) and math.isfinite(value):
        number = _scaled(value, unit)
    else:
        try:
            number = integer(value) * unit
        except BadValue:
            reading.add_damage(DamageKind.FIELD, f"{field} is no number; left out")
            return None
    if not 0 <= number <= _MAX_NS:
        reading.add_damage(DamageKind.FIELD, f"{field} is out of range; left out")
        return None
    return number


def end_after(start_ns: int | None, duration_ns: int | None) -> int | None:
    """Return the end of what started at ``start_ns``, where both are known and in range."""
    if start_ns is None or duration_ns is None or start_ns + duration_ns > _MAX_NS:
        return None
    return start_ns + duration_ns


def _scaled(value: float, unit: int) -> int:
    """Multiply without losing what the float still holds of the fraction."""
    whole = math.floor(value)
    return whole * unit + round((value - whole) * unit)


def from_iso(text: object, reading: Reading, field: str) -> int | None:
    """Return the time in an ISO 8601 text, to the last digit; without a zone it is UTC.

    Go writes the year 1 for a time that was never set: ``None``.
    """
    found = _ISO.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        if text is not None and text != "":
            reading.add_damage(DamageKind.FIELD, f"{field} is no time; left out")
        return None
    year, month, day, hour, minute, second, fraction, _, sign, zone_hour, zone_minute = (
        found.groups()
    )
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        reading.add_damage(DamageKind.FIELD, f"{field} is no time; left out")
        return None
    seconds = days * 86_400 + int(hour) * 3600 + int(minute) * 60 + int(second or 0)
    if sign:
        offset = int(zone_hour) * 3600 + int(zone_minute or 0) * 60
        seconds -= offset if sign == "+" else -offset
    time_ns = seconds * _SECOND + int((fraction or "")[:9].ljust(9, "0"))
    if year == "0001":
        return None
    if not 0 < time_ns <= _MAX_NS:
        reading.add_damage(DamageKind.FIELD, f"{field} is out of range; left out")
        return None
    return time_ns
