"""JSON lines: whole lines of bytes into spans, each line on its own.

A line that is damaged costs itself and is noted with its number. Lines may end in CRLF, begin with
a byte order mark or a record separator, be blank, or be torn by a hole of NUL bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.json_text import NOT_UTF8, all_documents, without_surrogates
from visceral_cli.ingest.span import DamageKind, Reading

DecodeLine = Callable[[bytes, Reading, str], None]
"""Adds what one line holds to the reading, or raises ``ValueError`` where it is no JSON.

The last argument names the place of the line, for synthetic ids. All of a line is read, or
nothing of it.
"""

_NUL_RUN = re.compile(rb"\0+")
_AROUND = b" \t\r\x1e"
_BOM = b"\xef\xbb\xbf"
_OPEN, _CLOSE = b"{}"
_DOCUMENT_START = re.compile(rb'\{"(?:resource|scope)[A-Z_s"]')
"""What a document begins with that stands behind something else on its line: a half-written line
without a line feed, or the prefix of a logger."""

_MAX_STARTS = 8


def decode_json_line(line: bytes, reading: Reading, seed: str) -> None:
    """Add what one line of JSON of any known shape holds; ``ValueError`` where it is no JSON."""
    try:
        text = line.decode()
        is_utf8 = True
    except UnicodeDecodeError:
        text = line.decode(errors="replace")
        is_utf8 = False
    documents = all_documents(text)
    if not is_utf8:
        reading.add_damage(DamageKind.ENCODING, NOT_UTF8)
    for number, document in enumerate(documents):
        place = f"{seed}+{number}" if number else seed
        read_document(without_surrogates(document, text, reading), reading, seed=place)


def read_lines(
    data: bytes,
    reading: Reading,
    *,
    seed: str,
    first_byte: int = 0,
    more: bool = False,
    decode_line: DecodeLine = decode_json_line,
) -> int:
    """Add what the lines in ``data`` hold; return how many bytes of it were read.

    ``data`` begins at the start of a line, ``first_byte`` bytes into its file. ``more``: whether
    the file goes on behind it; then a last line without its line feed is left alone. Lines are
    counted on from those the reading has. ``seed`` names the file: a place in it has the same
    synthetic ids however the file was cut into pieces.
    """
    start, size = 0, len(data)
    # One by one: of all lines split at once, every copy would be in memory that is new.
    while start < size:
        end = data.find(b"\n", start)
        if end < 0:
            if more:
                break
            end = size
        reading.lines += 1
        reading.line = reading.lines
        line = data[start:end]
        if not (line and line[0] == _OPEN and line[-1] == _CLOSE):
            line = _content(line)
        if line:
            line_seed = f"{seed}:{first_byte + start}"
            try:
                decode_line(line, reading, line_seed)
            except (ValueError, RecursionError):
                if_bad = DamageKind.CUT if end == size else DamageKind.NOT_JSON
                _read_damaged_line(line, reading, line_seed, decode_line, if_bad)
        start = end + 1
    reading.line = None
    return min(start, size)


def _content(line: bytes) -> bytes:
    """Return a line without what may stand around a document."""
    content = line.strip(_AROUND)
    if content.startswith(_BOM):
        content = content.removeprefix(_BOM).strip(_AROUND)
    return content


def _read_damaged_line(
    line: bytes, reading: Reading, seed: str, decode_line: DecodeLine, if_bad: DamageKind
) -> None:
    """Read what is whole on a line that is not, and note the damage once."""
    if b"\0" in line:
        reading.add_damage(DamageKind.NUL, "a hole of NUL bytes; what is whole beside it was read")
        parts = [part.strip(_AROUND) for part in _NUL_RUN.split(line)]
        for number, part in enumerate(parts):
            if part.startswith((b"{", b"[")):
                with suppress(ValueError, RecursionError):
                    decode_line(part, reading, f"{seed}~{number}")
        return
    for start in islice(_DOCUMENT_START.finditer(line, 1), _MAX_STARTS):
        with suppress(ValueError, RecursionError):
            decode_line(line[start.start() :], reading, f"{seed}~{start.start()}")
            reading.add_damage(
                if_bad, "not JSON before the last document of the line; that one was read"
            )
            return
    ending = "the line ends early" if if_bad is DamageKind.CUT else "the line was left out"
    reading.add_damage(if_bad, f"not JSON: {ending}")
