"""Attribute values: OTLP's AnyValue and KeyValue, or plain JSON, into Python values.

The spellings of ``opentelemetry/proto/common/v1/common.proto`` in JSON: camelCase and snake_case,
64-bit integers as text or number, ``"NaN"`` and ``"Infinity"`` as text, ``null`` for absent. A
value that is not what its key says spoils its own attribute only.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping

from visceral_cli.ingest.span import DamageKind, Reading

MAX_DEPTH = 100
"""How deep a value may be nested; protobuf has the same limit."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = {"NaN", "Infinity", "-Infinity"}


class BadValue(ValueError):
    """A value of the wrong type; the message says which, never its content."""


def read_attributes(pairs: object, reading: Reading, where: str) -> dict[str, object]:
    """Return the attributes in ``pairs``: a list of KeyValue, or a plain map.

    ``where`` names the field in what is noted of damaged attributes, which are left out. Of a key
    that stands twice the last value is kept. A null in a plain map is an absent attribute: column
    stores pad their rows with them.
    """
    if isinstance(pairs, list):
        return _read_pairs(pairs, reading, where)
    if isinstance(pairs, dict):
        return _read_plain(pairs, reading, where)
    if pairs is not None:
        reading.add_damage(DamageKind.FIELD, f"{where} is neither a list nor an object; left out")
    return {}


def _read_pairs(pairs: list[object], reading: Reading, where: str) -> dict[str, object]:
    attributes: dict[str, object] = {}
    for pair in pairs:
        try:
            key, value = _key_value(pair, 0)
        except BadValue as error:
            reading.add_damage(DamageKind.FIELD, f"{where}: {error}; left out")
            continue
        if key in attributes and not _same(attributes[key], value):
            reading.add_damage(
                DamageKind.FIELD, f"{where}: {name_of(key)} stands twice; the last is kept"
            )
        attributes[key] = value
    return attributes


def _read_plain(pairs: Mapping[object, object], reading: Reading, where: str) -> dict[str, object]:
    attributes: dict[str, object] = {}
    for key, value in pairs.items():
        if value is None:
            continue
        if nests_too_deep(value):
            reading.add_damage(
                DamageKind.FIELD, f"{where}: {name_of(key)} is nested too deep; left out"
            )
            continue
        attributes[str(key)] = value
    return attributes


def any_value(value: object, depth: int = 0) -> object:
    """Return the Python value of one AnyValue in JSON form; :class:`BadValue` if it is none.

    An empty AnyValue and a null are ``None``. A bare scalar is taken as it stands.
    """
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise BadValue("a value is a list, not an object")
        return value
    if depth > MAX_DEPTH:
        raise BadValue(f"a value is nested deeper than {MAX_DEPTH}")
    unknown = False
    for kind, content in value.items():
        if content is None:
            continue
        convert = _CONVERT.get(kind)
        if convert is not None:
            return convert(content, depth)
        unknown = True
    if unknown:
        raise BadValue("a value of an unknown kind")
    return None


def integer(value: object) -> int:
    """Return an integer that stands as a number or as text; :class:`BadValue` otherwise."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise BadValue("an integer is none")


def nests_too_deep(value: object) -> bool:
    """Return whether a plain JSON value is nested deeper than :data:`MAX_DEPTH`."""
    if not isinstance(value, (dict, list)):
        return False
    layer: list[object] = [value]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for item in layer:
            if isinstance(item, dict):
                inner += [one for one in item.values() if isinstance(one, (dict, list))]
            elif isinstance(item, list):
                inner += [one for one in item if isinstance(one, (dict, list))]
        if not inner:
            return False
        layer = inner
    return True


def name_of(key: object) -> str:
    """Return a key as it may be shown in a note: printable and not long."""
    text = str(key)[:40]
    return text if text.isprintable() else ascii(text)[1:-1]


def _key_value(pair: object, depth: int) -> tuple[str, object]:
    if not isinstance(pair, dict):
        raise BadValue("an attribute is no object")
    key = pair.get("key")
    if not isinstance(key, str):
        raise BadValue("an attribute without a key")
    try:
        return key, any_value(pair.get("value"), depth)
    except BadValue as error:
        if depth:
            raise
        raise BadValue(f"{name_of(key)}: {error}") from None


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _text(value: object, _depth: int) -> object:
    if isinstance(value, str):
        return value
    raise BadValue("stringValue is no text")


def _boolean(value: object, _depth: int) -> object:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise BadValue("boolValue is neither true nor false")


def _integer(value: object, _depth: int) -> object:
    try:
        return integer(value)
    except BadValue:
        raise BadValue("intValue is no integer") from None


def _double(value: object, _depth: int) -> object:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise BadValue("doubleValue is out of range") from None
    if isinstance(value, str) and (value in _NOT_FINITE or _NUMBER.fullmatch(value)):
        return float(value)
    raise BadValue("doubleValue is no number")


def _bytes(value: object, _depth: int) -> object:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        standard = value.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
        except (binascii.Error, ValueError):
            pass
    raise BadValue("bytesValue is no base64")


def _array(value: object, depth: int) -> object:
    values = value.get("values") if isinstance(value, dict) else value
    if values is None:
        return []
    if not isinstance(values, list):
        raise BadValue("arrayValue has no list of values")
    return [any_value(item, depth + 1) for item in values]


def _map(value: object, depth: int) -> object:
    pairs = value.get("values") if isinstance(value, dict) else value
    if pairs is None:
        return {}
    if not isinstance(pairs, list):
        raise BadValue("kvlistValue has no list of values")
    return dict(_key_value(pair, depth + 1) for pair in pairs)


_CONVERT: dict[object, Callable[[object, int], object]] = {
    "stringValue": _text,
    "string_value": _text,
    "boolValue": _boolean,
    "bool_value": _boolean,
    "intValue": _integer,
    "int_value": _integer,
    "doubleValue": _double,
    "double_value": _double,
    "bytesValue": _bytes,
    "bytes_value": _bytes,
    "arrayValue": _array,
    "array_value": _array,
    "kvlistValue": _map,
    "kvlist_value": _map,
}
