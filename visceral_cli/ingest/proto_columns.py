"""The spans of one scope of an OTLP protobuf message, column by column.

Whatever is out of the ordinary in one of the spans leaves all of them to the reader of single
spans, which costs more and can judge it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from visceral_cli.ingest.proto_parts import event_of, status_of
from visceral_cli.ingest.proto_shapes import Odd, attributes_by_shape
from visceral_cli.ingest.span import UNSET, Event, Resource, Span
from visceral_cli.ingest.times import SURELY_NS

NO_TRACE = bytes(16)
NO_SPAN = bytes(8)
MAX_NS = 2**63 - 1


def spans_by_column(spans: list[Any], columns: Any, resource: Resource, scope: str) -> list[Span]:
    """Return the spans of one scope; raises :class:`Odd` and ``DecodeError``.

    ``spans``: the scope's spans in a ``LeanTracesData``; ``columns``: all of them as the one span
    in a ``TracesColumns``.
    """

    def column(field: str) -> list[Any]:
        values: list[Any] = getattr(columns, field)[:]
        if len(values) == len(spans):
            return values
        return [getattr(span, field) for span in spans]  # some have the default, so it is not there

    codes: Iterable[int] = repeat(UNSET)
    messages: Iterable[str] = repeat("")
    if columns.status:
        codes, messages = _statuses(column("status"))
    events: list[list[Event]] = [[] for _ in spans]
    if columns.events:
        events = [[event_of(raw) for raw in span.events] for span in spans]
    dropped: Iterable[int] = repeat(0)
    if columns.dropped_attributes_count:
        dropped = column("dropped_attributes_count")
    return list(
        map(
            Span,
            _trace_ids(column("trace_id")),
            _span_ids(column("span_id")),
            _parents(column("parent_span_id")),
            column("name"),
            _times(column("start_time_unix_nano")),
            _times(column("end_time_unix_nano")),
            attributes_by_shape(spans, columns.attributes),
            repeat(resource),
            _codes(column("kind"), 5),
            codes,
            messages,
            events,
            repeat(scope),
            dropped,
        )
    )


def _trace_ids(ids: list[bytes]) -> list[str]:
    digits = {one: one.hex() for one in set(ids)}
    if set(map(len, digits)) != {16} or NO_TRACE in digits:
        raise Odd
    return [digits[one] for one in ids]


def _span_ids(ids: list[bytes]) -> list[str]:
    if set(map(len, ids)) != {8} or NO_SPAN in ids:
        raise Odd
    return [one.hex() for one in ids]


def _parents(ids: list[bytes]) -> list[str | None]:
    digits: dict[bytes, str | None] = {one: one.hex() for one in set(ids)}
    if not set(map(len, digits)) <= {0, 8}:
        raise Odd
    digits[b""] = digits[NO_SPAN] = None
    return [digits[one] for one in ids]


def _times(times: list[int]) -> list[int]:
    if min(times) < SURELY_NS or max(times) > MAX_NS:
        raise Odd
    return times


def _codes(codes: list[int], highest: int) -> list[int]:
    if min(codes) < 0 or max(codes) > highest:
        raise Odd
    return codes


def _statuses(raws: list[bytes]) -> tuple[list[int], list[str]]:
    statuses = [status_of(raw) for raw in raws]
    return _codes([code for code, _ in statuses], 2), [message for _, message in statuses]
