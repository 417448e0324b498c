"""The spans of one scope of an OTLP protobuf message, column by column.

Whatever is out of the ordinary in one of the spans leaves all of them to the reader of single
spans, which costs more and can judge it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from visceral_cli.ingest.proto_parts import event_of, status_of
from visceral_cli.ingest.proto_shapes import Odd, attributes_by_shape
from visceral_cli.ingest.span import UNSET, Event, Resource, Span
from visceral_cli.ingest.span_columns import Shapes, SpanColumns
from visceral_cli.ingest.times import SURELY_NS

NO_TRACE = bytes(16)
NO_SPAN = bytes(8)
MAX_NS = 2**63 - 1

_shapes = Shapes()


class ScopeSpans(NamedTuple):
    """The spans of one scope."""

    columns: SpanColumns
    beside: list[tuple[list[Event], int]] | None
    """Events and the number of lost attributes of each span, where any has some."""

    def objects(self) -> list[Span]:
        """Return the spans one by one, whole."""
        spans = self.columns.spans()
        for span, (events, dropped) in zip(spans, self.beside or (), strict=False):
            span.events, span.dropped_attributes = events, dropped
        return spans


def spans_by_column(spans: list[Any], columns: Any, resource: Resource, scope: str) -> ScopeSpans:
    """Return the spans of one scope; raises :class:`Odd` and ``DecodeError``.

    ``spans``: the scope's spans in a ``LeanTracesData``; ``columns``: all of them as the one span
    in a ``TracesColumns``.
    """

    def column(field: str) -> list[Any]:
        values: list[Any] = getattr(columns, field)[:]
        if len(values) == len(spans):
            return values
        return [getattr(span, field) for span in spans]  # some have the default, so it is not there

    count = len(spans)
    told = SpanColumns()
    told.trace_id = _trace_ids(column("trace_id"))
    told.span_id = _span_ids(column("span_id"))
    told.parent_span_id = _parents(column("parent_span_id"))
    told.name = column("name")
    told.start_ns = _times(column("start_time_unix_nano"))
    told.end_ns = _times(column("end_time_unix_nano"))
    told.kind = _codes(column("kind"), 5)
    told.status, told.status_message = [UNSET] * count, [""] * count
    if columns.status:
        told.status, told.status_message = _statuses(column("status"))
    told.resource = [resource] * count
    attributes = attributes_by_shape(spans, columns.attributes)
    told.shape = [_shapes.of(scope, keys) for keys, _ in attributes]
    told.values = [values for _, values in attributes]
    beside = None
    if columns.events or columns.dropped_attributes_count:
        beside = [
            ([event_of(raw) for raw in span.events], span.dropped_attributes_count)
            for span in spans
        ]
    return ScopeSpans(told, beside)


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
