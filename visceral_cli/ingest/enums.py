"""Span kinds and status codes, as number, text of a number, or name.

An unknown one is unset and noted: never an error taken for success.
"""

from __future__ import annotations

from collections.abc import Mapping

from visceral_cli.ingest.span import ERROR, OK, UNSET, DamageKind, Reading

_KINDS = {
    "UNSPECIFIED": 0,
    "INTERNAL": 1,
    "SERVER": 2,
    "CLIENT": 3,
    "PRODUCER": 4,
    "CONSUMER": 5,
}
_STATUS_CODES = {"UNSET": UNSET, "OK": OK, "ERROR": ERROR}


def span_kind(value: object, reading: Reading) -> int:
    """Return OTLP's number of a span kind: ``3``, ``"3"``, ``SPAN_KIND_CLIENT``, ``client``,
    ``SpanKind.CLIENT``.
    """
    if type(value) is int and 0 <= value <= 5:
        return value
    kind = _known_kind(value)
    if kind is None:
        reading.add_damage(DamageKind.FIELD, "kind is unknown; taken as unspecified")
    return kind or 0


def is_span_kind(value: object) -> bool:
    """Return whether ``value`` names one of OTLP's span kinds."""
    return _known_kind(value) is not None


def status_code(value: object, reading: Reading) -> int:
    """Return OTLP's number of a status code: ``2``, ``"2"``, ``STATUS_CODE_ERROR``, ``Error``."""
    if type(value) is int and 0 <= value <= 2:
        return value
    code = _number(value, _STATUS_CODES, ("STATUS_CODE_", "STATUSCODE."))
    if code is None:
        reading.add_damage(DamageKind.FIELD, "status code is unknown; taken as unset")
    return code or UNSET


def _known_kind(value: object) -> int | None:
    return _number(value, _KINDS, ("SPAN_KIND_", "SPANKIND."))


def _number(value: object, names: Mapping[str, int], prefixes: tuple[str, ...]) -> int | None:
    if value is None or value == "":
        return 0
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return int(value) if value in names.values() else None
    if not isinstance(value, str):
        return None
    name = value.strip().upper()
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    if len(name) == 1 and name in "012345":
        return int(name) if int(name) in names.values() else None
    return names.get(name)
