"""With OpenTelemetry in the process: one context, one trace, the global provider untouched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from visceral_cli import node, tool
from visceral_cli.runtime.wrap import flush, unwrap, wrap

trace = pytest.importorskip("opentelemetry.trace", reason="opentelemetry-api not installed")
sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk not installed")


@pytest.fixture
def pipeline() -> Any:
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider, exporter
    unwrap()


def recorded(path: Path) -> dict[str, Any]:
    flush()
    lines = path.read_text().splitlines()
    spans = [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in lines]
    return {span["name"]: span for span in spans}


def test_recorded_spans_hang_between_those_of_other_libraries(pipeline, tmp_path):
    provider, exporter = pipeline
    tracer = provider.get_tracer("other")
    wrap(None, "agent", trace_file=tmp_path / "t.jsonl")

    @tool("get", readonly=True)
    def get() -> str:
        with tracer.start_as_current_span("http"):
            return "v"

    @node("step")
    def step() -> str:
        return get()

    with tracer.start_as_current_span("request") as request:
        step()
    (http, outer) = exporter.get_finished_spans()
    mine = recorded(tmp_path / "t.jsonl")
    trace_id = f"{request.get_span_context().trace_id:032x}"
    assert {span["traceId"] for span in mine.values()} == {trace_id}
    assert mine["step"]["parentSpanId"] == f"{outer.context.span_id:016x}"
    assert mine["get"]["parentSpanId"] == mine["step"]["spanId"]
    assert f"{http.parent.span_id:016x}" == mine["get"]["spanId"]
    assert not trace.get_current_span().get_span_context().is_valid


def test_spans_go_to_the_users_provider_and_the_global_one_is_untouched(pipeline):
    provider, exporter = pipeline
    before = trace.get_tracer_provider()
    wrap(None, "agent", tracer_provider=provider)
    get = tool("get", readonly=True)(lambda: "secret")
    get()
    (span,) = exporter.get_finished_spans()
    assert span.instrumentation_scope.name == "visceral"
    assert "secret" not in str(dict(span.attributes))
    assert trace.get_tracer_provider() is before


def test_an_exception_leaves_neither_message_nor_traceback(pipeline):
    provider, exporter = pipeline
    wrap(None, "agent", tracer_provider=provider)

    @tool("get", readonly=True)
    def get() -> None:
        raise ValueError("a secret")

    with pytest.raises(ValueError, match="secret"):
        get()
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description is None
    (event,) = span.events
    assert dict(event.attributes) == {
        "exception.type": "ValueError",
        "exception.escaped": "False",
    }
