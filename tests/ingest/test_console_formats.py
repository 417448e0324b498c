"""What the console exporters of Python, Go and JavaScript write, where it is JSON."""

import copy
from collections.abc import Callable
from typing import Any

from visceral_cli.ingest.span import ERROR, DamageKind, Event, Reading

Read = Callable[[object], Reading]

PYTHON: dict[str, Any] = {
    "name": "execute_tool get_weather",
    "context": {
        "trace_id": "0x66bf2d0088dfaad20ae81b26bfd6cb37",
        "span_id": "0x1f9d7d08e9fde721",
        "trace_state": "[]",
    },
    "kind": "SpanKind.INTERNAL",
    "parent_id": "0x5c651da52912b769",
    "start_time": "2026-11-30T16:13:14.250822Z",
    "end_time": "2026-11-30T16:13:14.250833Z",
    "status": {"status_code": "ERROR", "description": "boom"},
    "attributes": {"gen_ai.tool.name": "get_weather", "n": 2, "x": float("nan")},
    "events": [{"name": "exception", "timestamp": "2026-11-30T16:13:14Z", "attributes": {"a": 1}}],
    "links": [],
    "resource": {"attributes": {"service.name": "agent"}, "schema_url": ""},
}

GO: dict[str, Any] = {
    "Name": "DynamoDB",
    "SpanContext": {
        "TraceID": "33c3085bace9942ec8687fb4e21b2c2a",
        "SpanID": "6aad67888897a529",
        "TraceFlags": "01",
    },
    "Parent": {"TraceID": "0" * 32, "SpanID": "0" * 16},
    "SpanKind": 3,
    "StartTime": "2023-01-16T16:46:52.46368Z",
    "EndTime": "2023-01-16T16:46:52.800307738Z",
    "Attributes": [
        {"Key": "s", "Value": {"Type": "STRING", "Value": "x"}},
        {"Key": "f", "Value": {"Type": "FLOAT64", "Value": 2}},
        {"Key": "i", "Value": {"Type": "INT64", "Value": 2}},
        {"Key": "l", "Value": {"Type": "STRINGSLICE", "Value": ["a"]}},
    ],
    "Events": [{"Name": "e", "Attributes": None, "Time": "2023-01-16T16:46:52Z"}],
    "Links": None,
    "Status": {"Code": "Error", "Description": "boom"},
    "Resource": [{"Key": "service.name", "Value": {"Type": "STRING", "Value": "api"}}],
    "InstrumentationLibrary": {"Name": "otelaws", "Version": "1"},
}

JAVASCRIPT: dict[str, Any] = {
    "traceId": "94a6bec2cc7d796550361a11bd46fa42",
    "parentId": "1fa0dc69ea1f4c01",
    "name": "pg.connect",
    "id": "c7c21e557ac45c00",
    "kind": 2,
    "timestamp": 1717786639831000,
    "duration": 27172.333,
    "attributes": {"db.system": "postgresql"},
    "status": {"code": 0},
    "events": [],
    "resource": {"_attributes": {"service.name": "web"}, "asyncAttributesPending": False},
}


def test_python_is_read(reading_of: Read) -> None:
    reading = reading_of(PYTHON)
    (span,) = reading.spans
    assert span.trace_id == "66bf2d0088dfaad20ae81b26bfd6cb37"
    assert (span.span_id, span.parent_span_id) == ("1f9d7d08e9fde721", "5c651da52912b769")
    assert (span.start_ns, span.end_ns) == (1796055194250822000, 1796055194250833000)
    assert (span.kind, span.status, span.status_message) == (1, ERROR, "boom")
    assert span.attributes["n"] == 2
    assert span.attributes["x"] != span.attributes["x"]
    assert span.events == [Event("exception", {"a": 1})]
    assert span.resource.service == "agent"
    assert not reading.damage


def test_prompt_flow_keeps_its_events(reading_of: Read) -> None:
    document = PYTHON | {
        "events": [{"name": "promptflow.function.inputs", "attributes": {"payload": '{"q": 1}'}}]
    }
    (span,) = reading_of(document).spans
    assert span.events == [Event("promptflow.function.inputs", {"payload": '{"q": 1}'})]


def test_a_python_root_has_no_parent(reading_of: Read) -> None:
    assert reading_of(PYTHON | {"parent_id": None}).spans[0].parent_span_id is None


def test_go_is_read(reading_of: Read) -> None:
    reading = reading_of(GO)
    (span,) = reading.spans
    assert span.parent_span_id is None
    assert span.end_ns == 1673887612800307738
    assert span.attributes == {"s": "x", "f": 2.0, "i": 2, "l": ["a"]}
    assert isinstance(span.attributes["f"], float)
    assert (span.kind, span.status, span.scope) == (3, ERROR, "otelaws")
    assert span.resource.service == "api"
    assert span.events == [Event("e", {})]
    assert not reading.damage


def test_a_go_span_that_never_ended_has_no_end(reading_of: Read) -> None:
    reading = reading_of(GO | {"EndTime": "0001-01-01T00:00:00Z", "Attributes": None})
    assert reading.spans[0].end_ns is None
    assert not reading.damage


def test_a_go_value_of_another_type_costs_itself_only(reading_of: Read) -> None:
    document = copy.deepcopy(GO)
    document["Attributes"][0]["Value"]["Value"] = 5
    reading = reading_of(document)
    assert reading.spans[0].attributes.keys() == {"f", "i", "l"}
    assert reading.damage_counts == {DamageKind.FIELD: 1}


def test_javascript_counts_in_microseconds_and_kinds_from_zero(reading_of: Read) -> None:
    reading = reading_of(JAVASCRIPT)
    (span,) = reading.spans
    assert span.start_ns == 1717786639831000000
    assert span.end_ns == 1717786639831000000 + 27172333
    assert span.kind == 3
    assert span.parent_span_id == "1fa0dc69ea1f4c01"
    assert span.resource.service == "web"
    assert not reading.damage


def test_javascript_2_has_the_context_of_its_parent(reading_of: Read) -> None:
    document = {key: value for key, value in JAVASCRIPT.items() if key != "parentId"}
    document["parentSpanContext"] = {"traceId": JAVASCRIPT["traceId"], "spanId": "00000000000000ab"}
    assert reading_of(document).spans[0].parent_span_id == "00000000000000ab"
