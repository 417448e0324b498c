"""The order of an object's keys, told beside canonical JSON, which sorts them.

What an agent sees must render as the tool returned it, so a value that is read from its canonical
text needs its order back. The text names, for each object of two keys or more, the places of its
keys in sorted order: ``{"b": 1, "a": 2}`` is ``1,0``. Objects come in the order in which the
canonical text opens them, equal ones in a row as ``1,0*3``, in sorted order ``=``, and where all
are in sorted order the text is empty. It holds no key and no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, repeat
from typing import Any

MAX_CHARACTERS = 4096
"""A longer text is not written: then the order is not known."""

_SORTED = "="


class UnfitOrder(ValueError):
    """The text tells no order of this value."""


def key_order(value: object) -> str | None:
    """Return the order of the keys in a value of JSON's types; ``None``: it takes too long a text.

    The value must not be circular.
    """
    orders = [_place_text(found) for found in _objects(value)]
    if all(order == _SORTED for order in orders):
        return ""
    pieces = []
    for order, equal in groupby(orders):
        count = sum(1 for _ in equal)
        pieces.append(order if count == 1 else f"{order}*{count}")
    text = ";".join(pieces)
    return text if len(text) <= MAX_CHARACTERS else None


def put_in_order(value: Any, order: str) -> None:
    """Give the objects in ``value`` the order that `key_order` told; changes them in place.

    Raises `UnfitOrder`; the value may then be in any order.
    """
    orders = _orders(order) if order else repeat(_SORTED)
    for found in _objects(value):
        names = sorted(found)
        places = _places(next(orders, ""), len(names))
        members = [(names[place], found[names[place]]) for place in places]
        found.clear()
        found.update(members)
    if order and next(orders, None) is not None:
        raise UnfitOrder("more orders than objects")


def is_order_told(value: object) -> bool:
    """Whether the canonical text alone tells the order: no object has two keys."""
    return next(_objects(value), None) is None


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of two keys or more, as the canonical text opens them."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            inner = [item[name] for name in sorted(item)]
            if len(item) > 1:
                yield item
            waiting.extend(reversed(inner))
        elif isinstance(item, list):
            waiting.extend(reversed(item))


def _place_text(found: dict[str, Any]) -> str:
    place = {name: number for number, name in enumerate(sorted(found))}
    places = [place[name] for name in found]
    if places == list(range(len(places))):
        return _SORTED
    return ",".join(map(str, places))


def _orders(text: str) -> Iterator[str]:
    for piece in text.split(";"):
        order, _, count = piece.partition("*")
        if count and not _is_number(count):
            raise UnfitOrder("not a number of objects")
        for _ in range(int(count or 1)):
            yield order


def _places(order: str, count: int) -> list[int]:
    if order == _SORTED:
        return list(range(count))
    numbers = order.split(",")
    places = [int(number) for number in numbers if _is_number(number)]
    if len(numbers) != count or sorted(places) != list(range(count)):
        raise UnfitOrder("not the order of this object")
    return places


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
