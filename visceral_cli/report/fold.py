"""Texts on several lines of a given width: nothing is cut, no number is parted from its unit."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

GLUE = "\ue000"
"""Stands for a space at which no line may end; names never hold it, `plain` escapes it."""

_UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|days|[kMGT]?B)\b)")
_WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})
"""Unicode categories of what is drawn over the character before, or not at all."""

_JOINTS = frozenset(" _-./:")
"""After these a name is broken, if that leaves no short line."""


@lru_cache(maxsize=4096)
def cell_count(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in _WITHOUT_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def glued(text: str) -> str:
    """Return text of which no line ends between a number and its unit."""
    return _UNIT.sub(GLUE, text)


def fold_name(name: str, width: int) -> list[str]:
    """Return a name in lines of at most ``width`` cells, broken after ``_`` and the like."""
    lines = []
    while cell_count(name) > width:
        end = _fitting(name, width)
        joint = _last_joint(name, end)
        end = joint if 2 * joint >= end else end
        lines.append(name[:end])
        name = name[end:]
    return [*lines, name]


def _fitting(text: str, width: int) -> int:
    """Return how many characters fit, at least one; a mark stays with its letter."""
    used = 0
    for place, character in enumerate(text):
        used += cell_count(character)
        if used > width and place:
            return place
    return len(text)


def _last_joint(name: str, end: int) -> int:
    """Return the last place up to ``end`` after a joint that carries no mark; 0 for none."""
    for place in range(end, 0, -1):
        if name[place - 1] in _JOINTS and cell_count(name[place : place + 1]):
            return place
    return 0


def fold_sentence(text: str, width: int) -> list[str]:
    """Return a sentence in lines of at most ``width`` cells, broken between words."""
    return fold_parts(glued(text).split(" "), width, gap=" ")


def fold_parts(parts: Iterable[str], width: int, *, gap: str) -> list[str]:
    """Return parts beside each other as far as they fit, each whole if a line can hold it."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_count(beside := f"{lines[-1]}{gap}{part}") <= width:
            lines[-1] = beside
        elif part:
            lines += fold_name(part, width)
    return lines or [""]
