"""Span files as an agent would have written them, and their analysis."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.report import Report
from visceral_cli.settings import Settings


@dataclass(frozen=True)
class ToolSpan:
    """One recorded call; times are seconds."""

    start: float
    arguments: object
    result: object
    tool: str = "get_order"
    run: int = 0
    end: float | None = None
    attributes: dict[str, object] = field(default_factory=dict)
    failed: bool = False
    span_id: int = 0
    """0: one is made up."""
    parent: int = 0
    """0: a root."""
    sdk: bool = False
    """Recorded by the Visceral SDK, whose declarations are among the attributes."""
    service: str = ""
    node: bool = False
    """No call: a step of the agent, or with ``sdk`` one of its ``@node`` spans."""


def _value(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}


def _attributes(span: ToolSpan) -> dict[str, object]:
    if span.node:
        return {"openinference.span.kind": "AGENT", **span.attributes}
    arguments, result = json.dumps(span.arguments), json.dumps(span.result)
    if span.sdk:
        told = {"openinference.span.kind": "TOOL", "visceral.tool.name": span.tool}
        if span.attributes.get("visceral.tool.readonly"):
            told |= {"input.value": arguments, "output.value": result}
        return told | span.attributes
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": span.tool,
        "gen_ai.tool.call.arguments": arguments,
        "gen_ai.tool.call.result": result,
        **span.attributes,
    }


def _otlp(place: int, span: ToolSpan) -> dict[str, object]:
    attributes = _attributes(span)
    start = round((1_700_000_000 + span.start) * 1e9)
    end = start if span.end is None else round((1_700_000_000 + span.end) * 1e9)
    return {
        "traceId": f"{span.run + 1:032x}",
        "spanId": f"{span.span_id or place + 1_000:016x}",
        "parentSpanId": f"{span.parent:016x}" if span.parent else "",
        "name": f"execute_tool {span.tool}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": k, "value": _value(v)} for k, v in attributes.items()],
        "status": {"code": 2 if span.failed else 0},
    }


@pytest.fixture(scope="session")
def tool_span() -> type[ToolSpan]:
    """The builder of one recorded call."""
    return ToolSpan


def _write(path: Path, spans: Iterable[ToolSpan]) -> None:
    def line(place: int, span: ToolSpan) -> str:
        scope = {"name": "visceral"} if span.sdk else {}
        scoped = {"scope": scope, "spans": [_otlp(place, span)]}
        named = {"attributes": [{"key": "service.name", "value": _value(span.service)}]}
        resource = {"resource": named} if span.service else {}
        return json.dumps({"resourceSpans": [resource | {"scopeSpans": [scoped]}]})

    lines = [line(place, span) for place, span in enumerate(spans)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def write_spans() -> Callable[[Path, Iterable[ToolSpan]], None]:
    """A function that writes spans to a file."""
    return _write


Analyze = Callable[..., Report]


@pytest.fixture
def analyze(tmp_path: Path) -> Analyze:
    """Return a function that writes spans to a file and analyses it."""

    def report_of(spans: Iterable[ToolSpan], settings: Settings | None = None) -> Report:
        path = tmp_path / "spans.jsonl"
        _write(path, spans)
        with analyze_inputs([str(path)], settings or Settings(), Silent()) as done:
            # The groups are looked up while the store is open.
            return msgspec.structs.replace(done.report, groups=tuple(done.report.groups))

    return report_of
