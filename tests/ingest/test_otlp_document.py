from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.span import ERROR, DamageKind, Event, LogRecord, Reading, Span

Read = Callable[[object], Reading]
Build = Callable[..., dict[str, Any]]

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


def test_every_field_of_a_span_is_read(reading_of: Read, otlp: Build, otlp_span: Build) -> None:
    span = otlp_span(
        parentSpanId="00f067aa0ba902b7",
        kind=3,
        status={"code": 2, "message": "boom"},
        attributes=[{"key": "gen_ai.tool.name", "value": {"stringValue": "lookup"}}],
        events=[{"name": "e", "attributes": [{"key": "k", "value": {"intValue": "1"}}]}],
        droppedAttributesCount=12,
        flags=257,
        links=[{"traceId": "x"}],
    )
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    reading = reading_of(otlp(span, resource=resource, scope={"name": "s", "version": "1"}))
    (found,) = reading.spans
    assert found.resource.service == "shop"
    assert found == Span(
        TRACE_ID,
        SPAN_ID,
        "00f067aa0ba902b7",
        "execute_tool lookup",
        1760000000000000001,
        1760000000250000001,
        {"gen_ai.tool.name": "lookup"},
        found.resource,
        3,
        ERROR,
        "boom",
        [Event("e", {"k": 1})],
        "s",
        12,
    )
    assert not reading.damage


def test_snake_case_and_enum_names_give_the_same(
    reading_of: Read, otlp: Build, otlp_span: Build
) -> None:
    camel = otlp_span(
        parentSpanId="00f067aa0ba902b7",
        kind=3,
        status={"code": 2},
        attributes=[{"key": "k", "value": {"intValue": "1"}}],
        droppedAttributesCount=1,
    )
    snake = {
        "resource_spans": [
            {
                "resource": {},
                "scope_spans": [
                    {
                        "scope": {"name": "demo"},
                        "spans": [
                            {
                                "trace_id": TRACE_ID,
                                "span_id": SPAN_ID,
                                "parent_span_id": "00f067aa0ba902b7",
                                "name": camel["name"],
                                "kind": "SPAN_KIND_CLIENT",
                                "start_time_unix_nano": 1760000000000000001,
                                "end_time_unix_nano": "1760000000250000001",
                                "attributes": [{"key": "k", "value": {"int_value": 1}}],
                                "status": {"code": "STATUS_CODE_ERROR"},
                                "dropped_attributes_count": "1",
                            }
                        ],
                    }
                ],
            }
        ]
    }
    assert reading_of(snake).spans == reading_of(otlp(camel)).spans


@pytest.mark.parametrize(
    "key",
    ["scopeSpans", "scope_spans", "instrumentationLibrarySpans", "deprecatedScopeSpans"],
)
@pytest.mark.parametrize("wrapper", ["resourceSpans", "resource_spans", "batches", None])
def test_every_name_that_the_lists_had_is_known(
    reading_of: Read, otlp_span: Build, key: str, wrapper: str | None
) -> None:
    fragment = {"resource": {}, key: [{"scope": {"name": "s"}, "spans": [otlp_span()]}]}
    reading = reading_of({wrapper: [fragment]} if wrapper else fragment)
    assert [(span.span_id, span.scope) for span in reading.spans] == [(SPAN_ID, "s")]


@pytest.mark.parametrize("wrapper", ["trace", "result", "data"])
def test_wrappers_of_interfaces_are_looked_through(
    reading_of: Read, otlp: Build, otlp_span: Build, wrapper: str
) -> None:
    assert len(reading_of({wrapper: otlp(otlp_span())}).spans) == 1


def test_the_old_scope_has_its_name(reading_of: Read, otlp_span: Build) -> None:
    scopes = [{"instrumentationLibrary": {"name": "old"}, "spans": [otlp_span()]}]
    reading = reading_of({"batches": [{"instrumentationLibrarySpans": scopes}]})
    assert reading.spans[0].scope == "old"


def test_spans_with_empty_ids_are_kept_apart_and_noted(
    reading_of: Read, otlp: Build, otlp_span: Build
) -> None:
    empty = otlp_span(traceId="", spanId="")
    one, two = reading_of(otlp(empty, empty)).spans
    assert len({one.trace_id, two.trace_id}) == 2
    assert (len(one.trace_id), len(one.span_id)) == (32, 16)
    again = reading_of(otlp(empty, empty))
    assert [span.span_id for span in again.spans] == [one.span_id, two.span_id]
    assert again.damage_counts == {DamageKind.ID: 2}


def test_a_negative_dropped_count_is_clamped(
    reading_of: Read, otlp: Build, otlp_span: Build
) -> None:
    reading = reading_of(otlp(otlp_span(droppedAttributesCount=-1), otlp_span()))
    assert [span.dropped_attributes for span in reading.spans] == [0, 0]
    assert reading.damage_counts == {DamageKind.FIELD: 1}


def test_a_span_needs_a_name_or_an_id(reading_of: Read, otlp: Build) -> None:
    reading = reading_of(otlp({}, {"traceId": TRACE_ID}, {"name": "a"}, {"spanId": "1"}))
    assert len(reading.spans) == 2
    assert reading.damage_counts == {DamageKind.SPAN: 2, DamageKind.ID: 2}


def test_a_bad_field_costs_itself_only(reading_of: Read, otlp: Build, otlp_span: Build) -> None:
    bad = {
        "name": 5,
        "kind": "x",
        "status": [],
        "startTimeUnixNano": {},
        "attributes": 1,
        "events": [1, {}],
        "droppedAttributesCount": "many",
    }
    reading = reading_of(otlp(otlp_span(**bad)))
    (span,) = reading.spans
    assert (span.name, span.kind, span.status, span.start_ns) == ("", 0, 0, None)
    assert span.end_ns == 1760000000250000001
    assert span.events == [Event("", {})]
    assert reading.damage_counts == {DamageKind.FIELD: 7}


@pytest.mark.parametrize(
    "document",
    [
        {"resourceSpans": {}},
        {"resourceSpans": [1]},
        {"resourceSpans": [{"scopeSpans": {}}]},
        {"resourceSpans": [{"scopeSpans": [1]}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": {}}]}]},
        {"resourceSpans": [{"resource": 1}]},
    ],
)
def test_a_wrong_type_is_noted_once(reading_of: Read, document: object) -> None:
    reading = reading_of(document)
    assert not reading.spans
    assert reading.damage_counts == {DamageKind.FIELD: 1}


@pytest.mark.parametrize(
    "document", [{"resourceSpans": []}, {"resourceSpans": None}, {"resourceSpans": [{}]}]
)
def test_nothing_is_no_damage(reading_of: Read, document: object) -> None:
    reading = reading_of(document)
    assert not reading.spans
    assert not reading.damage


def test_a_log_record_that_names_a_span_is_kept(reading_of: Read) -> None:
    records = [
        {
            "traceId": TRACE_ID.upper(),
            "spanId": SPAN_ID,
            "body": {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}]}},
            "attributes": [{"key": "event.name", "value": {"stringValue": "tool"}}],
        },
        {"traceId": TRACE_ID, "spanId": SPAN_ID, "eventName": "new", "body": {"stringValue": "x"}},
        {"traceId": "", "spanId": "", "body": {"stringValue": "x"}},
        {"body": {"stringValue": "x"}},
    ]
    reading = reading_of({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
    assert reading.logs == [
        LogRecord(TRACE_ID, SPAN_ID, "tool", {"a": 1}, {"event.name": "tool"}),
        LogRecord(TRACE_ID, SPAN_ID, "new", "x", {}),
    ]
    assert reading.skipped == {"logs": 2}


def test_other_signals_are_counted_and_skipped(reading_of: Read) -> None:
    reading = reading_of(
        {
            "resourceMetrics": [{"scopeMetrics": [{"metrics": [{}, {}]}, {"metrics": [{}]}]}],
            "resourceProfiles": [{"scopeProfiles": [{"profiles": [{}]}]}],
        }
    )
    assert reading.skipped == {"metrics": 3, "profiles": 1}
    assert not reading.damage


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"copeSpans": [{"spans": []}]}, "copeSpans"),
        ({"scopeSpans": [{"pans": [{"name": "a"}]}]}, "pans"),
    ],
)
def test_spans_under_a_name_that_is_not_known_are_not_passed_over_in_silence(
    entry: dict[str, object], named: str
) -> None:
    reading = Reading()
    read_document({"resourceSpans": [entry]}, reading, seed="f")
    assert reading.spans == []
    assert [damage.kind for damage in reading.damage] == ["unknown-shape"]
    assert named in reading.damage[0].what


@pytest.mark.parametrize("entry", [{}, {"resource": {}}, {"scopeSpans": []}, {"scopeSpans": [{}]}])
def test_no_spans_at_all_are_no_damage(entry: dict[str, object]) -> None:
    reading = Reading()
    read_document({"resourceSpans": [entry]}, reading, seed="f")
    assert reading.damage == []
