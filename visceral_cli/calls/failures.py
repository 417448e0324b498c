"""Whether a call failed: by its span, or by what it returned."""

from __future__ import annotations

from visceral_cli.calls.convention import ANY, Convention
from visceral_cli.ingest.span import ERROR, Span
from visceral_cli.settings import ToolDeclaration

ERROR_KEY = "error"
ERROR_PREFIX = "Error:"


def span_failed(span: Span, row: Convention) -> bool:
    """Whether the span itself tells a failure.

    By its status, by an exception event (whatever the status: what raised inside is no source of
    results), or by an attribute that the convention names.
    """
    if span.status == ERROR:
        return True
    for event in span.events:
        if event.name == "exception":
            return True
    for key, failing in row.failed_if:
        value = span.attributes.get(key)
        if value is not None and value != "" and (failing is ANY or str(value) == failing):
            return True
    return False


def value_failed(value: object, declaration: ToolDeclaration) -> bool:
    """Whether the tool's own value tells a failure.

    A text does that begins with ``Error:``, and so does an object whose ``error`` holds anything
    but null, false, zero or empty, or whose ``success`` is ``false``. A declaration replaces the
    prefix by its ``error_prefix``, and both keys by its ``error_key``; with an empty text nothing
    counts. JSON text was read before, so a serialised object is held to the same.
    """
    if isinstance(value, str):
        prefix = ERROR_PREFIX if declaration.error_prefix is None else declaration.error_prefix
        return bool(prefix) and value.lstrip().startswith(prefix)
    if isinstance(value, dict):
        key = declaration.error_key
        if key is None:
            return bool(value.get(ERROR_KEY)) or value.get("success") is False
        return bool(key) and bool(value.get(key))
    return False
