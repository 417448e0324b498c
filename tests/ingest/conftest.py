"""Builders of small inputs; each takes what a test is about and defaults the rest."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.read_file import read_file
from visceral_cli.ingest.span import Reading
from visceral_cli.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))  # for the modules that tests here share

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


def _otlp_span(**fields: Any) -> dict[str, Any]:
    return {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "name": "execute_tool lookup",
        "startTimeUnixNano": "1760000000000000001",
        "endTimeUnixNano": "1760000000250000001",
    } | fields


def _otlp(*spans: dict[str, Any], resource: Any = None, scope: Any = None) -> dict[str, Any]:
    scope_spans = {"scope": scope or {"name": "demo"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": resource or {}, "scopeSpans": [scope_spans]}]}


@pytest.fixture(scope="session")
def otlp_span() -> Callable[..., dict[str, Any]]:
    """One OTLP span as JSON, with other fields on request."""
    return _otlp_span


@pytest.fixture(scope="session")
def otlp() -> Callable[..., dict[str, Any]]:
    """One OTLP document around spans."""
    return _otlp


@pytest.fixture(scope="session")
def line_of() -> Callable[..., bytes]:
    """One line of OTLP JSON with one span: a number for its id, and other fields on request."""

    def build(number: int = 1, **fields: Any) -> bytes:
        span = _otlp_span(spanId=f"{number:016x}", name=f"span {number}", **fields)
        return json.dumps(_otlp(span)).encode() + b"\n"

    return build


@pytest.fixture(scope="session")
def reading_of() -> Callable[[object], Reading]:
    """What one parsed document gives."""

    def read(document: object) -> Reading:
        reading = Reading()
        read_document(document, reading, seed="test")
        return reading

    return read


@pytest.fixture
def read_bytes(tmp_path: Path) -> Callable[..., Reading]:
    """What a file with these bytes gives, all its pieces together."""

    def read(data: bytes, settings: Settings | None = None) -> Reading:
        path = tmp_path / "input"
        path.write_bytes(data)
        total = Reading()
        for reading in read_file(InputFile(path, "input", len(data)), settings or Settings()):
            total.extend(reading)
        return total

    return read
