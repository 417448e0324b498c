"""A window that moves over JSON text too long to be held, from which values are taken."""

from __future__ import annotations

import codecs
import re
from typing import Protocol

from visceral_cli.ingest.json_text import BETWEEN, NotJson, may_hold_surrogates, raw_decode

WINDOW = 16 << 20
"""How much text is held before a value is given up or taken apart."""

_CHUNK = 1 << 20
_ENDINGS = 16
"""Errors this near to the end of the text may come from its end."""

_next_start = re.compile(r"\n[\x1e\ufeff]*[{\[]")


class Source(Protocol):
    """What a window reads from."""

    def read(self, size: int, /) -> bytes:
        """Return the next ``size`` bytes or fewer; none only at the end."""


class Unread(ValueError):
    """A value that could not be taken.

    ``is_cut``: the input ends in it; ``is_too_long``: it is longer than allowed.
    """

    def __init__(self, *, is_cut: bool = False, is_too_long: bool = False) -> None:
        super().__init__("no JSON value")
        self.is_cut = is_cut
        self.is_too_long = is_too_long


class JsonWindow:
    """The text of ``source`` from the present position on, as far as it is needed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._undecoded = b""
        self._text = ""
        self._at = 0
        self._before = 0
        self._counted = 0
        self._line = 1
        self.ended = False
        """Whether the source has nothing more."""
        self.bad_chunks = 0
        """How many chunks were not UTF-8 since this was last set to 0."""
        self.escapes_surrogates = False
        """Whether a surrogate was escaped in what was taken since this was last set."""

    @property
    def position(self) -> int:
        """How many characters lie before the present position."""
        return self._before + self._at

    @property
    def line(self) -> int:
        """The number of the present line, from 1."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    @property
    def lines(self) -> int:
        """How many lines lie before the present position, the present one included if begun."""
        at_start = self._at == 0 or self._text[self._at - 1] == "\n"
        return self.line - at_start

    def peek(self) -> str:
        """Return the next character that is no white space, and move to it; "" at the end."""
        return self._move_to(" \t\r\n")

    def next_document(self) -> str:
        """Move to the next document; return its first character, "" at the end."""
        return self._move_to(BETWEEN)

    def _move_to(self, ignored: str) -> str:
        while True:
            text, at, length = self._text, self._at, len(self._text)
            while at < length and text[at] in ignored:
                at += 1
            self._at = at
            if at < length:
                return text[at]
            if not self._fill():
                return ""

    def skip(self, expected: str) -> None:
        """Move behind the next character, which must be ``expected``."""
        found = self.peek()
        if found != expected:
            raise Unread(is_cut=not found)
        self._at += 1

    def skip_run(self, character: str) -> None:
        """Move behind all of ``character`` that follow."""
        self._move_to(character)

    def take(self, limit: int = WINDOW) -> object:
        """Return the JSON value at the present position and move behind it."""
        self.peek()
        while True:
            try:
                value, end = raw_decode(self._text, self._at)
            except NotJson as error:
                self._read_on(error, limit)
                continue
            if end == len(self._text) and self._fill():
                continue  # a number may go on
            if may_hold_surrogates(self._text, self._at, end):
                self.escapes_surrogates = True
            self._at = end
            return value

    def _read_on(self, error: NotJson, limit: int) -> None:
        """Fill the window, where ``error`` may come from its end."""
        held = len(self._text) - self._at
        at_end = error.position >= len(self._text) - _ENDINGS or "Unterminated" in str(error)
        if self.ended or held >= limit or (held >= WINDOW and not at_end):
            raise Unread(is_cut=self.ended and at_end, is_too_long=not self.ended and at_end)
        self._fill()

    def skip_to_next_start(self, after: int) -> None:
        """Move to the next line that begins with a document, or to the end.

        The present line counts where it lies behind the position ``after``.
        """
        at = max(0, self._at - _ENDINGS, after + 1 - self._before)
        while True:
            found = _next_start.search(self._text, at)
            if found:
                self._at = found.end() - 1
                return
            self._at = max(self._at, len(self._text) - _ENDINGS)
            if not self._fill():
                self._at = len(self._text)
                return
            at = self._at

    def _fill(self) -> bool:
        """Add at least as much text as is held; return whether there was any."""
        if self.ended:
            return False
        chunk = self._source.read(max(_CHUNK, len(self._text) - self._at))
        self.ended = not chunk
        _ = self.line
        left = max(0, self._at - 1)  # what lies before tells whether a line begins here
        self._text = self._text[left:] + self._decode(self._undecoded + chunk)
        self._before += left
        self._at -= left
        self._counted = self._at
        return True

    def _decode(self, data: bytes) -> str:
        try:
            text, used = codecs.utf_8_decode(data, "strict", self.ended)
        except UnicodeDecodeError:
            self.bad_chunks += 1
            text, used = codecs.utf_8_decode(data, "replace", self.ended)
        self._undecoded = data[used:]
        return text
