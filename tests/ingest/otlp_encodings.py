"""Spans in both encodings of OTLP."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TRACE = bytes(range(1, 17))
SPAN = bytes(range(1, 9))
NS = 1760000000000000001


def add_span(message: Any, number: int = 1, **fields: Any) -> Any:
    span = message.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = TRACE, number.to_bytes(8, "big"), f"span {number}"
    span.start_time_unix_nano = span.end_time_unix_nano = NS
    for name, value in fields.items():
        setattr(span, name, value)
    return span


def set_value(target: Any, value: object) -> None:
    """Write a Python value into an AnyValue."""
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, int):
        target.int_value = value
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, bytes):
        target.bytes_value = value
    elif isinstance(value, list):
        target.array_value.SetInParent()
        for item in value:
            set_value(target.array_value.values.add(), item)
    elif isinstance(value, dict):
        target.kvlist_value.SetInParent()
        for key, item in value.items():
            pair = target.kvlist_value.values.add()
            pair.key = key
            set_value(pair.value, item)


def json_value(value: object) -> dict[str, Any]:
    """Return the OTLP JSON of a Python value."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [json_value(item) for item in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": json_value(item)} for key, item in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=200)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
"""Values of attributes that both encodings can tell."""
