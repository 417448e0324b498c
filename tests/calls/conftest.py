"""Small spans, made where a test needs them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.tool_call import CallKind, ContentMissing, ToolCall
from visceral_cli.ingest.span import Event, Resource, Span
from visceral_cli.settings import ExtractSettings

sys.path.insert(0, str(Path(__file__).parent))  # for the modules that tests here share

MILLISECOND = 1_000_000
NOON_NS = 1_772_452_800_000_000_000


@pytest.fixture(scope="session")
def span_of() -> Callable[..., Span]:
    """A function that makes a span; times are milliseconds after noon."""

    def make(
        attributes: Mapping[str, object],
        *,
        name: str = "a span",
        scope: str = "",
        status: int = 0,
        events: tuple[tuple[str, dict[str, object]], ...] = (),
        kind: int = 1,
        start_ms: float = 0,
        end_ms: float = 100,
        trace: str = "trace-1",
        span: str = "span-1",
        parent: str | None = None,
        resource: Mapping[str, object] | None = None,
        dropped: int = 0,
    ) -> Span:
        return Span(
            trace,
            span,
            parent,
            name,
            NOON_NS + int(start_ms * MILLISECOND),
            NOON_NS + int(end_ms * MILLISECOND),
            dict(attributes),
            Resource(dict(resource or {"service.name": "agent"})),
            kind,
            status,
            "",
            [Event(event, fields) for event, fields in events],
            scope,
            dropped,
        )

    return make


@pytest.fixture
def calls_of(span_of: Callable[..., Span]) -> Callable[..., list[ToolCall]]:
    """A function that makes a span and returns the calls it tells of."""

    def extract(
        attributes: Mapping[str, object], settings: ExtractSettings | None = None, **fields: Any
    ) -> list[ToolCall]:
        return Extractor(settings or ExtractSettings()).calls(span_of(attributes, **fields))

    return extract


@pytest.fixture
def call_of(calls_of: Callable[..., list[ToolCall]]) -> Callable[..., ToolCall]:
    """A function that makes a span and returns its one call."""

    def extract(*args: Any, **fields: Any) -> ToolCall:
        (call,) = calls_of(*args, **fields)
        return call

    return extract


@pytest.fixture(scope="session")
def recorded() -> Callable[..., ToolCall]:
    """A function that makes a call record; times are milliseconds after noon."""

    def make(
        span: str,
        *,
        tool: str = "search",
        start_ms: float | None = 0,
        end_ms: float | None = 100,
        arguments: str | None = '{"q":"a"}',
        trace: str = "trace-1",
        position: int = 0,
        **fields: Any,
    ) -> ToolCall:
        call = ToolCall(
            trace,
            span,
            None,
            position,
            tool,
            CallKind.TOOL,
            "otel-genai",
            None if start_ms is None else NOON_NS + int(start_ms * MILLISECOND),
            None if end_ms is None else NOON_NS + int(end_ms * MILLISECOND),
            False,
            "agent",
        )
        call.arguments = arguments
        call.input_hash = arguments and f"hash of {tool}{arguments}"
        for field, value in fields.items():
            setattr(call, field, value)
        if call.content_hash is None and call.content_missing is None:
            call.content_missing = (
                ContentMissing.FAILED if call.failed else ContentMissing.NOT_CAPTURED
            )
        return call

    return make
