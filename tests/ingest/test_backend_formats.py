"""What Jaeger, Langfuse, Phoenix, MLflow and the stdout envelope hold."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from visceral_cli.ingest.span import ERROR, UNSET, DamageKind, Event, Reading

Read = Callable[[object], Reading]
Build = Callable[..., dict[str, Any]]

TRACE_ID = "3e289017fe03ffd7c4145316d2eb3d0d"


def jaeger_span(*tags: tuple[str, str, object], **fields: Any) -> dict[str, Any]:
    return {
        "traceID": TRACE_ID,
        "spanID": "75cdce51ad52a7c8",
        "operationName": "execute_tool list",
        "references": [
            {"refType": "FOLLOWS_FROM", "traceID": TRACE_ID, "spanID": "1111111111111111"},
            {"refType": "CHILD_OF", "traceID": TRACE_ID, "spanID": "e37fdd8f56146d31"},
        ],
        "startTime": 1771237536879614,
        "duration": 57091,
        "tags": [{"key": key, "type": kind, "value": value} for key, kind, value in tags],
        "logs": [],
        "processID": "p1",
    } | fields


def jaeger(*spans: dict[str, Any]) -> dict[str, Any]:
    process = {"serviceName": "agent", "tags": [{"key": "h", "type": "string", "value": "x"}]}
    return {
        "data": [{"traceID": TRACE_ID, "spans": list(spans), "processes": {"p1": process}}],
        "total": 0,
        "errors": None,
    }


def test_jaeger_is_read(reading_of: Read) -> None:
    span = jaeger_span(
        ("span.kind", "string", "client"),
        ("n", "int64", "7"),
        ("m", "int64", 7),
        ("f", "float64", 2),
        ("b", "bool", True),
        ("otel.scope.name", "string", "scope"),
        ("error", "bool", True),
        ("otel.status_description", "string", "boom"),
        logs=[{"timestamp": 1, "fields": [{"key": "event", "type": "string", "value": "e"}]}],
    )
    reading = reading_of(jaeger(span))
    (found,) = reading.spans
    assert (found.start_ns, found.end_ns) == (1771237536879614000, 1771237536936705000)
    assert found.parent_span_id == "e37fdd8f56146d31"
    assert (found.kind, found.status, found.status_message) == (3, ERROR, "boom")
    assert (found.attributes["n"], found.attributes["m"], found.attributes["f"]) == (7, 7, 2.0)
    assert found.scope == "scope"
    assert found.resource.attributes == {"h": "x", "service.name": "agent"}
    assert found.events == [Event("e", {})]
    assert not reading.damage


def test_a_jaeger_span_alone_on_a_line_is_read(reading_of: Read) -> None:
    span = jaeger_span(process={"serviceName": "alone", "tags": []})
    assert reading_of(span).spans[0].resource.service == "alone"


@pytest.mark.parametrize(
    ("tag", "status"),
    [
        (("error", "bool", False), UNSET),
        (("error", "string", "true"), ERROR),
        (("otel.status_code", "string", "ERROR"), ERROR),
    ],
)
def test_the_status_of_jaeger_is_in_its_tags(
    reading_of: Read, tag: tuple[str, str, object], status: int
) -> None:
    assert reading_of(jaeger(jaeger_span(tag))).spans[0].status == status


def test_a_bad_jaeger_tag_costs_itself_only(reading_of: Read) -> None:
    reading = reading_of(jaeger(jaeger_span(("n", "int64", "x"), ("m", "int64", 1))))
    assert reading.spans[0].attributes == {"m": 1}
    assert reading.damage_counts == {DamageKind.FIELD: 1}


def langfuse_observation(**fields: Any) -> dict[str, Any]:
    return {
        "id": "1b7200380e3316e7",
        "traceId": "dff173a675b759ce1b70e522b27d6846",
        "parentObservationId": None,
        "type": "TOOL",
        "name": "get_weather",
        "startTime": "2025-08-26T19:40:59.145Z",
        "endTime": "2025-08-26T19:41:04.988Z",
        "level": "DEFAULT",
        "statusMessage": None,
        "input": {"city": "Oslo", "n": 12345678901234567890123},
        "output": "sunny",
        "metadata": {
            "attributes": {"gen_ai.tool.name": "get_weather"},
            "resourceAttributes": {"service.name": "agent"},
            "scope": {"name": "scope"},
            "thread_id": "t-1",
        },
    } | fields


def test_a_langfuse_export_is_read(reading_of: Read) -> None:
    trace = {"id": "x", "sessionId": "s-1", "userId": None}
    reading = reading_of({"trace": trace, "observations": [langfuse_observation()]})
    (span,) = reading.spans
    assert span.attributes == {
        "gen_ai.tool.name": "get_weather",
        "session.id": "s-1",
        "langfuse.observation.type": "tool",
        "langfuse.observation.level": "DEFAULT",
        "langfuse.observation.input": {"city": "Oslo", "n": 12345678901234567890123},
        "langfuse.observation.output": "sunny",
        "langfuse.observation.metadata.thread_id": "t-1",
    }
    assert (span.start_ns, span.end_ns) == (1756237259145000000, 1756237264988000000)
    assert (span.scope, span.resource.service, span.status) == ("scope", "agent", UNSET)
    assert not reading.damage


def test_langfuse_metadata_may_be_a_text(reading_of: Read) -> None:
    observation = langfuse_observation()
    as_text = observation | {"metadata": json.dumps(observation["metadata"])}
    assert reading_of(as_text).spans == reading_of(observation).spans


def test_a_langfuse_blob_export_has_times_without_a_zone(reading_of: Read) -> None:
    line = {
        "id": "1b7200380e3316e7",
        "trace_id": "dff173a675b759ce1b70e522b27d6846",
        "parent_observation_id": "00000000000000aa",
        "type": "TOOL",
        "name": "t",
        "start_time": "2025-08-26 19:40:59.145000",
        "end_time": "2025-08-26 19:41:04.988000",
        "level": "ERROR",
        "status_message": "boom",
    }
    (span,) = reading_of(line).spans
    assert span.start_ns == 1756237259145000000
    assert (span.parent_span_id, span.status) == ("00000000000000aa", ERROR)
    assert span.status_message == "boom"


PHOENIX_ROW = {
    "name": "search",
    "span_kind": "TOOL",
    "parent_id": None,
    "start_time": "2025-01-01T00:00:00.000001+00:00",
    "end_time": "2025-01-01T00:00:01+00:00",
    "status_code": "OK",
    "status_message": "",
    "events": [],
    "context.span_id": "75cdce51ad52a7c8",
    "context.trace_id": TRACE_ID,
    "attributes.input.value": '{"q": 1}',
    "attributes.tool.name": "search",
    "attributes.llm.model_name": None,
}


def test_a_phoenix_row_is_read(reading_of: Read) -> None:
    reading = reading_of(PHOENIX_ROW)
    (span,) = reading.spans
    assert span.attributes == {
        "input.value": '{"q": 1}',
        "tool.name": "search",
        "openinference.span.kind": "TOOL",
    }
    assert span.start_ns == 1735689600000001000
    assert (span.trace_id, span.status) == (TRACE_ID, 1)
    assert not reading.damage


def test_a_phoenix_rest_span_gives_the_same(reading_of: Read) -> None:
    rest = {key: value for key, value in PHOENIX_ROW.items() if "." not in key} | {
        "id": "internal",
        "context": {"span_id": "75cdce51ad52a7c8", "trace_id": TRACE_ID},
        "attributes": {"input": {"value": '{"q": 1}'}, "tool.name": "search"},
    }
    assert reading_of({"data": [rest], "next_cursor": None}).spans == reading_of(PHOENIX_ROW).spans


def test_what_phoenix_parsed_is_one_value(reading_of: Read) -> None:
    row = PHOENIX_ROW | {"attributes": {"tool": {"parameters": {"a": {"b": 1}}}, "x": {"y": 2}}}
    attributes = reading_of(row).spans[0].attributes
    assert attributes["tool.parameters"] == {"a": {"b": 1}}
    assert attributes["x.y"] == 2


def test_both_forms_of_mlflow_are_read(reading_of: Read) -> None:
    attributes = {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"a": 1}'}
    old = {
        "name": "t",
        "context": {"trace_id": "0x" + TRACE_ID, "span_id": "0x75cdce51ad52a7c8"},
        "parent_id": None,
        "start_time": 1735689600000001000,
        "end_time": 1735689601000000000,
        "status_code": "ERROR",
        "status_message": "boom",
        "attributes": attributes,
        "events": [],
    }
    new = {
        "name": "t",
        "trace_id": base64.b64encode(bytes.fromhex(TRACE_ID)).decode(),
        "span_id": base64.b64encode(bytes.fromhex("75cdce51ad52a7c8")).decode(),
        "parent_span_id": "",
        "start_time_unix_nano": 1735689600000001000,
        "end_time_unix_nano": 1735689601000000000,
        "status": {"code": "STATUS_CODE_ERROR", "message": "boom"},
        "attributes": attributes,
        "events": [],
    }
    info = {"trace_id": "tr-1", "trace_metadata": {"mlflow.trace.session": "s-1", "other": "x"}}
    one, two = reading_of({"info": info, "data": {"spans": [old, new]}}).spans
    assert one == two
    assert one.status == ERROR
    assert one.attributes == {"mlflow.trace.session": "s-1"} | attributes


def envelope(payload: bytes, **fields: Any) -> dict[str, Any]:
    return {
        "__otel_otlp_stdout": "0.2.2",
        "source": "my-function",
        "endpoint": "http://localhost:4318/v1/traces",
        "method": "POST",
        "content-type": "application/x-protobuf",
        "content-encoding": "gzip",
        "headers": {"authorization": "Bearer secret"},
        "payload": base64.b64encode(gzip.compress(payload)).decode(),
        "base64": True,
    } | fields


def test_the_payload_of_an_envelope_is_read(reading_of: Read) -> None:
    message = TracesData()
    span = message.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = bytes(range(16)), bytes(range(8)), "n"
    span.start_time_unix_nano = span.end_time_unix_nano = 1760000000000000001
    reading = reading_of(envelope(message.SerializeToString()))
    assert [one.span_id for one in reading.spans] == ["0001020304050607"]


def test_an_envelope_may_hold_json(reading_of: Read, otlp: Build, otlp_span: Build) -> None:
    document = json.dumps(otlp(otlp_span()))
    packed = envelope(document.encode(), **{"content-type": "application/json"})
    plain = packed | {"payload": document, "base64": False, "content-encoding": None}
    assert len(reading_of(packed).spans) == len(reading_of(plain).spans) == 1


@pytest.mark.parametrize("payload", ["!", "AAAA", None, 5])
def test_a_damaged_envelope_is_noted_without_its_headers(reading_of: Read, payload: object) -> None:
    reading = reading_of(envelope(b"") | {"payload": payload})
    assert reading.damage_counts == {DamageKind.COMPRESSION: 1}
    assert "secret" not in reading.damage[0].what
