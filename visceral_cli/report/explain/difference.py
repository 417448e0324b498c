"""Where two JSON values first differ: a path and a kind of difference, without the values.

Values count as JSON writes them: ``1``, ``1.0``, ``true`` and ``"1"`` all differ.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

_LONGEST_VALUE = 80
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
"""A key of this shape is taken for the name of a field, and shown; others may be data."""

_ABSENT = object()


class Difference(msgspec.Struct, frozen=True):
    """The first difference of two JSON values, in the order of their canonical texts."""

    path: str
    """Such as ``$.fares[0].price``; a key that does not look like a name is left out: ``[…]``."""
    how: str
    """Such as ``other value``, ``only in the first``, ``number and text``; never a value."""
    first: str | None = None
    """JSON of the first value there, cut to a line; ``None`` where there is none."""
    second: str | None = None


def parsed(text: str | None) -> Any:
    """Return the value of a JSON text; the absent value for what cannot be read."""
    if text is None:
        return _ABSENT
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _ABSENT


def difference_of_texts(
    first: str | None, second: str | None, *, show_values: bool
) -> Difference | None:
    """Return where two JSON texts first differ; ``None`` if they do not, or one is unknown."""
    one, other = parsed(first), parsed(second)
    if one is _ABSENT or other is _ABSENT:
        return None
    return first_difference(one, other, show_values=show_values)


def first_difference(first: Any, second: Any, *, show_values: bool) -> Difference | None:
    """Return the first difference of two values; ``None`` if they are equal as JSON."""
    open_ = [("$", first, second)]
    while open_:
        path, one, other = open_.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            keys = sorted(one.keys() | other.keys(), reverse=True)
            open_ += [
                (
                    f"{path}{_step(key, show_values=show_values)}",
                    one.get(key, _ABSENT),
                    other.get(key, _ABSENT),
                )
                for key in keys
            ]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                how = f"{len(one)} and {len(other)} elements"
                open_.append((path, _Length(how), _Length("")))
            both = list(zip(one, other, strict=False))
            open_ += [(f"{path}[{n}]", *both[n]) for n in range(len(both) - 1, -1, -1)]
        elif not _equal(one, other):
            return Difference(
                path,
                _how(one, other),
                _shown(one) if show_values else None,
                _shown(other) if show_values else None,
            )
    return None


class _Length(msgspec.Struct, frozen=True):
    """Stands for a list whose elements were compared and which is longer than the other."""

    how: str


def _step(key: str, *, show_values: bool) -> str:
    if _FIELD_NAME.fullmatch(key):
        return f".{key}"
    return f"[{json.dumps(key)[:_LONGEST_VALUE]}]" if show_values else "[…]"


def _equal(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


_NAMES: Mapping[type, str] = {
    bool: "true or false",
    int: "whole number",
    float: "number with a fraction",
    str: "text",
    list: "list",
    dict: "object",
    type(None): "null",
}


def _how(one: Any, other: Any) -> str:
    if isinstance(one, _Length):
        return one.how
    if one is _ABSENT:
        return "only in the second"
    if other is _ABSENT:
        return "only in the first"
    if type(one) is not type(other):
        return f"{_NAMES[type(one)]} and {_NAMES[type(other)]}"
    if isinstance(one, str):
        return _how_texts(one, other)
    return "other value"


def _how_texts(one: str, other: str) -> str:
    forms = (
        ("other Unicode form", lambda text: unicodedata.normalize("NFC", text)),
        ("other spaces", lambda text: "".join(text.split())),
        ("other letter case", str.casefold),
    )
    for how, fold in forms:
        if fold(one) == fold(other):
            return how
    return "other value"


def _shown(value: Any) -> str | None:
    if value is _ABSENT or isinstance(value, _Length):
        return None
    return one_line(value)


def one_line(value: Any, *, longest: int = _LONGEST_VALUE) -> str:
    """Return a value as JSON, cut to a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
