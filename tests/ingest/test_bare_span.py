from collections.abc import Callable

from visceral_cli.ingest.span import ERROR, DamageKind, Event, LogRecord, Reading

Read = Callable[[object], Reading]


def test_names_are_known_in_any_casing(reading_of: Read) -> None:
    snake = {
        "trace_id": "1",
        "span_id": "2",
        "parent_span_id": "3",
        "name": "n",
        "start_time": 1_784_995_767_655_639_000,
        "end_time": 1_784_995_767_656_160_000,
        "attributes": {"k": 1},
        "status": {"code": "ERROR"},
        "kind": "CLIENT",
    }
    camel = {
        "traceId": "1",
        "spanId": "2",
        "parentSpanId": "3",
        "name": "n",
        "startTimeUnixNano": "1784995767655639000",
        "endTimeUnixNano": "1784995767656160000",
        "attributes": [{"key": "k", "value": {"intValue": "1"}}],
        "status": {"code": 2},
        "kind": 3,
    }
    clickhouse = {
        "TraceId": "1",
        "SpanId": "2",
        "ParentSpanId": "3",
        "SpanName": "n",
        "Timestamp": "2026-07-25 16:09:27.655639000",
        "Duration": 521_000,
        "SpanAttributes": {"k": 1},
        "StatusCode": "Error",
        "SpanKind": "Client",
    }
    one, two, three = (reading_of(span).spans[0] for span in (snake, camel, clickhouse))
    assert one == two == three
    assert one.status == ERROR
    assert one.kind == 3


def test_a_list_of_spans_shares_what_stands_beside_it(reading_of: Read) -> None:
    reading = reading_of(
        {
            "trace_id": "1",
            "session_id": "s",
            "spans": [
                {"span_id": "2", "name": "a"},
                {"trace_id": "9", "span_id": "3", "name": "b"},
            ],
        }
    )
    assert [span.trace_id[-1] for span in reading.spans] == ["1", "9"]


def test_nested_spans_are_found(reading_of: Read) -> None:
    leaf = {"span_id": "3", "span_name": "leaf", "duration": "PT0.5S"}
    root = {
        "trace_id": "1",
        "span_id": "2",
        "span_name": "root",
        "timestamp": "2025-03-19T16:45:42Z",
        "duration": "PT1M2.25S",
        "span_attributes": {"openinference.span.kind": "TOOL"},
        "child_spans": [leaf | {"timestamp": "2025-03-19T16:45:43Z"}],
    }
    one, two = reading_of({"trace_id": "1", "spans": [root]}).spans
    assert (one.name, two.name, two.trace_id) == ("root", "leaf", one.trace_id)
    assert one.start_ns is not None
    assert one.end_ns == one.start_ns + 62_250_000_000


def test_an_event_with_a_body_is_a_log_record(reading_of: Read) -> None:
    span = {
        "trace_id": "t-1",
        "span_id": "s-1",
        "name": "n",
        "span_events": [
            {"event_name": "content", "attributes": {"a": 1}, "body": {"input": {"q": "x"}}},
            {"event_name": "exception", "attributes": {"exception.type": "E"}},
        ],
    }
    reading = reading_of(span)
    assert reading.spans[0].events == [Event("exception", {"exception.type": "E"})]
    assert reading.logs == [LogRecord("t-1", "s-1", "content", {"input": {"q": "x"}}, {"a": 1})]


def test_an_agent_kind_goes_where_openinference_has_it(reading_of: Read) -> None:
    span = {"trace_id": "1", "span_id": "2", "name": "n", "kind": "tool"}
    reading = reading_of(span)
    assert reading.spans[0].kind == 0
    assert reading.spans[0].attributes == {"openinference.span.kind": "TOOL"}
    assert not reading.damage


def test_only_the_end_of_a_span_is_a_span(reading_of: Read) -> None:
    span = {"span_id": "span_1", "trace_id": "trace_1", "name": "n", "kind": "agent"}
    reading = reading_of([{"event": "start", "span": span}, {"event": "end", "span": span}])
    assert [(one.trace_id, one.span_id) for one in reading.spans] == [("trace_1", "span_1")]
    assert reading.skipped == {"span-starts": 1}


def test_milliseconds_in_a_nanosecond_field_keep_their_ratio(reading_of: Read) -> None:
    reading = reading_of(
        {
            "trace_id": "trace-001",
            "span_id": "trace-001-1",
            "name": "LLM",
            "startTimeUnixNano": "1700000078000",
            "endTimeUnixNano": "1700000078500",
        }
    )
    (span,) = reading.spans
    assert span.start_ns == 1_700_000_078_000_000_000
    assert span.end_ns == 1_700_000_078_500_000_000
    assert reading.damage_counts == {DamageKind.FIELD: 2}


def test_null_padding_is_absent(reading_of: Read) -> None:
    span = {"trace_id": "0x1", "span_id": "0x2", "name": "n", "attributes": {"a": None, "b": 1}}
    assert reading_of(span).spans[0].attributes == {"b": 1}
