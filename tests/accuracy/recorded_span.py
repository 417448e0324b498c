"""How each instrumentation writes one tool call, and spans as files: the input side of the truth.

Written apart from the package on purpose: what is tested here is not what makes the input.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(slots=True)
class RecordedSpan:
    """One span; attribute values are Python values, a dict stands for a kvlist."""

    service: str
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any] = field(default_factory=dict)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    failed: bool = False
    scope: str = ""


@dataclass(slots=True)
class Content:
    """What a call says of itself; ``None``: the span does not say."""

    tool: str
    call_id: str
    arguments: object
    result: object
    rng: random.Random

    def arguments_text(self) -> str:
        """JSON of the arguments, keys in any order, spaces or not."""
        return loose_json(self.arguments, self.rng)

    def result_text(self) -> str:
        """JSON of the result, likewise."""
        return loose_json(self.result, self.rng)

    def message_text(self) -> str:
        """The result as a message to a model holds it: JSON, but a text as it is."""
        return self.result if isinstance(self.result, str) else self.result_text()


def loose_json(value: object, rng: random.Random) -> str:
    """JSON of ``value`` in one of the spellings that mean the same."""
    separators = rng.choice([(",", ":"), (", ", ": ")])
    return json.dumps(_shuffled(value, rng), separators=separators, ensure_ascii=rng.random() < 0.5)


def _shuffled(value: object, rng: random.Random) -> object:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: _shuffled(value[key], rng) for key in keys}
    if isinstance(value, list):
        return [_shuffled(item, rng) for item in value]
    return value


Written = tuple[str, dict[str, Any], list[tuple[str, dict[str, Any]]]]
"""Span name, attributes, events."""


def genai(content: Content) -> Written:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": content.tool,
        "gen_ai.tool.call.id": content.call_id,
    }
    if content.arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = content.arguments_text()
    if content.result is not None:
        attributes["gen_ai.tool.call.result"] = content.result_text()
    return f"execute_tool {content.tool}", attributes, []


def genai_structured(content: Content) -> Written:
    name, attributes, events = genai(content)
    if isinstance(content.arguments, dict):
        attributes["gen_ai.tool.call.arguments"] = _shuffled(content.arguments, content.rng)
    if isinstance(content.result, dict):
        attributes["gen_ai.tool.call.result"] = _shuffled(content.result, content.rng)
    return name, attributes, events


def genai_events(content: Content) -> Written:
    """Strands: arguments and result stand in span events."""
    _, attributes, _ = genai(Content(content.tool, content.call_id, None, None, content.rng))
    events = []
    if content.arguments is not None:
        asked = {"role": "tool", "content": content.arguments_text(), "id": content.call_id}
        events.append(("gen_ai.tool.message", asked))
    if content.result is not None:
        message = json.dumps([{"text": content.message_text()}])
        events.append(("gen_ai.choice", {"message": message, "id": content.call_id}))
    return f"execute_tool {content.tool}", attributes, events


def openinference(content: Content) -> Written:
    attributes: dict[str, Any] = {
        "openinference.span.kind": "TOOL",
        "tool.name": content.tool,
        "session.id": f"s-{content.call_id}",
    }
    if content.arguments is not None:
        attributes |= {
            "input.value": content.arguments_text(),
            "input.mime_type": "application/json",
        }
    if content.result is not None:
        attributes |= {
            "output.value": content.result_text(),
            "output.mime_type": "application/json",
        }
    return content.tool, attributes, []


def langgraph_message(content: Content) -> Written:
    """OpenInference over LangGraph: the result is inside a message with a new id each time."""
    name, attributes, events = openinference(content)
    if content.result is not None:
        message = {
            "content": content.message_text(),
            "tool_call_id": content.call_id,
            "name": content.tool,
            "status": "success",
        }
        attributes["output.value"] = json.dumps({"type": "tool", "data": message})
    return name, attributes, events


def traceloop(content: Content) -> Written:
    attributes: dict[str, Any] = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": content.tool,
        "traceloop.workflow.name": "desk",
    }
    if content.arguments is not None:
        attributes["traceloop.entity.input"] = loose_json(
            {"args": [], "kwargs": content.arguments}, content.rng
        )
    if content.result is not None:
        attributes["traceloop.entity.output"] = content.result_text()
    return f"{content.tool}.tool", attributes, []


def vercel(content: Content) -> Written:
    attributes: dict[str, Any] = {
        "operation.name": "ai.toolCall",
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": content.tool,
        "ai.toolCall.id": content.call_id,
    }
    if content.arguments is not None:
        attributes["ai.toolCall.args"] = content.arguments_text()
    if content.result is not None:
        attributes["ai.toolCall.result"] = content.result_text()
    return "ai.toolCall", attributes, []


def langfuse(content: Content) -> Written:
    attributes: dict[str, Any] = {"langfuse.observation.type": "tool"}
    if content.arguments is not None:
        attributes["langfuse.observation.input"] = loose_json(
            {"args": [], "kwargs": content.arguments}, content.rng
        )
    if content.result is not None:
        attributes["langfuse.observation.output"] = content.result_text()
    return content.tool, attributes, []


def mlflow(content: Content) -> Written:
    """MLflow: every attribute value is JSON text."""
    attributes: dict[str, Any] = {"mlflow.spanType": '"TOOL"'}
    if content.arguments is not None:
        attributes["mlflow.spanInputs"] = content.arguments_text()
    if content.result is not None:
        attributes["mlflow.spanOutputs"] = content.result_text()
    return content.tool, attributes, []


def visceral(content: Content) -> Written:
    attributes: dict[str, Any] = {
        "openinference.span.kind": "TOOL",
        "visceral.tool.name": content.tool,
        "tool.name": content.tool,
        "visceral.tool.readonly": True,
        "visceral.tool.replay_safe": True,
    }
    if content.arguments is not None:
        attributes |= {
            "visceral.tool.input_hash": input_hash(content.tool, content.arguments),
            "visceral.tool.hash_v": 1,
            "input.value": _canonical(content.arguments),
        }
    if content.result is not None:
        attributes["output.value"] = _canonical(content.result)
    return content.tool, attributes, []


def visceral_writer(content: Content) -> Written:
    """A declared writer records neither arguments nor result."""
    bare = Content(content.tool, content.call_id, None, None, content.rng)
    name, attributes, events = visceral(bare)
    attributes |= {"visceral.tool.readonly": False, "visceral.tool.replay_safe": False}
    return name, attributes, events


CONVENTIONS: dict[str, Callable[[Content], Written]] = {
    convention.__name__: convention
    for convention in (
        genai,
        genai_structured,
        genai_events,
        openinference,
        langgraph_message,
        traceloop,
        vercel,
        langfuse,
        mlflow,
        visceral,
    )
}


SCOPES = {
    "genai_events": "strands.telemetry.tracer",
    "langgraph_message": "openinference.instrumentation.langchain",
    "traceloop": "traceloop.tracer",
    "vercel": "ai",
    "langfuse": "langfuse-sdk",
    "mlflow": "mlflow.tracing.provider",
    "visceral": "visceral",
}
"""The instrumentation scope, where the package that writes such spans names itself."""


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def input_hash(tool: str, arguments: object) -> str:
    """The identity of a call by contract version 1, without a version and ``vary``."""
    text = _canonical({"args": arguments, "tool": tool, "version": None})
    return hashlib.sha256(text.encode()).hexdigest()


# --- files -----------------------------------------------------------------------------------


def _json_value(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_json_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _json_attributes(value)}}
    return {}


def _json_attributes(attributes: dict[str, Any]) -> list[object]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes.items()]


def _json_span(span: RecordedSpan) -> dict[str, object]:
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_id,
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _json_attributes(span.attributes),
        "events": [
            {"name": name, "attributes": _json_attributes(attributes)}
            for name, attributes in span.events
        ],
        "status": {"code": 2} if span.failed else {},
    }


Origin = tuple[str, str]
"""Service and scope."""


def by_origin(spans: Sequence[RecordedSpan]) -> dict[Origin, list[RecordedSpan]]:
    """Spans of each service and scope, in the order given."""
    origins: dict[Origin, list[RecordedSpan]] = {}
    for span in spans:
        origins.setdefault((span.service, span.scope), []).append(span)
    return origins


def as_json_line(spans: Sequence[RecordedSpan]) -> bytes:
    """One line of OTLP JSON."""
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": _json_attributes({"service.name": service})},
                "scopeSpans": [
                    {"scope": {"name": scope}, "spans": [_json_span(span) for span in group]}
                ],
            }
            for (service, scope), group in by_origin(spans).items()
        ]
    }
    return json.dumps(document).encode() + b"\n"


def _set_value(target: AnyValue, value: object) -> None:
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, list):
        target.array_value.SetInParent()
        for item in value:
            _set_value(target.array_value.values.add(), item)
    elif isinstance(value, dict):
        target.kvlist_value.SetInParent()
        for key, item in value.items():
            _set_value(target.kvlist_value.values.add(key=key).value, item)


def as_message(spans: Sequence[RecordedSpan]) -> bytes:
    """One length-prefixed protobuf message."""
    request = ExportTraceServiceRequest()
    for (service, scope), group in by_origin(spans).items():
        resource_spans = request.resource_spans.add()
        _set_value(resource_spans.resource.attributes.add(key="service.name").value, service)
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.scope.name = scope
        for span in group:
            made = scope_spans.spans.add(
                trace_id=bytes.fromhex(span.trace_id),
                span_id=bytes.fromhex(span.span_id),
                parent_span_id=bytes.fromhex(span.parent_id),
                name=span.name,
                kind=1,
                start_time_unix_nano=span.start_ns,
                end_time_unix_nano=span.end_ns,
            )
            for key, value in span.attributes.items():
                _set_value(made.attributes.add(key=key).value, value)
            for name, attributes in span.events:
                event = made.events.add(name=name)
                for key, value in attributes.items():
                    _set_value(event.attributes.add(key=key).value, value)
            if span.failed:
                made.status.code = 2
    message = request.SerializeToString()
    return len(message).to_bytes(4, "big") + message


def as_file(spans: Sequence[RecordedSpan], kind: str, batch: int) -> bytes:
    """A file of kind ``json``, ``json.gz`` or ``proto``, with ``batch`` spans a line or message."""
    batches = [spans[at : at + batch] for at in range(0, len(spans), batch)]
    if kind == "proto":
        return b"".join(as_message(group) for group in batches)
    data = b"".join(as_json_line(group) for group in batches)
    return gzip.compress(data) if kind == "json.gz" else data
