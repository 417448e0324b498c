"""A report as JSON: complete, versioned, in ASCII, the same bytes for the same report.

Objects with one key a line, lists of rows with one row a line, so that two reports can be compared
by line. ``report.schema.json`` beside this file describes it. NaN and infinity have no JSON and are
written ``null``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, BinaryIO

import msgspec

from visceral_cli.contract.rule import Rule, rule_to_json
from visceral_cli.report.report import REPORT_FORMAT, Report

TOOL_NAME = "visceral-cli"

_ENCODER = json.JSONEncoder(allow_nan=False)  # `json.dumps` would make one for each row


def write_json(report: Report, out: BinaryIO) -> None:
    """Write the whole report."""
    write_document(_members(report), out)


def write_document(members: Mapping[str, Any], out: BinaryIO) -> None:
    """Write JSON values: one key a line, one row a line."""
    for piece in _document(members):
        out.write(piece.encode("ascii"))


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        key: list(value) if isinstance(value, _Rows) else value
        for key, value in _members(report).items()
    }


class _Rows:
    """Rows that become JSON values one by one: of a large input there are many."""

    def __init__(self, rows: Sequence[object]) -> None:
        self._rows = rows

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return map(plain_value, self._rows)


def _members(report: Report) -> dict[str, Any]:
    calls = report.inputs.tool_calls
    return {
        "format": REPORT_FORMAT,
        "tool": {"name": TOOL_NAME, "version": report.version},
        "settings": {"scope": report.scope, "max_stale_rate": report.max_stale_rate},
        "inputs": plain_value(report.inputs) | {"copies_per_span": report.inputs.copies_per_span},
        "totals": plain_value(report.totals)
        | {"duplicate_rate": report.totals.repeats / calls if calls else 0.0},
        "funnel": plain_value(report.funnel),
        "tools": plain_value(report.tools),
        "groups": _Rows(report.groups),
        "bounds": plain_value(report.bounds),
        "savings": plain_value(report.savings) | {"by_identity": _by_identity(report)},
        "rules": plain_value(report.rules),
        "candidates": plain_value(report.candidates),
        "refusals": plain_value(report.refusals),
        "findings": plain_value(report.findings),
        "per_run": plain_value(report.per_run),
        "vary": plain_value(report.vary),
        "sharing": plain_value(report.sharing),
        "unstable": plain_value(report.unstable),
        "invalidations": plain_value(report.invalidations),
        "curves": plain_value(report.curves),
    }


def _by_identity(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "namespace": namespace,
            "tool": tool,
            "input_hash": input_hash,
            "calls": calls,
            "seconds": plain_value(seconds),
        }
        for (namespace, tool, input_hash), (calls, seconds) in sorted(
            report.savings.by_identity.items()
        )
    ]


_AS_IT_IS = frozenset({type(None), bool, int, str})


def plain_value(value: Any) -> Any:
    """Return ``value`` as JSON values: structs as objects, choices as their text."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Rule):
        return rule_to_json(value)
    return _plain_collection(value)


def _plain_collection(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return {
            name: item if type(item) in _AS_IT_IS else plain_value(item)
            for name in value.__struct_fields__
            for item in (getattr(value, name),)
        }
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain_value(item) for key, item in sorted(value.items())}
    if isinstance(value, Mapping):
        return {}  # by_identity, whose keys are tuples, is written as rows
    raise TypeError(f"no JSON for {type(value).__name__}")


def _document(document: Mapping[str, Any]) -> Iterator[str]:
    yield "{\n"
    for place, (key, value) in enumerate(document.items()):
        yield f"{',' if place else ''}{chr(10) if place else ''}  {json.dumps(key)}: "
        yield from _member(value)
    yield "\n}\n"


def _member(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for place, (key, item) in enumerate(value.items()):
            yield f"{',' if place else '{'}\n    {json.dumps(key)}: "
            yield from _rows(item, "      ") if _is_rows(item) else [_line(item)]
        yield "\n  }"
    elif _is_rows(value):
        yield from _rows(value, "    ")
    else:
        yield _line(value)


def _is_rows(value: Any) -> bool:
    if isinstance(value, _Rows):
        return bool(value)
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _rows(rows: Iterable[Any], indent: str) -> Iterator[str]:
    for place, row in enumerate(rows):
        yield f"{',' if place else '['}\n{indent}{_line(row)}"
    yield f"\n{indent[:-2]}]"


def _line(value: Any) -> str:
    if isinstance(value, _Rows):
        return "[]"  # only without rows does it stand in one line
    return _ENCODER.encode(value)
