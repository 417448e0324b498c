"""JSON text into objects, with all that real files hold against the letter of the standard.

Bare ``NaN``, several documents in a row, byte order marks and record separators between them,
bytes that are not UTF-8, halves of surrogate pairs, integers of any length.
"""

from __future__ import annotations

import json
import re

from visceral_cli.ingest.span import DamageKind, Reading

BETWEEN = " \t\r\n\x1e\ufeff,"
"""What may stand between documents: white space, the record separator of RFC 7464, the byte order
mark of a file that was appended, the comma of an array that lost its brackets."""

NOT_UTF8 = "not UTF-8; the replacement character stands in for the bad bytes"

_between = re.compile(f"[{BETWEEN}]*")
_surrogate_escape = re.compile(r"\\u[dD][89a-fA-F]")
_surrogate = re.compile("[\ud800-\udfff]")

_decoder = json.JSONDecoder()
_MAX_DIGITS = 4000


def _lenient_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_patient_decoder = json.JSONDecoder(parse_int=_lenient_integer)


class NotJson(ValueError):
    """Text that is no JSON; ``position`` is where it goes wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def decode_utf8(data: bytes, reading: Reading) -> str:
    """Return ``data`` as text; bytes that are not UTF-8 are replaced and noted."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        reading.add_damage(DamageKind.ENCODING, NOT_UTF8)
        return data.decode(errors="replace")


def next_document(text: str, at: int) -> int:
    """Return where the first document at or after ``at`` begins."""
    found = _between.match(text, at)
    return found.end() if found else at


def raw_decode(text: str, at: int) -> tuple[object, int]:
    """Return the document that begins at ``at``, and where it ends; :class:`NotJson` if none."""
    try:
        return _decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, error.pos) from None
    except RecursionError:
        raise NotJson("nested too deep", at) from None
    except ValueError:  # an integer of thousands of digits
        return _patient_decoder.raw_decode(text, at)


def all_documents(text: str) -> list[object]:
    """Return the documents in ``text``, all or none; :class:`NotJson` otherwise."""
    documents: list[object] = []
    at = next_document(text, 0)
    while at < len(text):
        document, at = raw_decode(text, at)
        documents.append(document)
        at = next_document(text, at)
    return documents


def parse_inner(text: str, reading: Reading) -> object:
    """Return the document in a text that stood inside another one; ``None`` if it is none."""
    try:
        document, at = raw_decode(text, next_document(text, 0))
    except NotJson:
        return None
    if next_document(text, at) < len(text):
        return None
    return without_surrogates(document, text, reading)


def without_surrogates(document: object, source: str, reading: Reading) -> object:
    """Return ``document``, parsed from ``source``, with U+FFFD for every half of a pair."""
    if not may_hold_surrogates(source, 0, len(source)):
        return document
    return replace_surrogates(document, reading)


def may_hold_surrogates(text: str, at: int, end: int) -> bool:
    """Return whether the JSON from ``at`` to ``end`` escapes a surrogate, lone or not."""
    return _surrogate_escape.search(text, at, end) is not None


def replace_surrogates(document: object, reading: Reading) -> object:
    """Return ``document`` with U+FFFD for every half of a surrogate pair, and note these.

    They come from text that was cut in the middle of a character. No store takes them.
    """
    try:
        cleaned, count = _clean(document)
    except RecursionError:
        reading.add_damage(DamageKind.NOT_JSON, "nested too deep; left out")
        return None
    if count:
        reading.add_damage(
            DamageKind.SURROGATE, "half of a surrogate pair; the replacement character stands in"
        )
    return cleaned


def _clean(value: object) -> tuple[object, int]:
    if isinstance(value, str):
        return _surrogate.subn("\ufffd", value)
    if isinstance(value, list):
        items = [_clean(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        cleaned: dict[object, object] = {}
        total = 0
        for key, item in value.items():
            cleaned_key, key_count = _clean(key)
            cleaned_item, item_count = _clean(item)
            cleaned[cleaned_key] = cleaned_item
            total += key_count + item_count
        return cleaned, total
    return value, 0
