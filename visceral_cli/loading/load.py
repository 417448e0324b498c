"""Files into a store: pieces read in parallel, rows inserted in order, a file whole or not at all.

Every file is one transaction: its rows and its ``input_file`` row appear together, so a load that
was killed leaves whole files only, and the next one goes on with the first that is missing.

What rows are inserted with is imported with the first of them: by then other processes read.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import duckdb

from visceral_cli.ingest.files import OTHER_FILE, InputFile
from visceral_cli.ingest.pieces import PIECE_BYTES, Piece
from visceral_cli.ingest.plan import Plan, plan_file
from visceral_cli.ingest.span import MAX_PLACES, DamageKind, Reading
from visceral_cli.loading.claim import claim_settings
from visceral_cli.loading.fork_server import interrupts_later
from visceral_cli.loading.pool import ReadPieces, reading
from visceral_cli.progress import Progress
from visceral_cli.settings import Settings

if TYPE_CHECKING:
    from visceral_cli.loading.piece_rows import PieceRows, UnreadRequests

_PIECES_AT_ONCE = 16
"""How many pieces' rows are inserted together: a statement costs as much as a thousand rows."""

_RECORD_TABLES = ("_plain_span_record", "_call_record", "_mention", "damage", "input_file")


def _pieces_at_once(left_bytes: int) -> int:
    """Return the rows of how many pieces are inserted together while so much is left to hand out.

    Towards the end of fewer: when all is read, nothing shall be left to insert.
    """
    return max(1, min(_PIECES_AT_ONCE, left_bytes // (2 * PIECE_BYTES)))


@dataclass(slots=True)
class LoadSummary:
    """What one load did."""

    loaded: int = 0
    already_loaded: int = 0
    replaced: int = 0
    """Files that had been loaded before with other content."""
    other: int = 0
    """Files of a folder that hold nothing of a known kind; they are not among the loaded."""
    unread: list[tuple[int, UnreadRequests]] = field(default_factory=list)
    """By file, what was left unread: see ``loading.requests``."""


@dataclass(slots=True)
class _FileLoad:
    """The counts of the file being loaded, and the rows that are still to be inserted."""

    file: InputFile
    file_id: int
    digest: str | None
    first_record: int
    lines: int = 0
    spans: int = 0
    log_records: int = 0
    skipped: int = 0
    damage_counts: Counter[DamageKind] = field(default_factory=Counter)
    damage_kept: Counter[DamageKind] = field(default_factory=Counter)
    waiting: list[PieceRows] = field(default_factory=list)
    told_bytes: int = 0
    """How much of the file is told to be read."""

    def read_on(self, input_bytes: int) -> int:
        """Return how much further in the file these bytes lead.

        Of compressed input they are counted after unpacking: never further than to its end.
        """
        further = min(input_bytes, self.file.size - self.told_bytes)
        self.told_bytes += further
        return further


def load_files(
    store: duckdb.DuckDBPyConnection,
    files: Sequence[InputFile],
    settings: Settings,
    progress: Progress,
    meanwhile: Callable[[], None] = lambda: None,
    *,
    kept: bool,
) -> LoadSummary:
    """Load ``files`` into ``store``; with ``kept`` those it already holds are skipped by digest.

    ``meanwhile`` is called once, as soon as other processes read, if any are needed.

    Raises:
        UsageError: the store was filled under other settings of extraction.
    """
    claim_settings(store, settings.extract)
    summary = LoadSummary()
    new = list(_new_files(store, files, summary, kept=kept))
    total_bytes = sum(file.size for file, _ in new)
    progress.start(total_bytes)
    begun = partial(_import_and, meanwhile)
    # A store that is kept may be added to when the files are gone: all of them is read at once.
    with reading(total_bytes, settings, begun, lazily=not kept) as read:
        # Inserting takes half the work on one thread; the others read meanwhile.
        store.execute("SET threads = 1")
        plans = _load_all(store, new, settings, progress, read, summary)
    store.execute("RESET threads")
    other = sum(plan.format == OTHER_FILE for plan in plans)
    summary.loaded -= other
    summary.other += other
    return summary


def _import_and(meanwhile: Callable[[], None]) -> None:
    with interrupts_later():
        import visceral_cli.loading.record_tables  # noqa: F401, PLC0415 - see the top
    meanwhile()


def _load_all(
    store: duckdb.DuckDBPyConnection,
    new: Sequence[tuple[InputFile, str | None]],
    settings: Settings,
    progress: Progress,
    read: ReadPieces,
    summary: LoadSummary,
) -> list[Plan]:
    """Load the files; return how each was read."""
    plans: list[Plan] = []
    left_bytes = sum(file.size for file, _ in new)

    def pieces() -> Iterator[tuple[int, Piece]]:
        nonlocal left_bytes
        for number, (file, _) in enumerate(new):
            left_after = left_bytes - file.size
            plans.append(plan_file(file, settings))
            for piece in plans[number].pieces:
                if piece.content is None:  # else nobody knows how much there is until the end
                    left_bytes -= piece.length
                yield number, piece
            left_bytes = left_after

    current: _FileLoad | None = None
    begun = 0
    for number, rows_of_piece in read(pieces()):
        while begun <= number:
            _finish(store, current, plans[begun - 1], progress)
            current = _begin(store, *new[begun])
            begun += 1
        assert current is not None
        for rows in rows_of_piece:
            _insert(store, current, rows, _pieces_at_once(left_bytes))
            if rows.unread is not None:
                summary.unread.append((current.file_id, rows.unread))
            progress.advance(current.read_on(rows.input_bytes), rows.spans.num_rows)
    while begun < len(new):  # files without a piece
        _finish(store, current, plans[begun - 1], progress)
        current = _begin(store, *new[begun])
        begun += 1
    _finish(store, current, plans[begun - 1] if plans else None, progress)
    return plans


def _new_files(
    store: duckdb.DuckDBPyConnection,
    files: Sequence[InputFile],
    summary: LoadSummary,
    *,
    kept: bool,
) -> Iterator[tuple[InputFile, str | None]]:
    if not kept:
        for file in files:
            summary.loaded += 1
            yield file, None
        return
    rows = store.execute("SELECT path, digest, file_id, format FROM input_file").fetchall()
    digests = {digest for _, digest, _, _ in rows}
    others = {digest for _, digest, _, format_ in rows if format_ == OTHER_FILE}
    by_path = {path: file_id for path, _, file_id, _ in rows}
    for file in files:
        digest = _digest(file)
        if digest in others:
            summary.other += 1
            continue
        if digest in digests:
            summary.already_loaded += 1
            continue
        digests.add(digest)
        if (old := by_path.get(file.name)) is not None:
            summary.replaced += 1
            _forget(store, old)
        summary.loaded += 1
        yield file, digest


def _begin(store: duckdb.DuckDBPyConnection, file: InputFile, digest: str | None) -> _FileLoad:
    store.execute("BEGIN TRANSACTION")
    file_id, record = store.execute(
        "SELECT (SELECT coalesce(max(file_id) + 1, 0) FROM input_file),"
        " coalesce(greatest((SELECT max(record) FROM _plain_span_record),"
        " (SELECT max(record) FROM _call_record)) + 1, 0)"
    ).fetchall()[0]
    return _FileLoad(file, file_id, digest, record)


def _finish(
    store: duckdb.DuckDBPyConnection,
    load: _FileLoad | None,
    plan: Plan | None,
    progress: Progress,
) -> None:
    if load is None or plan is None:
        return
    progress.advance(load.read_on(load.file.size), 0)
    _insert_waiting(store, load)
    _insert_damage(store, load, plan.notes)
    for kind, places in sorted(load.damage_counts.items()):
        if places > (kept := load.damage_kept[kind]):
            store.execute(
                "INSERT INTO damage VALUES (?, ?, NULL, NULL, 'further places of this kind', ?)",
                [load.file_id, kind, places - kept],
            )
    store.execute(
        "INSERT INTO input_file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            load.file_id,
            load.file.name,
            load.digest,
            load.file.size,
            plan.format,
            load.lines,
            load.spans,
            load.log_records,
            load.skipped,
        ],
    )
    store.execute("COMMIT")


def _insert(
    store: duckdb.DuckDBPyConnection, load: _FileLoad, rows: PieceRows, at_once: int
) -> None:
    from visceral_cli.loading.texts import insert_texts  # noqa: PLC0415 - see the top

    load.waiting.append(rows)
    if len(load.waiting) >= at_once:
        _insert_waiting(store, load)
    insert_texts(store, rows.arguments, rows.results)
    _insert_damage(store, load, rows)
    load.lines += rows.lines
    load.spans += rows.spans.num_rows
    load.log_records += rows.log_records
    load.skipped += rows.skipped.total()


def _insert_waiting(store: duckdb.DuckDBPyConnection, load: _FileLoad) -> None:
    from visceral_cli.loading.record_tables import insert_records  # noqa: PLC0415 - see the top

    pieces, load.waiting = load.waiting, []
    load.first_record = insert_records(store, load.file_id, load.first_record, pieces)


def _insert_damage(
    store: duckdb.DuckDBPyConnection, load: _FileLoad, read: PieceRows | Reading
) -> None:
    load.damage_counts += read.damage_counts
    for found in read.damage:
        if load.damage_kept[found.kind] < MAX_PLACES:
            load.damage_kept[found.kind] += 1
            line = None if found.line is None else found.line + load.lines
            store.execute(
                "INSERT INTO damage VALUES (?, ?, ?, ?, ?, 1)",
                [load.file_id, found.kind, line, found.byte, found.what],
            )


def _forget(store: duckdb.DuckDBPyConnection, file_id: int) -> None:
    """Remove a file whose content has changed; it is loaded anew."""
    store.execute("BEGIN TRANSACTION")
    for table in _RECORD_TABLES:
        store.execute(f"DELETE FROM {table} WHERE file_id = ?", [file_id])  # noqa: S608 - ours
    store.execute("COMMIT")


def _digest(file: InputFile) -> str:
    with file.path.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
