"""The fields that spans of every format have, read one by one.

In goes a parsed JSON value of any shape, out comes what :class:`~visceral_cli.ingest.span.Span`
holds; what is wrong is noted in the reading and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from visceral_cli.ingest.enums import is_span_kind, span_kind, status_code
from visceral_cli.ingest.span import DamageKind, Event, Reading, Span
from visceral_cli.ingest.values import BadValue, integer, read_attributes

Object = Mapping[str, object]

OPENINFERENCE_KIND = "openinference.span.kind"
_OPENINFERENCE_KINDS = {
    "AGENT",
    "CHAIN",
    "EMBEDDING",
    "EVALUATOR",
    "GUARDRAIL",
    "LLM",
    "PROMPT",
    "RERANKER",
    "RETRIEVER",
    "TOOL",
    "UNKNOWN",
}


def first_of(document: Object, names: tuple[str, ...]) -> object:
    """Return the first value in ``document`` under one of ``names`` that is not null."""
    for name in names:
        value = document.get(name)
        if value is not None:
            return value
    return None


def objects_in(entries: object, reading: Reading, field: str) -> Iterator[dict[str, object]]:
    """Yield the objects of a list that stands under ``field``; note what else stands there."""
    if not isinstance(entries, list):
        reading.add_damage(DamageKind.FIELD, f"{field} is no list; left out")
        return
    for entry in entries:
        if isinstance(entry, dict):
            yield entry
        elif entry is not None:
            reading.add_damage(DamageKind.FIELD, f"an entry of {field} is no object; left out")


def scope_name(value: object) -> str:
    """Return the name of an instrumentation scope object, or the scope that is a bare text."""
    name = value.get("name") if isinstance(value, dict) else value
    return name if isinstance(name, str) else ""


def add_span(span: Span, reading: Reading) -> None:
    """Add a span whose ids may be empty, or count that it has neither a name nor an id."""
    if not span.name and not span.span_id:
        reading.add_damage(DamageKind.SPAN, "a span has neither a name nor an id; left out")
        return
    if not span.trace_id or not span.span_id:
        span.trace_id, span.span_id = present_ids(span.trace_id, span.span_id, reading)
    reading.spans.append(span)


def text_of(value: object) -> str:
    """Return a text as it is, and "" for anything else."""
    return value if isinstance(value, str) else ""


def read_kind(value: object, attributes: dict[str, object], reading: Reading) -> int:
    """Return the span kind, where the format may also hold an OpenInference kind in its place.

    Such a kind (``TOOL``) goes into ``attributes``, where OpenInference itself has it.
    """
    if isinstance(value, str) and not is_span_kind(value):
        kind = value.strip().upper()
        if kind in _OPENINFERENCE_KINDS:
            if kind != "UNKNOWN":
                attributes.setdefault(OPENINFERENCE_KIND, kind)
            return 0
    return span_kind(value, reading)


def present_ids(trace_id: str | None, span_id: str | None, reading: Reading) -> tuple[str, str]:
    """Return the ids, with synthetic ones in place of empty ones, and note these."""
    if trace_id and span_id:
        return trace_id, span_id
    reading.add_damage(DamageKind.ID, "an id of a span is empty; a synthetic one stands in")
    return trace_id or reading.synthetic_id(32), span_id or reading.synthetic_id(16)


def read_status(value: object, reading: Reading) -> tuple[int, str]:
    """Return code and message of a status object of any format, or of a bare code."""
    if not isinstance(value, dict):
        return status_code(value, reading), ""
    code = first_of(value, ("code", "status_code", "statusCode", "Code"))
    message = first_of(value, ("message", "description", "Description"))
    return status_code(code, reading), message if isinstance(message, str) else ""


def read_events(entries: object, reading: Reading) -> list[Event]:
    """Return the events of a span; one without a name has the name ""."""
    if entries is None:
        return []
    events = []
    for entry in objects_in(entries, reading, "events"):
        name = first_of(entry, ("name", "Name", "event_name", "eventName"))
        if name is not None and not isinstance(name, str):
            reading.add_damage(DamageKind.FIELD, "event name is no text; left out")
        attributes = read_attributes(entry.get("attributes"), reading, "event attributes")
        events.append(Event(text_of(name), attributes))
    return events


def dropped_count(value: object, reading: Reading) -> int:
    """Return how many attributes a span lost; a negative count is taken as 0."""
    if value is None:
        return 0
    try:
        count = integer(value)
    except BadValue:
        reading.add_damage(DamageKind.FIELD, "droppedAttributesCount is no number; left out")
        return 0
    if not 0 <= count < 2**32:
        reading.add_damage(DamageKind.FIELD, "droppedAttributesCount is out of range; taken as 0")
        return 0
    return count
