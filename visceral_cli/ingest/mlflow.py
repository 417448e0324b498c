"""MLflow's ``Trace.to_json()``: ``{"info": {...}, "data": {"spans": [...]}}``.

Attribute values are JSON text (``"\\"TOOL\\""``) and stay so: MLflow's OTLP export has them in the
same form. Older spans have their ids in ``context``; newer ones have base64 ids and nanoseconds.
"""

from __future__ import annotations

from visceral_cli.ingest.bare_span import read_bare_span
from visceral_cli.ingest.python_console import is_python_console, read_python_console
from visceral_cli.ingest.span import Reading
from visceral_cli.ingest.span_fields import Object, first_of, objects_in

_CONTEXT_KEYS = ("mlflow.trace.session", "mlflow.trace.user")


def is_mlflow_trace(document: Object) -> bool:
    """Return whether ``document`` is one trace of MLflow."""
    data = document.get("data")
    return isinstance(data, dict) and "spans" in data and isinstance(document.get("info"), dict)


def read_mlflow_trace(document: Object, reading: Reading) -> None:
    """Add the spans of one trace, each with the session and user of the trace."""
    data, info = document.get("data"), document.get("info")
    metadata = (
        first_of(info, ("trace_metadata", "request_metadata")) if isinstance(info, dict) else None
    )
    first = len(reading.spans)
    spans = data.get("spans") if isinstance(data, dict) else None
    for span in objects_in(spans or [], reading, "spans"):
        if is_python_console(span):
            read_python_console(span | {"status": _old_status(span)}, reading)
        else:
            read_bare_span(span, reading)
    if isinstance(metadata, dict):
        context = {key: metadata[key] for key in _CONTEXT_KEYS if metadata.get(key)}
        for one in reading.spans[first:]:
            one.attributes = context | one.attributes


def _old_status(span: Object) -> object:
    status = span.get("status")
    if status is not None:
        return status
    return {"code": span.get("status_code"), "message": span.get("status_message")}
