"""Faults that readers of trace files have been reported for, each with its smallest input."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import zstandard

from visceral_cli.ingest.span import ERROR, DamageKind, Reading

Line = Callable[..., bytes]
Build = Callable[..., dict[str, Any]]
ReadBytes = Callable[..., Reading]

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def test_zstd_frames_behind_their_lengths_are_read(read_bytes: ReadBytes, line_of: Line) -> None:
    frames = [zstandard.ZstdCompressor().compress(line_of(number).rstrip()) for number in (1, 2)]
    whole = b"".join(len(one).to_bytes(4, "big") + one for one in frames)
    assert len(read_bytes(whole).spans) == 2
    assert len(read_bytes(whole[:-3]).spans) == 1


def test_zstd_frames_that_end_in_the_middle_of_a_line_are_joined(
    read_bytes: ReadBytes, line_of: Line
) -> None:
    whole = line_of(1) + line_of(2)
    parts = [whole[:100], whole[100:300], whole[300:]]
    reading = read_bytes(b"".join(map(zstandard.ZstdCompressor().compress, parts)))
    assert len(reading.spans) == 2
    assert not reading.damage


def test_spans_with_empty_ids_are_kept_and_never_merged(
    read_bytes: ReadBytes, line_of: Line
) -> None:
    reading = read_bytes(line_of(1, traceId="") * 2)
    assert len({(span.trace_id, span.span_id) for span in reading.spans}) == 2
    assert reading.damage_counts == {DamageKind.ID: 2}


def test_an_indented_document_is_not_read_as_nothing(
    read_bytes: ReadBytes, otlp: Build, otlp_span: Build
) -> None:
    assert len(read_bytes(json.dumps(otlp(otlp_span()), indent=2).encode()).spans) == 1


def test_a_half_written_last_line_is_a_note(read_bytes: ReadBytes) -> None:
    reading = read_bytes(b'{"resourceSpans":[]}\n{"resourceSp')
    assert [(one.kind, one.line) for one in reading.damage] == [(DamageKind.CUT, 2)]


def test_a_byte_order_mark_costs_no_record(read_bytes: ReadBytes, line_of: Line) -> None:
    mark = b"\xef\xbb\xbf"
    reading = read_bytes(mark + line_of(1).rstrip() + b"\r\n" + mark + line_of(2))
    assert len(reading.spans) == 2
    assert not reading.damage


def test_other_signals_in_the_file_are_skipped_and_counted(
    read_bytes: ReadBytes, line_of: Line
) -> None:
    logs = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}\n'
    metrics = b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{}]}]}]}\n'
    reading = read_bytes(line_of(1) + logs + metrics)
    assert len(reading.spans) == 1
    assert reading.skipped == {"logs": 1, "metrics": 1}
    assert not reading.damage


def test_there_is_no_silent_cap(read_bytes: ReadBytes, otlp: Build, otlp_span: Build) -> None:
    spans = [otlp_span(spanId=f"{number:x}") for number in range(1, 514)]
    assert len(read_bytes(json.dumps(otlp(*spans)).encode()).spans) == 513


@pytest.mark.parametrize(
    "trace_id",
    [
        TRACE_ID,
        "CvdlGRbNQ92ESOshHIAxnA==",
        "MGFmNzY1MTkxNmNkNDNkZDg0NDhlYjIxMWM4MDMxOWM=",
    ],
)
def test_an_id_is_32_digits_in_every_encoding(
    read_bytes: ReadBytes, line_of: Line, trace_id: str
) -> None:
    assert [span.trace_id for span in read_bytes(line_of(1, traceId=trace_id)).spans] == [TRACE_ID]


def test_integers_are_read_as_text_and_as_numbers(read_bytes: ReadBytes, line_of: Line) -> None:
    values = {"a": "7", "b": 7, "c": "9223372036854775807", "d": "x"}
    pairs = [{"key": key, "value": {"intValue": value}} for key, value in values.items()]
    reading = read_bytes(line_of(1, attributes=pairs))
    assert reading.spans[0].attributes == {"a": 7, "b": 7, "c": 2**63 - 1}
    assert reading.damage_counts == {DamageKind.FIELD: 1}


def test_an_attribute_may_change_its_type(read_bytes: ReadBytes, line_of: Line) -> None:
    values: list[dict[str, Any]] = [{"intValue": 80}, {"stringValue": "80"}]
    lines = [line_of(1, attributes=[{"key": "port", "value": value}]) for value in values]
    assert [span.attributes for span in read_bytes(b"".join(lines)).spans] == [
        {"port": 80},
        {"port": "80"},
    ]


def test_a_status_by_name_is_an_error(read_bytes: ReadBytes, line_of: Line) -> None:
    assert read_bytes(line_of(1, status={"code": "ERROR"})).spans[0].status == ERROR


def test_a_null_double_is_absent_and_nan_is_read(read_bytes: ReadBytes, line_of: Line) -> None:
    pairs = [{"key": "x", "value": {"doubleValue": None}}]
    reading = read_bytes(line_of(1, attributes=pairs))
    assert reading.spans[0].attributes == {"x": None}
    bare = line_of(1, attributes=[{"key": "x", "value": {"doubleValue": float("nan")}}])
    assert b"NaN" in bare
    value = read_bytes(bare).spans[0].attributes["x"]
    assert value != value


def test_a_negative_count_does_not_lose_the_file(read_bytes: ReadBytes, line_of: Line) -> None:
    reading = read_bytes(line_of(1, droppedAttributesCount=-1) + line_of(2))
    assert len(reading.spans) == 2
    assert reading.damage_counts == {DamageKind.FIELD: 1}


def test_nanoseconds_keep_the_order_of_spans(read_bytes: ReadBytes, line_of: Line) -> None:
    starts = ["1760000000000000001", "1760000000000000002"]
    reading = read_bytes(b"".join(line_of(1, startTimeUnixNano=start) for start in starts))
    assert [span.start_ns for span in reading.spans] == list(map(int, starts))


def test_copies_and_orphans_are_left_to_be_counted(read_bytes: ReadBytes, line_of: Line) -> None:
    reading = read_bytes(line_of(1, parentSpanId="00000000000000ff") * 3)
    assert len(reading.spans) == 3
    assert {span.parent_span_id for span in reading.spans} == {"00000000000000ff"}


def test_half_an_emoji_is_replaced(read_bytes: ReadBytes, line_of: Line) -> None:
    pairs = [{"key": "output.value", "value": {"stringValue": "ok \ud83d"}}]
    reading = read_bytes(line_of(1, attributes=pairs))
    assert reading.spans[0].attributes == {"output.value": "ok \ufffd"}
    assert reading.damage_counts == {DamageKind.SURROGATE: 1}
