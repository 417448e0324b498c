"""Clean OTLP JSON read by column gives the spans that it gives as objects."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from visceral_cli.ingest.otlp_json import read_by_column, read_clean
from visceral_cli.ingest.otlp_proto import read_message
from visceral_cli.ingest.span import Reading
from visceral_cli.ingest.span_columns import Shapes, SpanColumns

START_NS = 1_772_442_040_171_138_293
VALUES: list[dict[str, Any]] = [
    {"stringValue": "a"},
    {"stringValue": ""},
    {"intValue": "7"},
    {"intValue": 0},
    {"doubleValue": 0.5},
    {"boolValue": False},
    {"bytesValue": "AAE="},
    {"arrayValue": {"values": [{"stringValue": "x"}, {"intValue": "1"}]}},
    {"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}},
]


def span(number: int, **fields: Any) -> dict[str, Any]:
    keys = [f"key.{place}" for place in range(number % 4, len(VALUES))]
    made = {
        "traceId": f"{number // 5 + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "parentSpanId": [None, "", "0" * 16, f"{number:016x}"][number % 4] if number else "",
        "name": f"span {number}",
        "kind": number % 6,
        "startTimeUnixNano": str(START_NS + number),
        "endTimeUnixNano": START_NS + 2 * number,
        "attributes": [
            {"key": key, "value": value} for key, value in zip(keys, VALUES, strict=False)
        ],
        "status": {"code": number % 3, "message": "m" * (number % 2)},
    }
    return made | fields


def document(*several: list[dict[str, Any]]) -> bytes:
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {
                        "attributes": [{"key": "service.name", "value": {"stringValue": str(n)}}]
                    },
                    "scopeSpans": [
                        {"scope": {"name": f"scope {n}"}, "spans": spans},
                        {"spans": []},
                    ],
                }
                for n, spans in enumerate(several)
            ]
        }
    ).encode()


def many(count: int = 12, **fields: Any) -> list[dict[str, Any]]:
    """Spans of which the last but one is special."""
    spans = [span(number) for number in range(count)]
    spans[-2] |= fields
    return spans


def test_columns_hold_the_spans_of_all_scopes_in_order() -> None:
    whole = document(many(), many(3), many(20))
    expected, reading, columns = Reading(), Reading(), SpanColumns()
    assert read_clean(whole, expected)
    assert read_by_column(whole, reading, columns)
    assert reading.spans == []
    assert columns.spans() == expected.spans
    assert len(columns) == 35
    assert read_by_column(whole, reading, columns)
    assert columns.spans() == expected.spans * 2


@pytest.mark.parametrize(
    "special",
    [
        many(12, events=[{"name": "e"}]),
        many(12, droppedAttributesCount=1),
        many(7),
    ],
    ids=["events", "lost attributes", "few"],
)
def test_spans_that_do_not_fit_are_objects(special: list[dict[str, Any]]) -> None:
    whole = document(special)
    expected, reading, columns = Reading(), Reading(), SpanColumns()
    assert read_clean(whole, expected)
    assert read_by_column(whole, reading, columns)
    assert reading.spans == expected.spans != []
    assert len(columns) == 0


TWICE = [{"key": "a", "value": {"stringValue": "1"}}] * 2


@pytest.mark.parametrize(
    "fields",
    [
        {"traceId": "0" * 32},
        {"traceId": "g" * 32},
        {"traceId": "a" * 31},
        {"spanId": "0" * 16},
        {"spanId": "a" * 7 + "G" + "a" * 8},
        {"spanId": "A" * 16},
        {"spanId": "a" * 15},
        {"parentSpanId": "x"},
        {"kind": 6},
        {"kind": -1},
        {"status": {"code": 3}},
        {"startTimeUnixNano": "1"},
        {"endTimeUnixNano": str(2**63)},
        {"endTimeUnixNano": "now"},
        {"attributes": TWICE},
        {"attributes": [{"key": "a", "value": {"intValue": str(2**63)}}]},
        {"attributes": [{"key": "a", "value": {"intValue": "seven"}}]},
        {"attributes": [{"key": "a", "value": {}}]},
        {"attributes": [{"key": "a", "value": {"bytesValue": "?"}}]},
        {"attributes": [{"key": "a", "value": {"kvlistValue": {"values": TWICE}}}]},
        {"unknown": 1},
    ],
    ids=str,
)
def test_nothing_is_taken_of_what_is_not_clean(fields: dict[str, Any]) -> None:
    whole = document(many(), many(12, **fields))
    reading, columns = Reading(), SpanColumns()
    assert not read_clean(whole, reading)
    assert not read_by_column(whole, reading, columns)
    assert (len(columns), reading.spans) == (0, [])


@pytest.mark.parametrize(
    ("special", "fits"),
    [({}, True), ({"events": [{"name": "e"}]}, False), ({"droppedAttributesCount": 1}, False)],
    ids=["plain", "events", "lost attributes"],
)
def test_protobuf_goes_into_columns_where_all_spans_of_a_message_fit(
    special: dict[str, Any], fits: bool
) -> None:
    spans = [one | {"parentSpanId": ""} for one in many(20)]
    for one in spans:  # ids are bytes in protobuf, base64 in its own JSON
        for field in ("traceId", "spanId"):
            one[field] = base64.b64encode(bytes.fromhex(one[field])).decode()
    spans[-2] |= special
    message = ParseDict(json.loads(document(spans, spans)), TracesData()).SerializeToString()
    expected, reading, columns = Reading(), Reading(), SpanColumns()
    read_message(message, expected, seed="s")
    read_message(message, reading, seed="s", columns=columns)
    assert len(expected.spans) == 40
    told = columns.spans() if fits else reading.spans
    assert told == expected.spans
    assert len(columns) + len(reading.spans) == 40


def test_a_shape_is_one_object_and_few_are_remembered() -> None:
    shapes = Shapes()
    first = shapes.of("scope", ("a", "b"))
    assert shapes.of("scope", ("a", "b")) is first
    assert shapes.of("other", ("a", "b")) is not first
    assert shapes.of("scope", ("b", "a")) is not first
    numbered = tuple(f"key.{number}" for number in range(65))
    assert shapes.of("scope", numbered) is not shapes.of("scope", numbered)
    for number in range(1500):
        shapes.of("scope", (f"key.{number}",))
    assert shapes.of("scope", ("a", "b")) is not first


def test_each_span_has_the_shape_of_its_keys() -> None:
    shapes = Shapes()
    several = [["a", "b"], ["b", "a"], ["a", "b"], ["a"], [], *([f"key.{n}"] for n in range(12))]
    found = shapes.of_each("scope", [*several, *several])
    assert [list(shape.keys) for shape in found] == [*several, *several]
    assert found == [shapes.of("scope", tuple(keys)) for keys in [*several, *several]]
    assert shapes.of_each("other", [["a", "b"]]) != [found[0]]
    for number in range(1500):
        shapes.of("scope", (f"key.{number}",))
    assert shapes.of_each("scope", [["a", "b"]]) == [shapes.of("scope", ("a", "b"))] != [found[0]]
