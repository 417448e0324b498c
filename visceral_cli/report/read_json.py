"""A saved JSON report back into a ``Report``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from visceral_cli.analysis.figures import (
    Finding,
    FunnelStep,
    GroupFigures,
    InvalidationFigures,
    Savings,
    SharingFigures,
    ToolFigures,
    UnstableFigures,
    VaryFigures,
)
from visceral_cli.analysis.run_rates import RunFigures
from visceral_cli.contract.rule import Rule, rule_from_json
from visceral_cli.errors import InputError
from visceral_cli.report.report import (
    REPORT_FORMAT,
    BoundFigures,
    Inputs,
    Report,
    ToolCurve,
    Totals,
)
from visceral_cli.rules.refusal import Refusal

T = TypeVar("T")


_FIRST_KEY = re.compile(rb'\s*\{\s*"(\w+)"\s*:')
_FIRST_KEYS = (b"format", b"bounds")
"""With which a report begins, as it was written or with its keys in order."""


def is_report(path: Path) -> bool:
    """Return whether a file looks like a saved report, and not like traces.

    A pipe can be read only once, and is taken for traces.
    """
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            found = _FIRST_KEY.match(file.read(200))
    except OSError:
        return False
    return found is not None and found[1] in _FIRST_KEYS


def read_report(path: Path) -> Report:
    """Return the report in a file.

    Raises:
        InputError: the file cannot be read, is no JSON report, or one of a newer format.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise InputError(f"{path}: {reason}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON", hint="visceral analyze --json writes one") from None
    try:
        return report_from_json(document)
    except InputError as error:
        raise InputError(f"{path}: {error}", hint=error.hint) from None


def report_from_json(document: object) -> Report:
    """Return the report of a JSON value; keys of later versions of the same format are ignored.

    Raises:
        InputError: it is no report, or one of a newer format; the wrong place is named.
    """
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise InputError("no visceral report", hint="visceral analyze --json writes one")
    if document["format"] != REPORT_FORMAT:
        raise InputError(
            f"a report of format {document['format']}, but this version reads {REPORT_FORMAT}",
            hint="make the report again with this version, or install a newer visceral-cli",
        )
    tool, settings = _part(document, "tool", dict), _part(document, "settings", dict)
    return Report(
        version=_part(tool, "version", str),
        scope=_part(settings, "scope", str),
        max_stale_rate=_part(settings, "max_stale_rate", float),
        inputs=_part(document, "inputs", Inputs),
        totals=_part(document, "totals", Totals),
        funnel=_part(document, "funnel", tuple[FunnelStep, ...]),
        tools=_part(document, "tools", tuple[ToolFigures, ...]),
        groups=_part(document, "groups", tuple[GroupFigures, ...]),
        bounds=_part(document, "bounds", tuple[BoundFigures, ...]),
        savings=_savings(document),
        rules=tuple(_rule(value) for value in _part(document, "rules", list)),
        refusals=_part(document, "refusals", tuple[Refusal, ...]),
        findings=_part(document, "findings", tuple[Finding, ...]),
        candidates=tuple(_rule(value) for value in _part(document, "candidates", list)),
        per_run=_part({"per_run": []} | document, "per_run", tuple[RunFigures, ...]),
        sharing=_later_part(document, "sharing", tuple[SharingFigures, ...], ()),
        unstable=_later_part(document, "unstable", tuple[UnstableFigures, ...], ()),
        invalidations=_later_part(document, "invalidations", tuple[InvalidationFigures, ...], ()),
        vary=_later_part(document, "vary", tuple[VaryFigures, ...], ()),
        curves=_later_part(document, "curves", tuple[ToolCurve, ...], ()),
    )


def _part(document: dict[str, Any], key: str, kind: type[T]) -> T:
    if key not in document:
        raise InputError(f'a report without "{key}"')
    try:
        return msgspec.convert(document[key], kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{key}: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _later_part(document: dict[str, Any], key: str, kind: type[T], missing: T) -> T:
    """Return a part that reports of earlier versions do not have."""
    return _part(document, key, kind) if key in document else missing


class _Saved(msgspec.Struct):
    """One row of ``savings.by_identity``."""

    namespace: str
    tool: str
    input_hash: str
    calls: int
    seconds: float


def _savings(document: dict[str, Any]) -> Savings:
    found = dict(_part(document, "savings", dict))
    saved = _part(found, "by_identity", list[_Saved])
    by_identity = {(s.namespace, s.tool, s.input_hash): (s.calls, s.seconds) for s in saved}
    figures = _part({"savings": found | {"by_identity": {}}}, "savings", Savings)
    return replace(figures, by_identity=by_identity)


def _rule(value: object) -> Rule:
    rule = rule_from_json(value)
    if rule is None:
        raise InputError("rules: a member that is no rule about a tool")
    return rule
