from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.span import DamageKind, Reading

Read = Callable[[object], Reading]
Build = Callable[..., dict[str, Any]]

KEY_NAMES = """
    resourceSpans resource_spans batches scopeSpans spans resource attributes name kind status
    traceId trace_id spanId span_id parentSpanId id context span_kind status_code SpanContext Status
    Attributes Events events observations metadata input data info processes traceID spanID tags
    references operationName process logs type value key timestamp duration event span body
    startTimeUnixNano startTime start_time __otel_otlp_stdout payload base64 resourceLogs scopeLogs
    logRecords resourceMetrics trace result stringValue intValue arrayValue kvlistValue values
    child_spans context.span_id attributes.input.value parentObservationId code"""
KEYS = st.sampled_from(KEY_NAMES.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=40,
)


@given(st.dictionaries(KEYS, DOCUMENTS, max_size=8) | DOCUMENTS)
def test_no_document_raises_or_gives_an_impossible_span(document: object) -> None:
    reading = Reading()
    read_document(document, reading, seed="x")
    for span in reading.spans:
        assert span.trace_id
        assert span.span_id
        assert span.start_ns is None or 0 < span.start_ns < 2**63
        assert span.end_ns is None or 0 < span.end_ns < 2**63


def test_a_document_of_no_known_shape_is_named_by_its_first_keys(reading_of: Read) -> None:
    reading = reading_of({"b": 1, "a\x1b[1m": "secret", "c": 1, "d": 1, "e": 1, "f": 1})
    (damage,) = reading.damage
    assert damage.kind is DamageKind.UNKNOWN_SHAPE
    assert damage.what == r"an object with the keys b, a\x1b[1m, c, d, e; left out"


@pytest.mark.parametrize("document", [{}, 1, "text", None, True, [[[[[[[1]]]]]]]])
def test_what_is_no_record_is_noted(reading_of: Read, document: object) -> None:
    assert reading_of(document).damage_counts == {DamageKind.UNKNOWN_SHAPE: 1}


def test_an_empty_list_is_fine(reading_of: Read) -> None:
    assert not reading_of([]).damage


def test_a_list_may_mix_shapes(reading_of: Read, otlp: Build, otlp_span: Build) -> None:
    bare = {"trace_id": "1", "span_id": "2", "name": "bare", "start_time": 1_700_000_000}
    reading = reading_of([otlp(otlp_span()), bare, {"x": 1}])
    assert [span.name for span in reading.spans] == ["execute_tool lookup", "bare"]
    assert reading.damage_counts == {DamageKind.UNKNOWN_SHAPE: 1}


def test_a_document_nested_without_end_is_noted(reading_of: Read) -> None:
    document: dict[str, Any] = {"name": "x"}
    for _ in range(5000):
        document = {"trace": document}
    assert reading_of(document).damage_counts == {DamageKind.UNKNOWN_SHAPE: 1}
