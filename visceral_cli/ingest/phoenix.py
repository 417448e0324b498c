"""Arize Phoenix: spans of its REST interface, and rows of its spans dataframe.

A row has one column per attribute of any span (``attributes.input.value``), empty in the spans
without it; ids are in ``context.span_id`` and ``context.trace_id``, where the span id may be the
dataframe's index. The REST form has ``context`` and ``attributes`` as objects.
"""

from __future__ import annotations

from visceral_cli.ingest import times
from visceral_cli.ingest.enums import status_code
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.json_text import parse_inner
from visceral_cli.ingest.span import Reading, Resource, Span
from visceral_cli.ingest.span_fields import Object, add_span, read_events, read_kind, text_of
from visceral_cli.ingest.values import read_attributes

_COLUMN = "attributes."
_PARSED_BY_PHOENIX = frozenset(
    ("metadata", "tool.parameters", "llm.prompt_template.variables", "document.metadata")
)
"""Attributes that are JSON text in a span and objects in Phoenix: they are values, not levels."""


def is_phoenix_span(document: Object) -> bool:
    """Return whether ``document`` is one span of Phoenix."""
    if "context.span_id" in document or "context.trace_id" in document:
        return True
    return isinstance(document.get("context"), dict) and (
        "span_kind" in document or "status_code" in document
    )


def read_phoenix_span(document: Object, reading: Reading) -> None:
    """Add the span in ``document``."""
    row = {key: value for key, value in document.items() if value is not None and value == value}
    context = row.get("context")
    ids = context if isinstance(context, dict) else {}
    trace_id, span_id, parent = record_ids(
        ids.get("trace_id", row.get("context.trace_id")),
        ids.get("span_id", row.get("context.span_id", row.get("__index_level_0__"))),
        row.get("parent_id"),
    )
    attributes = _attributes(row, reading)
    events = row.get("events")
    if isinstance(events, str):
        events = parse_inner(events, reading)
    kind = read_kind(row.get("span_kind"), attributes, reading)
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent,
            text_of(row.get("name")),
            times.any_time(row.get("start_time"), reading, "start_time"),
            times.any_time(row.get("end_time"), reading, "end_time"),
            attributes,
            Resource({}),
            kind,
            status_code(row.get("status_code"), reading),
            text_of(row.get("status_message")),
            read_events(events, reading),
        ),
        reading,
    )


def _attributes(row: Object, reading: Reading) -> dict[str, object]:
    nested = row.get("attributes")
    found: dict[str, object] = {}
    if isinstance(nested, dict):
        _flatten(nested, "", found)
    for key, value in row.items():
        if key.startswith(_COLUMN):
            found[key.removeprefix(_COLUMN)] = value
    return read_attributes(found, reading, "attributes")


def _flatten(level: Object, prefix: str, found: dict[str, object]) -> None:
    """Give nested attributes back their dotted names."""
    levels = [(prefix, level)]
    while levels:
        prefix, level = levels.pop()
        for key, value in level.items():
            name = prefix + key
            if isinstance(value, dict) and name not in _PARSED_BY_PHOENIX:
                levels.append((name + ".", value))
            else:
                found[name] = value
