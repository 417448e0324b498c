"""Python literals as ``repr`` writes them, read without ever evaluating anything.

Some instrumentations write ``str()`` of a dictionary or of a message object instead of JSON.
Tuples and sets become lists (a set's in the order of its canonical members, since its own order
differs between processes); bytes stay the text of their ``repr``. ``Name(...)`` of a type this
module does not know stays its source text, or is read into `Constructed` for who asks. What shows
a memory address, ``<...>`` or anything else that two different objects may share is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from visceral_cli.contract.identity import NotCanonical, canonical_json

MAX_CHARACTERS = 1 << 20
"""A longer text is not read as a literal."""

MAX_DEPTH = 100
"""Deeper nesting is refused."""


class NotLiteral(ValueError):
    """The text is no literal; ``cut`` says whether it only ends too early."""

    def __init__(self, *, cut: bool) -> None:
        super().__init__("no Python literal")
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Constructed:
    """``name(positional, field=value)`` as the ``repr`` of an object."""

    name: str
    positional: list[object]
    fields: dict[str, object]


def read_literal(text: str) -> object:
    """Return the value of a literal; raises `NotLiteral`, and `NotCanonical` for other keys."""
    return _Reader(text, keep_constructed=False).whole()


def read_constructed(text: str, start: int) -> tuple[Constructed, int]:
    """Return the object whose ``repr`` begins at ``start``, and where it ends.

    Raises `NotLiteral` and `NotCanonical` as `read_literal` does.
    """
    reader = _Reader(text, keep_constructed=True)
    value, end = reader.value(start, 0)
    if not isinstance(value, Constructed):
        raise NotLiteral(cut=False)
    return value, end


def read_literal_at(text: str, start: int) -> tuple[object, int]:
    """Return the literal that begins at ``start``, and where it ends; raises as `read_literal`."""
    return _Reader(text, keep_constructed=False).value(start, 0)


_SPACE = re.compile(r"\s*")
_STRING = re.compile(r"([bB]?)(?:'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\")", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan)(?![\w.])")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_FIELD = re.compile(r"([A-Za-z_]\w*)=")
_BARE = re.compile(r"[A-Za-z_][\w.]*(?=\s*[,)])")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SINGLE = {
    "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"',
    "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "",
}  # fmt: skip
_CONSTANTS: dict[str, object] = {"None": None, "True": True, "False": False}
_FLOATS = {"nan": float("nan"), "inf": float("inf")}


class _Found(NamedTuple):
    value: object
    end: int


class _Reader:
    """Reads one text by recursive descent, positions in and out."""

    def __init__(self, text: str, *, keep_constructed: bool) -> None:
        if len(text) > MAX_CHARACTERS:
            raise NotLiteral(cut=False)
        self.text = text
        self.keep_constructed = keep_constructed

    def whole(self) -> object:
        value, end = self.value(self.skip(0), 0)
        if self.skip(end) != len(self.text):
            raise NotLiteral(cut=False)
        return value

    def skip(self, place: int) -> int:
        match = _SPACE.match(self.text, place)
        return match.end() if match else place

    def problem(self, place: int) -> NotLiteral:
        return NotLiteral(cut=place >= len(self.text))

    def at(self, place: int) -> str:
        return self.text[place : place + 1]

    def value(self, place: int, depth: int) -> _Found:
        if depth > MAX_DEPTH:
            raise NotLiteral(cut=False)
        first = self.at(place)
        if first == "{":
            return self.braces(place, depth)
        if first in ("[", "("):
            return self.sequence(place, depth)
        if match := _STRING.match(self.text, place):
            return _Found(_unescaped(match), match.end())
        if match := _NUMBER.match(self.text, place):
            return _Found(_number(match.group()), match.end())
        if match := _NAME.match(self.text, place):
            return self.named(match, depth)
        if first in ("'", '"'):
            raise NotLiteral(cut=True)
        raise self.problem(place)

    def named(self, match: re.Match[str], depth: int) -> _Found:
        name, end = match.group(), match.end()
        if name in _CONSTANTS:
            return _Found(_CONSTANTS[name], end)
        if self.at(end) != "(":
            raise self.problem(end)
        made, end = self.constructed(name, end, depth)
        return _Found(made if self.keep_constructed else self.text[match.start() : end], end)

    def constructed(self, name: str, place: int, depth: int) -> tuple[Constructed, int]:
        made = Constructed(name, [], {})
        place = self.skip(place + 1)
        while self.at(place) != ")":
            field = _FIELD.match(self.text, place)
            value, place = self.field_value(field.end() if field else place, depth + 1)
            if field:
                made.fields[field.group(1)] = value
            else:
                made.positional.append(value)
            place = self.next_item(place, ")")
        return made, place + 1

    def field_value(self, place: int, depth: int) -> _Found:
        # datetime(..., tzinfo=datetime.timezone.utc): a bare name, which stays text
        bare = _BARE.match(self.text, place)
        if bare and bare.group() not in _CONSTANTS:
            return _Found(bare.group(), bare.end())
        return self.value(place, depth)

    def next_item(self, place: int, closing: str) -> int:
        """Return the place of the next item or of ``closing`` after an item that ends here."""
        place = self.skip(place)
        if self.at(place) == ",":
            return self.skip(place + 1)
        if self.at(place) != closing:
            raise self.problem(place)
        return place

    def sequence(self, place: int, depth: int) -> _Found:
        closing = "]" if self.at(place) == "[" else ")"
        place = self.skip(place + 1)
        items: list[object] = []
        while self.at(place) != closing:
            item, end = self.value(place, depth + 1)
            items.append(item)
            place = self.next_item(end, closing)
            if closing == ")" and len(items) == 1 and self.text[self.skip(end)] == ")":
                return _Found(item, place + 1)  # parentheses without a comma: no tuple
        return _Found(items, place + 1)

    def braces(self, place: int, depth: int) -> _Found:
        place = self.skip(place + 1)
        pairs: dict[str, object] = {}
        members: list[object] = []
        while self.at(place) != "}":
            item, place = self.value(place, depth + 1)
            place = self.skip(place)
            if self.at(place) == ":":
                if not isinstance(item, str):
                    raise NotCanonical("a key is not text")
                pairs[item], place = self.value(self.skip(place + 1), depth + 1)
            else:
                members.append(item)
            place = self.next_item(place, "}")
        if members and pairs:
            raise NotLiteral(cut=False)
        return _Found(sorted(members, key=canonical_json) if members else pairs, place + 1)


def _number(text: str) -> object:
    if (special := text.lstrip("+-")) in _FLOATS:
        return -_FLOATS[special] if text[0] == "-" else _FLOATS[special]
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:  # beyond the interpreter's digit limit
        raise NotLiteral(cut=False) from None


def _unescaped(match: re.Match[str]) -> str:
    if match.group(1):
        return match.group()  # bytes: str() of them is their repr
    body: str = match.group(2) if match.group(2) is not None else match.group(3)
    if "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def _character(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 1:
        number = int(code[1:], 16)
        if number > 0x10FFFF:
            raise NotLiteral(cut=False)
        return chr(number)
    # An unknown escape keeps its backslash, as Python reads it.
    return _SINGLE.get(code, "\\" + code)
