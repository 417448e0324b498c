"""JSON that is not one document a line: pretty-printed, concatenated, or one huge document.

A document that does not fit into the window, or that is damaged, is taken apart: the entries of
its known lists (``resourceSpans``, ``batches``, ``data``, ...) become documents of their own, so
that memory stays small, and damage costs only what comes after it. After damage reading goes on at
the next line that begins with a document.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from visceral_cli.ingest.document import read_document
from visceral_cli.ingest.json_text import NOT_UTF8, replace_surrogates
from visceral_cli.ingest.json_window import WINDOW, JsonWindow, Source, Unread
from visceral_cli.ingest.span import DamageKind, Reading

_BATCH = 1 << 20
"""About how many characters of a list's entries go into one document."""

_RESOURCE_LISTS = ("resourceSpans", "resource_spans", "batches")
_SCOPE_LISTS = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
)
_LISTS: dict[str, dict[str, str]] = {
    "": (
        dict.fromkeys(_RESOURCE_LISTS, "resource")
        | dict.fromkeys(_SCOPE_LISTS, "scope")
        | dict.fromkeys(("data", "traces", "observations"), "other")
    ),
    "resource": dict.fromkeys(_SCOPE_LISTS, "scope"),
    "scope": {"spans": "other"},
    "other": {},
}
"""The keys whose lists are taken apart, by what they stand in, and what their entries are."""

_WRAPPERS = ("trace", "result")


def read_documents(
    source: Source, *, seed: str, max_bytes: int, piece: int = WINDOW
) -> Iterator[Reading]:
    """Yield what the documents in ``source`` hold, about ``piece`` characters at a time.

    ``max_bytes`` limits what is held of one value that cannot be taken apart. Line numbers begin
    at 1 in each reading.
    """
    window = JsonWindow(source)
    reading = Reading()
    first_line, first_position = 1, 0
    for found, line in _documents(window, max_bytes):
        reading.line = line - first_line + 1
        _add(found, window, reading, f"{seed}:{window.position}")
        if window.position - first_position >= piece:
            reading.lines = window.line - first_line
            yield reading
            reading = Reading()
            first_line, first_position = window.line, window.position
    _note_encoding(window, reading)
    reading.lines = window.lines - first_line + 1
    yield reading


def read_concatenated(data: bytes, *, seed: str, max_bytes: int = 256 << 20) -> Reading:
    """Return what the documents in ``data`` hold: one, or several one after the other."""
    source = io.BytesIO(data)
    return next(read_documents(source, seed=seed, max_bytes=max_bytes, piece=len(data) + 1))


def _add(found: object, window: JsonWindow, reading: Reading, seed: str) -> None:
    _note_encoding(window, reading)
    if isinstance(found, _Damaged):
        reading.add_damage(found.kind, found.what)
        return
    if window.escapes_surrogates:
        found = replace_surrogates(found, reading)
        window.escapes_surrogates = False
    read_document(found, reading, seed=seed)


def _note_encoding(window: JsonWindow, reading: Reading) -> None:
    for _ in range(window.bad_chunks):
        reading.add_damage(DamageKind.ENCODING, NOT_UTF8)
    window.bad_chunks = 0


@dataclass(frozen=True, slots=True)
class _Damaged:
    """What stands where a document should be."""

    kind: DamageKind
    what: str


_HOLE = _Damaged(DamageKind.NUL, "a hole of NUL bytes; skipped")
_IS_CUT = _Damaged(
    DamageKind.CUT, "not JSON: the document ends early; what is whole before was read"
)
_IS_TOO_LONG = _Damaged(
    DamageKind.TOO_LARGE, "a single value is longer than allowed; skipped to the next document"
)
_IS_NOT_JSON = _Damaged(DamageKind.NOT_JSON, "not JSON; skipped to the next document")


def _documents(window: JsonWindow, max_bytes: int) -> Iterator[tuple[object, int]]:
    """Yield the documents, parts of documents and damage in the window, each with its line."""
    while start := window.next_document():
        line, position = window.line, window.position
        if start == "\0":
            window.skip_run("\0")
            yield _HOLE, line
            continue
        try:
            for document in _parts(window, start, max_bytes):
                yield document, line
        except Unread as unread:
            yield _damaged(unread), window.line
            window.skip_to_next_start(position)


def _damaged(unread: Unread) -> _Damaged:
    if unread.is_cut:
        return _IS_CUT
    return _IS_TOO_LONG if unread.is_too_long else _IS_NOT_JSON


def _parts(window: JsonWindow, start: str, max_bytes: int) -> Iterator[object]:
    """Yield the document at the window, or the parts of one that cannot be taken whole."""
    try:
        yield window.take()
        return
    except Unread:
        if start not in "{[":
            raise
    if start == "[":
        for entries in _list_parts(window, "", max_bytes):
            yield from entries
    else:
        yield from _object_parts(window, "", max_bytes)


def _object_parts(window: JsonWindow, inside: str, max_bytes: int) -> Iterator[dict[str, object]]:
    """Yield the object at the window once for every part of a list in it.

    Each time it has the keys that stood before the list, and that part. An object without such a
    list is yielded whole.
    """
    window.skip("{")
    found: dict[str, object] = {}
    parts = 0
    while window.peek() != "}":
        key = window.take()
        if not isinstance(key, str):
            raise Unread
        window.skip(":")
        for part in _value_parts(window, inside, key, max_bytes, found):
            parts += 1
            yield found | {key: part}
        if window.peek() != "}":
            window.skip(",")
    window.skip("}")
    if not parts:
        yield found


def _value_parts(
    window: JsonWindow, inside: str, key: str, max_bytes: int, found: dict[str, object]
) -> Iterator[object]:
    """Yield the parts of the value of ``key``; put it into ``found`` where it has none."""
    entries_are = _LISTS[inside].get(key)
    if entries_are is not None and window.peek() == "[":
        yield from _list_parts(window, entries_are, max_bytes)
        return
    if key not in _WRAPPERS or inside or window.peek() != "{":
        found[key] = window.take(max_bytes)
        return
    try:
        found[key] = window.take()
        return
    except Unread:
        pass
    yield from _object_parts(window, "", max_bytes)


def _list_parts(window: JsonWindow, entries_are: str, max_bytes: int) -> Iterator[list[object]]:
    """Yield the entries of the list at the window, some at a time.

    An entry that cannot be taken is taken apart itself; the entries before damage are yielded
    before it is raised.
    """
    window.skip("[")
    batch: list[object] = []
    first = window.position
    try:
        while window.peek() != "]":
            try:
                batch.append(window.take())
            except Unread:
                if not _LISTS[entries_are] or window.peek() != "{":
                    raise
                yield batch
                batch = []
                for part in _object_parts(window, entries_are, max_bytes):
                    yield [part]
            if window.position - first > _BATCH:
                yield batch
                batch, first = [], window.position
            if window.peek() != "]":
                window.skip(",")
    except Unread:
        if batch:
            yield batch
        raise
    window.skip("]")
    yield batch
