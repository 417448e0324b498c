"""Spans read column by column are what they are read one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, TracesData
from otlp_encodings import NS, TRACE, VALUES, json_value, set_value

from visceral_cli.ingest import otlp_proto, proto_shapes
from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.otlp_proto import read_message
from visceral_cli.ingest.proto_columns import spans_by_column
from visceral_cli.ingest.proto_messages import LeanTracesData, TracesColumns
from visceral_cli.ingest.proto_shapes import Odd
from visceral_cli.ingest.span import DamageKind, Reading, Resource, Span

Attributes = dict[str, Any]

MANY = 12
"""Spans in a scope that are read column by column."""

KEYS = ("a", "b", "ü", "k" * 130)


def message_of(*spans: Attributes) -> tuple[TracesData, ScopeSpans]:
    """Return a message of spans with these attributes, and its scope."""
    message = TracesData()
    scope = message.resource_spans.add().scope_spans.add()
    for number, attributes in enumerate(spans, start=1):
        span = scope.spans.add(
            trace_id=TRACE,
            span_id=number.to_bytes(8, "big"),
            parent_span_id=bytes(7) + b"\x01" if number > 1 else b"",
            name=f"span {number}",
            kind=1,
            start_time_unix_nano=NS,
            end_time_unix_nano=NS + number,
        )
        for key, value in attributes.items():
            pair = span.attributes.add(key=key)
            set_value(pair.value, value)
    return message, scope


def read(data: bytes) -> Reading:
    reading = Reading()
    read_message(data, reading, seed="x")
    return reading


def by_column(message: TracesData) -> list[Span]:
    data = message.SerializeToString()
    spans = LeanTracesData.FromString(data).resource_spans[0].scope_spans[0].spans[:]
    columns = TracesColumns.FromString(data).resource_spans[0].scope_spans[0].spans
    return spans_by_column(spans, columns, Resource({}), "").objects()


@contextmanager
def one_by_one() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp_proto, "_ENOUGH", 10**9)
        yield


def read_one_by_one(data: bytes) -> Reading:
    with one_by_one():
        return read(data)


@pytest.fixture(autouse=True)
def no_shape_known() -> None:
    proto_shapes._shapes.clear()


ATTRIBUTES = st.lists(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), min_size=1, max_size=4
).flatmap(lambda kinds: st.lists(st.sampled_from(kinds), min_size=MANY, max_size=20))
"""Attributes of many spans, of which many are alike."""


@given(ATTRIBUTES)
def test_protobuf_and_json_of_many_spans_give_the_same(spans: list[Attributes]) -> None:
    message, scope = message_of(*spans)
    documents = [
        {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parentSpanId": span.parent_span_id.hex(),
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": str(span.start_time_unix_nano),
            "endTimeUnixNano": str(span.end_time_unix_nano),
            "attributes": [
                {"key": key, "value": json_value(value)} for key, value in attributes.items()
            ],
        }
        for span, attributes in zip(scope.spans, spans, strict=True)
    ]
    from_json = Reading()
    read_document({"resourceSpans": [{"scopeSpans": [{"spans": documents}]}]}, from_json, seed="x")
    from_proto = read(message.SerializeToString())
    assert from_proto.spans == from_json.spans
    assert [list(span.attributes) for span in from_proto.spans] == [list(one) for one in spans]
    assert from_proto.damage_counts == from_json.damage_counts


OF_EVERY_KIND: Attributes = {
    "text": "t",
    "integer": 300,
    "yes": True,
    "no": False,
    "number": 0.5,
    "negative": -1,
    "list": ["a", 1],
    "kvlist": {"a": 1},
    "bytes": b"x",
    "none": None,
    "empty": "",
    "zero": 0,
    "last": "z",
}


def test_values_of_every_kind_are_put_at_their_places() -> None:
    spans: list[Attributes] = [
        OF_EVERY_KIND | {"integer": 7**number, "last": str(number)} for number in range(MANY)
    ]
    message, _ = message_of(*spans)
    for _ in range(2):  # the second time all shapes are known
        found = [span.attributes for span in by_column(message)]
        assert found == spans
        assert [list(map(type, one.values())) for one in found] == [
            list(map(type, one.values())) for one in spans
        ]


def test_what_only_some_spans_have_is_read() -> None:
    message, scope = message_of(*[{"k": "v"}] * MANY)
    scope.spans[2].status.code, scope.spans[2].status.message = 2, "failed"
    scope.spans[3].status.SetInParent()
    scope.spans[4].kind = 0
    scope.spans[5].name = ""
    scope.spans[6].dropped_attributes_count = 3
    scope.spans[7].events.add(name="e").attributes.add(key="k").value.int_value = 1
    scope.spans[8].parent_span_id = bytes(8)
    spans = by_column(message)
    assert spans == read_one_by_one(message.SerializeToString()).spans
    assert (spans[2].status, spans[2].status_message) == (2, "failed")
    assert [span.kind for span in spans[3:6]] == [1, 0, 1]
    assert [span.name for span in spans[4:7]] == ["span 5", "", "span 7"]
    assert [span.dropped_attributes for span in spans[5:8]] == [0, 3, 0]
    assert [len(span.events) for span in spans[6:9]] == [0, 1, 0]
    assert [span.parent_span_id for span in spans[7:10]] == [
        "0000000000000001",
        None,
        "0000000000000001",
    ]


def test_two_values_that_change_places_with_their_kinds_are_told_apart() -> None:
    """As many texts and integers as expected, but in other spans."""
    texts, integers = {"k": "text"}, {"j": 1}
    by_column(message_of(*[texts, integers] * MANY)[0])
    spans: list[Attributes] = [{"k": 5}, {"j": "five"}] + [texts, integers] * MANY
    message, _ = message_of(*spans)
    with pytest.raises(Odd):
        by_column(message)
    for _ in range(2):
        assert [span.attributes for span in read(message.SerializeToString()).spans] == spans
    assert [span.attributes for span in by_column(message)] == spans  # both shapes are known


@pytest.mark.parametrize(
    "fields",
    [
        {"trace_id": b""},
        {"trace_id": bytes(16)},
        {"span_id": b"abc"},
        {"span_id": bytes(8)},
        {"parent_span_id": b"abc"},
        {"start_time_unix_nano": 0},
        {"end_time_unix_nano": 2**63},
        {"kind": 6},
        {"kind": -1},
    ],
)
def test_one_span_out_of_the_ordinary_is_judged_alone(fields: dict[str, Any]) -> None:
    message, scope = message_of(*[{"k": "v"}] * MANY)
    expected = read(message.SerializeToString()).spans
    for name, value in fields.items():
        setattr(scope.spans[5], name, value)
    with pytest.raises(Odd):
        by_column(message)
    spans = read(message.SerializeToString()).spans
    assert spans[:5] + spans[6:] == expected[:5] + expected[6:]
    assert spans[5] != expected[5]


def test_a_status_that_there_is_not_is_odd() -> None:
    message, scope = message_of(*[{"k": "v"}] * MANY)
    scope.spans[1].status.code = 3
    with pytest.raises(Odd):
        by_column(message)


def test_a_key_that_stands_twice_is_odd() -> None:
    message, scope = message_of(*[{"k": "v"}] * MANY)
    scope.spans[5].attributes.add(key="k").value.string_value = "w"
    for _ in range(2):
        with pytest.raises(Odd):
            by_column(message)


def test_keys_that_stand_in_other_attributes_than_theirs_teach_nothing() -> None:
    message = LeanTracesData.FromString(message_of(*[{}] * MANY)[0].SerializeToString())
    first, second = message.resource_spans[0].scope_spans[0].spans[:2]
    key, other_key, value = b"\x0a\x01k", b"\x0a\x01j", b"\x12\x03\x0a\x01v"
    first.attributes[:] = [key + other_key + value]
    second.attributes[:] = [value]
    third: Attributes = {"k": "v"}
    data = message.SerializeToString()
    assert read(data).spans == read_one_by_one(data).spans
    for spans in ([{"k": "v", "j": "v"}] * MANY, [third] * MANY):
        assert [span.attributes for span in by_column(message_of(*spans)[0])] == spans


def test_a_text_that_is_not_utf_8_spoils_one_attribute_of_many_spans() -> None:
    message, scope = message_of(*[{"k": "v", "XX": "w"}] * MANY)
    scope.spans[5].attributes[0].value.string_value = "YY"
    data = message.SerializeToString()
    by_column(message)
    reading = read(data.replace(b"YY", b"\xff\xfe"))
    assert [span.attributes["k"] for span in reading.spans] == [
        "\ufffd\ufffd" if number == 5 else "v" for number in range(MANY)
    ]
    assert reading.damage_counts == {DamageKind.ENCODING: 1}
    reading = read(data.replace(b"XX", b"\xff\xfe"))
    assert {tuple(span.attributes) for span in reading.spans} == {("k", "\ufffd\ufffd")}
    assert reading.damage_counts == {DamageKind.ENCODING: MANY}


SOUND = message_of(*[OF_EVERY_KIND, {"k": "text", "i": 1}] * 6)[0].SerializeToString()


@given(st.integers(0, len(SOUND) - 1), st.binary(min_size=1, max_size=3))
def test_damage_is_found_as_in_single_spans(place: int, change: bytes) -> None:
    changed = SOUND[:place] + change + SOUND[place + len(change) :]
    together, apart = read(changed), read_one_by_one(changed)
    assert together.spans == apart.spans
    assert together.damage == apart.damage


def test_spans_of_several_scopes_and_resources_keep_theirs() -> None:
    message = TracesData()
    for service in ("one", "two"):
        resource_spans = message.resource_spans.add()
        pair = resource_spans.resource.attributes.add(key="service.name")
        pair.value.string_value = service
        for name, number in (("few", 2), ("many", MANY)):
            _, scope = message_of(*[{"in": f"{service} {name}"}] * number)
            scope.scope.name = name
            resource_spans.scope_spans.append(scope)
    spans = read(message.SerializeToString()).spans
    assert len(spans) == 2 * (2 + MANY)
    for span in spans:
        assert span.attributes == {"in": f"{span.resource.service} {span.scope}"}


def test_a_message_too_large_for_columns_is_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = message_of(*[OF_EVERY_KIND] * MANY)[0].SerializeToString()
    expected = read(data).spans
    monkeypatch.setattr(otlp_proto, "_MOST_BYTES", len(data) - 1)
    monkeypatch.setattr(otlp_proto, "spans_by_column", None)  # calling it would raise
    assert read(data).spans == expected


def test_known_shapes_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proto_shapes, "_MOST_SHAPES", 3)
    monkeypatch.setattr(proto_shapes, "_MOST_KEYS", 2)
    wide: Attributes = {str(key): "v" for key in range(3)}
    spans = [{f"key {number}": number} for number in range(MANY)] + [wide]
    assert [span.attributes for span in by_column(message_of(*spans)[0])] == spans
    assert 1 <= len(proto_shapes._shapes) <= 3
    assert tuple(map(str.encode, wide)) not in proto_shapes._shapes
