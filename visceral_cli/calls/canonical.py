"""JSON text to a value, and a value to canonical JSON: fast where that gives the same text.

``msgspec`` reads and writes JSON several times faster than ``json``, but writes some numbers
otherwise (``1e16`` for ``1e+16``, ``0.00001`` for ``1e-05``) and leaves DEL and all characters
beyond ASCII unescaped. So floats that are not plainly written send the whole text to ``json``, and
what ``msgspec`` writes is escaped afterwards. A property test holds the two against each other.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii

import msgspec

from visceral_cli.contract.identity import canonical_json_of_parsed


class NotJson(ValueError):
    """The text is no JSON; ``cut`` says whether it only ends too early."""

    def __init__(self, *, cut: bool) -> None:
        super().__init__("no JSON")
        self.cut = cut


class Parsed(msgspec.Struct, frozen=True, gc=False):
    """A value read from text."""

    value: object
    plain: bool
    """Whether every float in it is one that `canonical_text` may write fast."""


class _UnusualFloat(Exception):
    """A float whose text may differ between the two writers."""


class _Floats(dict[str, float]):
    """Floats by their text: asking a dictionary costs half of what ``lru_cache`` does."""

    def __missing__(self, text: str) -> float:
        # Up to 16 characters without an exponent is below 1e16; from 0.0001 on no writer uses one.
        if len(text) > 16 or "e" in text or "E" in text or "0.0000" in text:
            raise _UnusualFloat
        if len(self) >= _MOST_FLOATS:
            self.clear()
        value = self[text] = float(text)
        return value


_MOST_FLOATS = 8192

decode_plain = msgspec.json.Decoder(float_hook=_Floats().__getitem__).decode
"""Returns the value of a JSON text as `parse_json` does, or raises one of `NOT_DECODED`."""

NOT_DECODED = (msgspec.MsgspecError, _UnusualFloat, RecursionError, ValueError)
"""What `decode_plain` raises for text that `parse_json` must read, if anything can."""


_encoder = msgspec.json.Encoder(order="sorted")
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines
_NOT_ENCODED = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return encode_basestring_ascii(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("visceral-json-escape", _escape)


def parse_json(text: str) -> Parsed:
    """Return the value of a JSON text: ``1`` stays apart from ``1.0``, integers stay exact.

    Of equal keys the last one wins. NaN and infinity are read, as ``json`` does; they have no
    canonical form. Raises `NotJson`.
    """
    try:
        return Parsed(decode_plain(text), True)
    except NOT_DECODED:
        pass  # what json reads and msgspec does not: NaN, lone surrogates, such floats
    try:
        return Parsed(json.loads(text), False)
    except json.JSONDecodeError as error:
        cut = _ends_early(error, text)
    except (RecursionError, ValueError):
        cut = False
    raise NotJson(cut=cut)


def _ends_early(error: json.JSONDecodeError, text: str) -> bool:
    if error.msg.startswith(("Unterminated string", "Invalid \\uXXXX")):
        return True
    rest = text[error.pos :].rstrip()
    return error.msg.startswith("Expecting") and any(
        word.startswith(rest) for word in ("true", "false", "null", "-")
    )


def canonical_text(value: object, *, plain: bool) -> str:
    """Return the canonical JSON of a value that a JSON text was read into.

    ``plain`` as `Parsed` tells it; where a value was put together from several texts, whether all
    of them were. Raises `NotCanonical` for NaN, infinity and integers beyond the digit limit.
    """
    if not plain:
        return canonical_json_of_parsed(value)
    try:
        text = _encode(value).decode()
    except _NOT_ENCODED:
        return canonical_json_of_parsed(value)
    return _escaped(text)


def canonical_texts(values: Sequence[object]) -> list[str]:
    """Return the canonical JSON of values that were all read from plain texts, in their order.

    The same as `canonical_text` for each, for two thirds of the time. Raises as it does, for any.
    """
    return canonical_lines(values).split("\n")[:-1]  # JSON of one line has no other line feed


def canonical_lines(values: Sequence[object]) -> str:
    """Return what `canonical_texts` does as one text, with a line feed after each."""
    try:
        lines = _encode_lines(values).decode()
    except _NOT_ENCODED:
        return "".join([canonical_text(value, plain=True) + "\n" for value in values])
    return _escaped(lines)


def _escaped(text: str) -> str:
    if "\x7f" in text:
        text = text.replace("\x7f", "\\u007f")
    if not text.isascii():
        text = text.encode("ascii", "visceral-json-escape").decode("ascii")
    return text
