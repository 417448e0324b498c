"""Langfuse's export of observations: the UI's and API's JSON, and the lines of its blob export.

An observation is a span whose arguments and result were taken out of its attributes and often
parsed; they go back under the names by which Langfuse's own SDK writes them into spans
(``langfuse.observation.*``), parsed as they are. What else the span carried is in ``metadata``,
an object or its JSON text: ``attributes``, ``resourceAttributes`` and ``scope``.
"""

from __future__ import annotations

from visceral_cli.ingest import times
from visceral_cli.ingest.ids import record_ids
from visceral_cli.ingest.json_text import parse_inner
from visceral_cli.ingest.span import ERROR, UNSET, Reading, Resource, Span
from visceral_cli.ingest.span_fields import Object, add_span, first_of, objects_in, text_of
from visceral_cli.ingest.values import read_attributes

_TRACE_ID = ("traceId", "trace_id")
_PARENT_ID = ("parentObservationId", "parent_observation_id")
_PREFIX = "langfuse.observation."


def is_langfuse_export(document: Object) -> bool:
    """Return whether ``document`` holds the observations of one trace."""
    return isinstance(document.get("observations"), list)


def is_langfuse_observation(document: Object) -> bool:
    """Return whether ``document`` is one observation."""
    return any(key in document for key in _PARENT_ID) and any(key in document for key in _TRACE_ID)


def read_langfuse_export(document: Object, reading: Reading) -> None:
    """Add the observations of one trace; its session and user hold for each of them."""
    trace = document.get("trace")
    context = _context(trace if isinstance(trace, dict) else document)
    for observation in objects_in(document.get("observations"), reading, "observations"):
        _read_observation(observation, context, reading)


def read_langfuse_observation(document: Object, reading: Reading) -> None:
    """Add one observation."""
    _read_observation(document, _context(document), reading)


def _context(trace: Object) -> dict[str, object]:
    """Return the attributes that Langfuse's SDK puts on every span of a trace."""
    found = {
        "session.id": first_of(trace, ("sessionId", "session_id")),
        "user.id": first_of(trace, ("userId", "user_id")),
    }
    return {key: value for key, value in found.items() if value not in (None, "")}


def _read_observation(observation: Object, context: dict[str, object], reading: Reading) -> None:
    metadata = _parsed(observation.get("metadata"), reading)
    trace_id, span_id, parent = record_ids(
        first_of(observation, _TRACE_ID),
        observation.get("id"),
        first_of(observation, _PARENT_ID),
    )
    scope = metadata.get("scope")
    failed = observation.get("level") == "ERROR"
    add_span(
        Span(
            trace_id or "",
            span_id or "",
            parent,
            text_of(observation.get("name")),
            times.any_time(
                first_of(observation, ("startTime", "start_time")), reading, "startTime"
            ),
            times.any_time(first_of(observation, ("endTime", "end_time")), reading, "endTime"),
            _attributes(observation, metadata, context, reading),
            Resource(
                read_attributes(metadata.get("resourceAttributes"), reading, "resource attributes")
            ),
            0,
            ERROR if failed else UNSET,
            text_of(first_of(observation, ("statusMessage", "status_message"))),
            [],
            text_of(scope.get("name")) if isinstance(scope, dict) else "",
        ),
        reading,
    )


def _attributes(
    observation: Object, metadata: Object, context: dict[str, object], reading: Reading
) -> dict[str, object]:
    attributes = read_attributes(metadata.get("attributes"), reading, "metadata.attributes")
    for key, value in context.items():
        attributes.setdefault(key, value)
    written = {
        "type": text_of(observation.get("type")).lower() or None,
        "level": observation.get("level"),
        "status_message": first_of(observation, ("statusMessage", "status_message")),
        "input": observation.get("input"),
        "output": observation.get("output"),
        "model.name": observation.get("model"),
        "usage_details": first_of(observation, ("usageDetails", "usage_details")),
        "cost_details": first_of(observation, ("costDetails", "cost_details")),
    }
    written |= {
        f"metadata.{key}": value
        for key, value in metadata.items()
        if key not in ("attributes", "resourceAttributes", "scope")
        and isinstance(value, (str, int, float))
    }
    own = {_PREFIX + key: value for key, value in written.items() if value not in (None, {})}
    return attributes | read_attributes(own, reading, "observation")


def _parsed(metadata: object, reading: Reading) -> Object:
    """Return the metadata as an object; some exports hold its JSON text."""
    if isinstance(metadata, str):
        metadata = parse_inner(metadata, reading)
    return metadata if isinstance(metadata, dict) else {}
