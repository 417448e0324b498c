"""OTLP's trace messages, decoded only as deep as every span needs, and in two ways.

Both are ``opentelemetry-proto``'s own TracesData with other types for some fields that lie on the
wire in the same way, so that what is wanted comes out of the decoder in few pieces.

:data:`LeanTracesData` gives span after span. The repeated parts of a span (attributes, events,
links) and its status stay the bytes that they are on the wire: an attribute mostly repeats one seen
before, byte for byte, and can then be looked up instead of decoded.

:data:`TracesColumns` gives the spans of a scope as columns: one list of all their names, one of the
keys of all their attributes, one of all texts among the values. To protobuf a message that comes
again where one is expected adds to the one before. So where the schema has one span of which each
field is repeated, the fields of all spans come out as lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

_LEFT_AS_BYTES = {
    "ResourceSpans": ("resource",),
    "ScopeSpans": ("scope",),
    "Span": ("attributes", "events", "links", "status"),
}
_BYTES_IN_COLUMNS = {
    "ResourceSpans": ("resource",),
    "ScopeSpans": ("scope",),
    "Span": ("events", "links", "status"),
    "KeyValue": ("key",),
    "AnyValue": ("array_value", "kvlist_value"),
}
_COLUMNS = {
    "Span": (
        "trace_id",
        "span_id",
        "parent_span_id",
        "name",
        "kind",
        "start_time_unix_nano",
        "end_time_unix_nano",
        "dropped_attributes_count",
        "status",
    ),
    "KeyValue": ("key",),
    "AnyValue": ("string_value", "int_value"),
}
_ADDED_UP = {"ScopeSpans": ("spans",), "Span": ("attributes",)}


def _make_lean(message: str, field: Any) -> None:
    if field.name in _LEFT_AS_BYTES.get(message, ()):
        _leave_as_bytes(field)


def _make_columns(message: str, field: Any) -> None:
    field.ClearField("oneof_index")  # a field of a oneof cannot be repeated
    if field.name in _BYTES_IN_COLUMNS.get(message, ()):
        _leave_as_bytes(field)
    if field.name in _COLUMNS.get(message, ()):
        field.label = field.LABEL_REPEATED
    elif field.name in _ADDED_UP.get(message, ()):
        field.label = field.LABEL_OPTIONAL


def _leave_as_bytes(field: Any) -> None:
    field.type = field.TYPE_BYTES
    field.ClearField("type_name")


def _traces_data(change: Callable[[str, Any], None]) -> Any:
    """Return the class of a TracesData of which ``change`` has changed each message's fields."""
    pool = descriptor_pool.DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            for field in message.field:
                change(message.name, field)
            if not any(field.HasField("oneof_index") for field in message.field):
                message.ClearField("oneof_decl")  # one without fields is refused
        pool.AddSerializedFile(file.SerializeToString())
    name = trace_pb2.TracesData.DESCRIPTOR.full_name
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


LeanTracesData: Any = _traces_data(_make_lean)
TracesColumns: Any = _traces_data(_make_columns)
