"""Parts of OTLP protobuf as they lie on the wire: attributes, events, status, resource, scope.

Functions here raise ``DecodeError`` where the bytes are not what they should be.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from visceral_cli.ingest.span import Event, Resource

Pair = tuple[str, object]

_SHORT_BYTES = 128
"""Attributes of up to this length are likely to come again, and are remembered."""

_MOST_KNOWN = 8192

_known: dict[bytes, Pair] = {}
"""Short attributes that were read before."""


def pairs_of(raws: list[bytes]) -> list[Pair]:
    """Return keys and values of attributes."""
    known = _known.get
    return [known(raw) or _pair(raw) for raw in raws]


def value_of(raw: bytes) -> object:
    """Return the value of one attribute."""
    return (_known.get(raw) or _pair(raw))[1]


def _pair(raw: bytes) -> Pair:
    decoded = common_pb2.KeyValue.FromString(raw)
    value = decoded.value
    pair = decoded.key, value.string_value or _value(value)
    if len(raw) <= _SHORT_BYTES:
        _remember(raw, pair)
    return pair


def _remember(raw: bytes, pair: Pair) -> None:
    """Keep an attribute, unless whoever has it can change it."""
    if not isinstance(pair[1], (list, dict)):
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[raw] = pair


def event_of(raw: bytes) -> Event:
    """Return an event."""
    event = trace_pb2.Span.Event.FromString(raw)
    return Event(event.name, _attributes(event.attributes))


@lru_cache(maxsize=64)
def status_of(raw: bytes) -> tuple[int, str]:
    """Return code and message of a status."""
    status = trace_pb2.Status.FromString(raw)
    return status.code, status.message


@lru_cache(maxsize=64)
def resource_of(raw: bytes) -> Resource:
    """Return a resource, the same object for messages that have the same."""
    return Resource(_attributes(resource_pb2.Resource.FromString(raw).attributes))


@lru_cache(maxsize=64)
def scope_name(raw: bytes) -> str:
    """Return the name of an instrumentation scope."""
    name: str = common_pb2.InstrumentationScope.FromString(raw).name
    return name


def _attributes(pairs: Any) -> dict[str, object]:
    return {pair.key: (value := pair.value).string_value or _value(value) for pair in pairs}


def _value(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "string_value_strindex":  # into a table that only profiles have
        return None
    found: object = getattr(value, kind)
    return found
