import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from otlp_encodings import NS, SPAN, TRACE, VALUES, add_span, json_value, set_value

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.otlp_proto import read_message
from visceral_cli.ingest.proto_parts import _value, pairs_of
from visceral_cli.ingest.proto_signal import Signal, signal_of
from visceral_cli.ingest.span import DamageKind, LogRecord, Reading


def read(data: bytes) -> Reading:
    reading = Reading()
    read_message(data, reading, seed="x")
    return reading


@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=5),
    st.integers(0, 2**64 - 1),
    st.integers(0, 7),
    st.integers(0, 3),
    st.sampled_from([b"", bytes(8), SPAN, b"abc"]),
    st.integers(0, 2**32 - 1),
)
def test_protobuf_and_json_of_one_span_give_the_same(
    attributes: dict[str, object], start: int, kind: int, code: int, parent: bytes, dropped: int
) -> None:
    message = TracesData()
    span = add_span(
        message,
        start_time_unix_nano=start,
        kind=kind,
        parent_span_id=parent,
        dropped_attributes_count=dropped,
    )
    span.status.code, span.status.message = code, "m"
    event = span.events.add()
    event.name = "e"
    for pairs in (span.attributes, event.attributes):
        for key, value in attributes.items():
            pair = pairs.add()
            pair.key = key
            set_value(pair.value, value)
    as_json = [{"key": key, "value": json_value(value)} for key, value in attributes.items()]
    document = {
        "traceId": TRACE.hex(),
        "spanId": (1).to_bytes(8, "big").hex(),
        "parentSpanId": parent.hex(),
        "name": "span 1",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": NS,
        "kind": kind,
        "status": {"code": code, "message": "m"},
        "attributes": as_json,
        "events": [{"name": "e", "attributes": as_json}],
        "droppedAttributesCount": dropped,
    }
    wrapped = {"resourceSpans": [{"scopeSpans": [{"spans": [document]}]}]}
    from_json = Reading()
    read_document(wrapped, from_json, seed="x")
    from_proto = read(message.SerializeToString())
    assert from_proto.spans == from_json.spans
    assert from_proto.damage_counts == from_json.damage_counts


def test_a_value_that_can_change_is_not_shared_by_two_spans() -> None:
    message = TracesData()
    for number in (1, 2):
        pair = add_span(message, number).attributes.add()
        pair.key = "k"
        set_value(pair.value, ["a"])
    one, two = read(message.SerializeToString()).spans
    assert one.attributes == two.attributes == {"k": ["a"]}
    assert one.attributes["k"] is not two.attributes["k"]


def test_spans_with_empty_ids_are_kept_apart() -> None:
    message = TracesData()
    add_span(message, trace_id=b"", span_id=b"")
    add_span(message, trace_id=bytes(16), span_id=bytes(8))
    reading = read(message.SerializeToString())
    assert len({span.trace_id for span in reading.spans}) == 2
    assert reading.damage_counts == {DamageKind.ID: 2}


def test_a_text_that_is_not_utf_8_spoils_its_attribute_only() -> None:
    message = TracesData()
    pair = add_span(message, 1).attributes.add()
    pair.key, pair.value.string_value = "k", "XX"
    add_span(message, 2)
    reading = read(message.SerializeToString().replace(b"XX", b"\xff\xfe"))
    assert [span.name for span in reading.spans] == ["span 1", "span 2"]
    assert reading.spans[0].attributes == {"k": "\ufffd\ufffd"}
    assert reading.damage_counts == {DamageKind.ENCODING: 1}


def test_a_name_that_is_not_utf_8_costs_nothing_else() -> None:
    message = TracesData()
    add_span(message, 1, name="XX")
    add_span(message, 2)
    reading = read(message.SerializeToString().replace(b"XX", b"\xff\xfe"))
    assert [span.name for span in reading.spans] == ["\ufffd\ufffd", "span 2"]
    assert reading.damage_counts == {DamageKind.ENCODING: 1}


def test_a_span_that_only_the_decoder_can_read_is_noted() -> None:
    group = b"\xa3\x06\xa4\x06"  # of a kind of field that OTLP does not have
    message = TracesData()
    add_span(message, 1, kind=9).MergeFromString(group)
    add_span(message, 2).MergeFromString(group)
    reading = read(message.SerializeToString())
    assert [span.name for span in reading.spans] == ["span 2"]
    assert reading.damage_counts == {DamageKind.PROTO: 1}


def test_messages_of_one_resource_share_it() -> None:
    message = TracesData()
    add_span(message)
    resource = message.resource_spans[0].resource
    pair = resource.attributes.add(key="service.name")
    pair.value.string_value = "shop"
    (one,), (two,) = (read(message.SerializeToString()).spans for _ in range(2))
    assert one.resource is two.resource
    assert one.resource.service == "shop"


def test_of_a_cut_message_the_whole_spans_are_read() -> None:
    message = TracesData()
    spans = message.resource_spans.add().scope_spans.add().spans
    for number in range(1, 4):
        spans.add().CopyFrom(add_span(TracesData(), number))
    reading = read(message.SerializeToString()[:-10])
    assert [span.name for span in reading.spans] == ["span 1", "span 2"]
    assert reading.damage_counts == {DamageKind.CUT: 1}


@pytest.mark.parametrize("data", [b"\x00", b"\x0a\x05ab", b"\xff" * 20, b"\x12\x00", b"hello"])
def test_bytes_that_are_no_message_are_noted(data: bytes) -> None:
    reading = read(data)
    assert not reading.spans
    assert sum(reading.damage_counts.values()) == 1


@pytest.mark.parametrize("data", [b"", b"\x0a\x00"])
def test_an_empty_message_is_fine(data: bytes) -> None:
    reading = read(data)
    assert not reading.spans
    assert not reading.damage


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    read(data)
    read(b"\x0a" + len(data).to_bytes(1, "big") + data[:127])


def test_log_records_are_told_from_spans() -> None:
    message = LogsData()
    records = message.resource_logs.add().scope_logs.add().log_records
    record = records.add()
    record.time_unix_nano, record.trace_id, record.span_id = NS, TRACE, SPAN
    record.event_name, record.body.string_value = "e", "text"
    records.add().body.string_value = "no span"
    records[1].time_unix_nano = NS
    reading = read(message.SerializeToString())
    assert reading.logs == [LogRecord(TRACE.hex(), SPAN.hex(), "e", "text", {})]
    assert reading.skipped == {"logs": 1}
    assert not reading.damage


def test_metrics_are_counted_and_skipped() -> None:
    message = MetricsData()
    metrics = message.resource_metrics.add().scope_metrics.add().metrics
    for name in ("sixteen-letters!", "duration"):
        metric = metrics.add()
        metric.name, metric.description = name, "8letters"
        metric.gauge.data_points.add().as_int = 1
    assert signal_of(message.SerializeToString()) is Signal.METRICS
    reading = read(message.SerializeToString())
    assert reading.skipped == {"metrics": 2}
    assert not reading.spans
    assert not reading.damage


def test_a_span_without_times_is_still_a_span() -> None:
    message = TracesData()
    add_span(message, start_time_unix_nano=0, end_time_unix_nano=0)
    reading = read(message.SerializeToString())
    assert reading.spans[0].start_ns is None
    assert not reading.damage


def test_a_deeply_nested_value_does_not_raise() -> None:
    message = TracesData()
    pair = add_span(message).attributes.add()
    pair.key = "k"
    value = AnyValue()
    for _ in range(40):
        outer = AnyValue()
        outer.array_value.values.add().CopyFrom(value)
        value = outer
    pair.value.CopyFrom(value)
    reading = read(message.SerializeToString())
    assert len(reading.spans) == 1


def test_every_system_gives_the_same_from_protobuf_and_json(shared: Path) -> None:
    files = sorted((shared / "traces" / "real").glob("*.otlp.pb"))
    assert len(files) >= 9
    for file in files:
        from_json = Reading()
        for line in file.with_suffix(".jsonl").read_bytes().splitlines():
            read_document(json.loads(line), from_json, seed="x")
        from_proto = read(file.read_bytes())

        def key(span: Any) -> tuple[str, str]:
            return span.trace_id, span.span_id

        assert sorted(from_proto.spans, key=key) == sorted(from_json.spans, key=key), file.name
        assert not from_proto.damage


LENGTHS = (0, 1, 125, 126, 127, 128, 129, 16_379, 16_380, 16_381, 16_384)
"""Around the lengths at which a varint, or that of the value around a text, gets a byte more."""


@pytest.mark.parametrize("key_length", [1, 126, 127, 128, 129])
def test_texts_and_keys_of_every_length_are_read(key_length: int) -> None:
    message = TracesData()
    span = add_span(message)
    expected = {}
    for number, length in enumerate(LENGTHS):
        key = f"{number:x}".ljust(key_length, "k")
        pair = span.attributes.add()
        pair.key, pair.value.string_value = key, "t" * length
        expected[key] = "t" * length
    assert read(message.SerializeToString()).spans[0].attributes == expected


PLAIN = KeyValue(key="key", value=AnyValue(string_value="text"))
LONG = KeyValue(key="key", value=AnyValue(string_value="\u00fc" * 100))


@given(
    st.sampled_from([PLAIN.SerializeToString(), LONG.SerializeToString()]),
    st.integers(0, 12),
    st.binary(max_size=2),
)
def test_an_attribute_is_read_as_the_decoder_reads_it(
    raw: bytes, place: int, change: bytes
) -> None:
    changed = raw[:place] + change + raw[place + len(change) :]
    pairs_of([raw])
    try:
        pair = KeyValue.FromString(changed)
    except DecodeError:
        with pytest.raises(DecodeError):
            pairs_of([changed])
    else:
        value = pair.value
        assert pairs_of([changed, changed]) == [(pair.key, value.string_value or _value(value))] * 2


def test_a_short_attribute_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = pairs_of([PLAIN.SerializeToString()])
    monkeypatch.setattr("visceral_cli.ingest.proto_parts._pair", None)  # calling it would raise
    assert pairs_of([PLAIN.SerializeToString()]) == expected == [("key", "text")]


def test_an_attribute_that_can_be_changed_is_not_shared() -> None:
    listed = KeyValue(key="key", value=AnyValue(array_value={"values": [{"int_value": 1}]}))
    (first,), (second,) = (pairs_of([listed.SerializeToString()]) for _ in range(2))
    assert first == second == ("key", [1])
    assert first[1] is not second[1]
