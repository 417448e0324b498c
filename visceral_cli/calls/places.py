"""Where a span holds arguments and result: attributes, span events, and attributes taken apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from visceral_cli.calls.attribute_values import number
from visceral_cli.calls.canonical import NotJson, parse_json
from visceral_cli.calls.convention import Convention, Text
from visceral_cli.calls.tool_call import CallKind
from visceral_cli.ingest.span import Event, Span

_DOCUMENTS = {
    CallKind.RETRIEVER: "retrieval.documents.",
    CallKind.RERANKER: "reranker.output_documents.",
}
_BESIDE: Mapping[CallKind, tuple[str, tuple[str, ...]]] = {
    CallKind.RETRIEVER: ("retrieval.", ("retrieval.documents.",)),
    CallKind.RERANKER: ("reranker.", ("reranker.output_documents.",)),
    CallKind.EMBEDDING: ("embedding.", ()),
}

EMPTY_PAIR = ("gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response")
"""Where Google ADK writes ``{}`` twice when it captures no content."""

_JSON = Text.JSON
"""Looked up once: reading a member off its class costs a tenth of a microsecond."""

Get = Callable[[str], object]


def first(get: Get, keys: tuple[str, ...]) -> object:
    """Return the first attribute that is present."""
    for key in keys:
        value = get(key)
        if value is not None:
            return value
    return None


def text_or_none(attributes: Mapping[str, object], key: str | None) -> str | None:
    """Return an attribute that is a text."""
    if key is None:
        return None
    value = attributes.get(key)
    return value if isinstance(value, str) else None


def text_of(value: object) -> str | None:
    """Return a value that is a text."""
    return value if isinstance(value, str) else None


def first_text(get: Get, keys: tuple[str, ...]) -> str | None:
    """Return the first attribute that is a text and not empty; integers count as their digits."""
    for key in keys:
        text = as_text(get(key))
        if text is not None:
            return text
    return None


def as_text(value: object) -> str | None:
    """Return a value that is a text and not empty, or the digits of an integer that is not zero."""
    if value:
        if type(value) is str:
            return value
        if type(value) is int:
            return str(value)
    return None


def call_id(get: Get, keys: tuple[str, ...]) -> str | None:
    """Return the id of the call: the first attribute that is one."""
    for key in keys:
        found = as_call_id(get(key))
        if found is not None:
            return found
    return None


def as_call_id(value: object) -> str | None:
    """Return an id of a call; a list of ids (Microsoft's agents) is the JSON text of it."""
    if value:
        if type(value) is str:
            return value
        if isinstance(value, list):
            return json.dumps(value)
    return None


def cost(get: Get, keys: tuple[str, ...]) -> float | None:
    """Return the money of the call, USD; Langfuse has a JSON object of parts and their total."""
    value = first(get, keys)
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = parse_json(value).value
        except NotJson:
            return None
    if isinstance(value, dict):
        value = value.get("total")
    return number(value)


def tool_in_name(name: str, row: Convention) -> str:
    """Return the tool's name out of the span's: ``get_weather`` of ``execute_tool get_weather``."""
    for prefix in row.prefixes:
        if name.startswith(prefix):
            name = name[len(prefix) :]
            break
    for suffix in row.suffixes:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def named(span: Span, attribute: str) -> str | None:
    """Return an attribute that the user named: of the span, else of what produced it."""
    value = span.attributes.get(attribute)
    if value is None:
        value = span.resource.attributes.get(attribute)
    return as_name(value)


def as_name(value: object) -> str | None:
    """Return the text of an attribute that the user named; ``None`` for none or an empty one."""
    return None if value is None or value == "" else str(value)


def raw_arguments(span: Span, row: Convention) -> tuple[object, Text]:
    """Return what a span holds as arguments, and how a text of it is meant."""
    get = span.attributes.get
    for key in row.arguments:
        value = get(key)
        if value is not None:
            if value == "{}" and row.empty_pair_is_missing and _is_empty_pair(get):
                return None, _JSON
            # Only the library's own attribute holds bare values; the others are JSON everywhere.
            return value, row.argument_text if key == row.arguments[0] else _JSON
    if row.argument_event is not None:
        value = in_event(span.events, row.argument_event)
        if value is not None:
            return value, _JSON
    return flattened(span.attributes, row.arguments), _JSON


def raw_result(span: Span, row: Convention) -> object:
    """Return what a span holds as the result."""
    get = span.attributes.get
    for key in row.result:
        value = get(key)
        if value is not None:
            if value == "{}" and row.empty_pair_is_missing and _is_empty_pair(get):
                return None
            return value
    if row.result_event is not None:
        value = in_event(span.events, row.result_event)
        if value is not None:
            return value
    return flattened(span.attributes, row.result)


def _is_empty_pair(get: Get) -> bool:
    """Whether Google ADK wrote ``{}`` for both since it was told to capture no content."""
    return all(get(key) == "{}" for key in EMPTY_PAIR)


def in_event(events: Iterable[Event], place: tuple[str, str]) -> object:
    """Return the value of an attribute of the first event of a name, or ``None``."""
    name, key = place
    for event in events:
        if event.name == name and event.attributes.get(key) is not None:
            return event.attributes[key]
    return None


def flattened(attributes: Mapping[str, object], keys: Iterable[str]) -> object:
    """Return a value that a backend took apart into ``key.a``, ``key.b.0``, or ``None``."""
    for key in keys:
        parts = _parts_under(attributes, f"{key}.")
        if parts:
            return _nested(parts)
    return None


def _parts_under(attributes: Mapping[str, object], prefix: str) -> dict[str, object]:
    return {
        key[len(prefix) :]: value
        for key, value in attributes.items()
        if key.startswith(prefix) and value is not None
    }


def _nested(parts: Mapping[str, object]) -> object:
    """Return ``{"a.0": x, "a.1": y}`` as ``{"a": [x, y]}``; only whole sequences are lists."""
    below: dict[str, object] = {}
    groups: dict[str, dict[str, object]] = {}
    for name, value in parts.items():
        start, dot, rest = name.partition(".")
        if dot:
            groups.setdefault(start, {})[rest] = value
        else:
            below[start] = value
    for name, group in groups.items():
        below[name] = _nested(group)
    if below and all(str(place) in below for place in range(len(below))):
        return [below[str(place)] for place in range(len(below))]
    return below


def beside_arguments(
    row: Convention, kind: CallKind, attributes: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments that OpenInference keeps in attributes of their own.

    ``retrieval.top_k`` and the like, what a reranker was given, the model of an embedding: two
    calls that differ only there are different.
    """
    if not row.documents or kind not in _BESIDE:
        return {}
    prefix, results = _BESIDE[kind]
    parts = {
        name: value
        for name, value in _parts_under(attributes, prefix).items()
        if not (prefix + name).startswith(results) and not name.endswith(".embedding.vector")
    }
    found = _nested(parts)
    return found if isinstance(found, dict) else {}


def documents(row: Convention, kind: CallKind, attributes: Mapping[str, object]) -> object:
    """Return the documents a retriever or reranker found, as a list, or ``None``."""
    prefix = _DOCUMENTS.get(kind)
    if not row.documents or prefix is None:
        return None
    parts = _parts_under(attributes, prefix)
    if not parts:
        return None
    found = _nested(parts)
    return [_document(item) for item in found] if isinstance(found, list) else found


def _document(item: object) -> object:
    inner = item.get("document", item) if isinstance(item, dict) else item
    if isinstance(inner, dict) and isinstance(inner.get("metadata"), str):
        try:
            return inner | {"metadata": parse_json(inner["metadata"]).value}
        except NotJson:
            pass
    return inner
