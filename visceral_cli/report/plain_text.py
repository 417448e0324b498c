"""Text from traces made harmless: names in, one line of visible characters out.

A tool may be named by anybody. Shown as it is, its name could move the cursor, colour the screen,
make a link, turn the reading direction or fill the screen; here it stays text.
"""

from __future__ import annotations

import unicodedata

LONGEST_NAME = 80
"""Characters of a name that are shown; the JSON report holds every name whole."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories without a visible form: control, format, surrogate, private, line ends."""

_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 2
"""Combining marks that one letter may carry; more would be drawn over other lines."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def plain(text: str, *, longest: int | None = LONGEST_NAME) -> str:
    """Return ``text`` as one line of visible characters, cut after ``longest`` of them.

    What has no visible form is shown as its escape, such as ``\\x1b`` or ``\\u202e``.
    """
    left_out = 0 if longest is None else len(text) - longest
    if left_out > 0:
        text = text[:longest]
    if not (text.isascii() and text.isprintable()):
        text = _escaped(text)
    return f"{text}… (+{left_out:,} characters)" if left_out > 0 else text


def harmless(text: str) -> str:
    """Return ``text`` with its line ends, and everything else without a visible form escaped."""
    return "\n".join(plain(line, longest=None) for line in text.split("\n"))


def _escaped(text: str) -> str:
    shown: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in _MARKS else 0
        hidden = category in _HIDDEN or marks > _MOST_MARKS
        shown.append(_escape(character) if hidden else character)
    return "".join(shown)


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
