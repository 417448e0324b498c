"""The attributes of many spans of OTLP protobuf at once.

The decoder gives the keys of all spans' attributes as one list, all values that are texts as
another and all that are integers as a third: no work for each attribute. Which of a span's values
are texts does not show there. It is expected to be as it was in other spans with the same keys, and
every span is held against that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from visceral_cli.ingest.proto_parts import pairs_of, value_of

_IN_COLUMNS = (str, int)
_VALUE = b"\x12"
"""The tag of an attribute's value."""

_INTEGER = b"\x18"
"""The tag of an integer in a value."""

_MOST_SHAPES = 1024
_MOST_KEYS = 128
"""Spans with more keys, most of them numbered, have no others alike."""


class Odd(Exception):
    """Something that only the reader of single spans may judge."""


class _Unlike(Odd):
    """Some span has texts or integers where others with its keys have none."""


class _Other(NamedTuple):
    """Where a value stands that is no text."""

    place: int
    heads: tuple[bytes, ...]
    """What the attribute may begin with if the value is an integer; else empty."""


class _Shape(NamedTuple):
    """What spans with the same keys in the same order have in common."""

    keys: tuple[str, ...]
    others: tuple[_Other, ...]


_Keys = tuple[bytes, ...]

_shapes: dict[_Keys, _Shape | None] = {}
"""By keys; ``None`` where spans with these keys differ in which values are texts."""


_Attributes = tuple[tuple[str, ...], list[Any]]
"""Keys, one object for all spans with the same, and values."""


def attributes_by_shape(spans: list[Any], columns: Any) -> list[_Attributes]:
    """Return the attributes of each span; raises :class:`Odd` and ``DecodeError``.

    ``spans`` have their attributes as bytes, ``columns`` are the attributes of all of them as one.
    """
    raws = [span.attributes for span in spans]
    keys, texts = tuple(columns.key[:]), columns.value.string_value[:]
    if sum(map(len, raws)) != len(keys):
        raise Odd
    try:
        return _attributes(raws, keys, texts, columns.value.int_value[::-1])
    except _Unlike:
        _learn_again(raws)
        raise


def _attributes(
    all_raws: list[Any], keys: _Keys, texts: list[str], integers: list[int]
) -> list[_Attributes]:
    """Give each span the keys that are its own, and as many texts and integers as its shape has.

    The values at the places of others than texts are looked at, so a span has no more texts than
    are taken for it, and no fewer integers. That all are taken in the end then means that each span
    got its own. The integers come in reverse.
    """
    found: list[_Attributes] = []
    key_at = text_at = 0
    for raws in all_raws:
        its_keys = keys[key_at : (key_at := key_at + len(raws))]
        names, others = _shapes.get(its_keys) or _shape_of(its_keys, raws)
        values: list[Any] = texts[text_at : (text_at := text_at + len(names) - len(others))]
        if others:
            _put_in(values, others, raws, integers)
        found.append((names, values))
    if text_at != len(texts) or integers:
        raise _Unlike
    return found


def _put_in(values: list[Any], others: tuple[_Other, ...], raws: Any, integers: list[int]) -> None:
    """Add the values that are no texts at their places among the others."""
    for place, heads in others:
        raw = raws[place]
        if not heads:
            value = value_of(raw)
            if type(value) in _IN_COLUMNS:
                raise _Unlike
        elif raw.startswith(heads):
            value = integers.pop()
        else:
            raise _Unlike
        values.insert(place, value)


def _shape_of(keys: _Keys, raws: Any) -> _Shape:
    """Read the attributes of a span one by one for what it has in common with others."""
    pairs = pairs_of(raws[:])
    names = tuple(name for name, _ in pairs)
    if len(set(names)) != len(names) or _encoded(names) != keys:
        raise Odd
    others = tuple(
        _Other(place, _heads(name) if type(value) is int else ())
        for place, (name, value) in enumerate(pairs)
        if type(value) is not str
    )
    shape = _Shape(names, others)
    if keys not in _shapes and len(keys) <= _MOST_KEYS:
        if len(_shapes) >= _MOST_SHAPES:
            _shapes.clear()
        _shapes[keys] = shape
    return shape


def _encoded(names: Iterable[str]) -> _Keys:
    return tuple(name.encode() for name in names)


def _heads(key: str) -> tuple[bytes, ...]:
    """Return what an attribute with an integer begins with: the tag before it is the last byte.

    One for each length of the value, which is a tag and a varint.
    """
    start = KeyValue(key=key).SerializeToString() + _VALUE
    return tuple(start + bytes((1 + length,)) + _INTEGER for length in range(1, 11))


def _learn_again(all_raws: list[Any]) -> None:
    """Note the shapes from which a span differs."""
    for raws in all_raws:
        keys = _encoded(name for name, _ in pairs_of(raws[:]))
        if _shapes.get(keys) not in (None, _shape_of(keys, raws)):
            _shapes[keys] = None
