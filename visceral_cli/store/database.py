"""Opening a store, temporary or kept, and running the package's own SQL files on it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path

import duckdb

from visceral_cli.errors import UsageError

SCHEMA_VERSION = 3

MEMORY_LIMIT = "224MB"
"""What DuckDB may hold before it moves blocks to its temporary folder, while files are loaded."""

MEMORY_LIMIT_BESIDE_TREE = "176MB"
"""The same while the tree of all spans is held beside it ..."""
MEMORY_LIMIT_BESIDE_COLUMNS = "128MB"
"""... and while an analysis holds the columns of all calls."""

MEMORY_LIMIT_OF_FEW = "320MB"
"""The same for a store of few calls and spans once it is loaded: no block has to be moved then."""

FEW_CALLS, FEW_SPANS = 300_000, 600_000
"""Beside the columns of no more there is room for all of the store."""

MANY_CALLS = range(500_000, 2_000_000)
"""Stores of so many leave room: of fewer the columns take less than that frees, and of more the
queries need the memory themselves."""


def leave_room(store: duckdb.DuckDBPyConnection, memory_limit: str) -> None:
    """Let a large store hold less from now on: what is held beside it will need the memory.

    A small one may hold more, as no other process reads any longer. Neither where texts of
    arguments are kept: what is found in them needs more.
    """
    calls, spans, texts = store.execute(
        "SELECT (SELECT count(*) FROM _call_record), (SELECT count(*) FROM _span_record),"
        " EXISTS (SELECT 1 FROM argument_text)"
    ).fetchall()[0]
    if texts:
        return
    if calls <= FEW_CALLS and spans <= FEW_SPANS:
        store.execute(f"SET memory_limit = '{MEMORY_LIMIT_OF_FEW}'")
    elif calls in MANY_CALLS:
        store.execute(f"SET memory_limit = '{memory_limit}'")


def run_file(store: duckdb.DuckDBPyConnection, package: str, name: str) -> None:
    """Run the ``.sql`` file ``name`` of ``package``: definitions only, safe to run twice."""
    store.execute((resources.files(package) / name).read_text(encoding="utf-8"))


@contextmanager
def temporary_store() -> Iterator[duckdb.DuckDBPyConnection]:
    """A store that is gone afterwards; what memory does not hold lies in a private folder."""
    folder = Path(tempfile.mkdtemp(prefix="visceral-"))
    try:
        with (
            _told_of_full_disks(folder, folder),
            closing(duckdb.connect(config=_config(folder))) as store,
        ):
            _create(store)
            yield store
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_store(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The store in the file ``path``, made when it is not there.

    Raises:
        UsageError: the file is no store, one of another schema version, in use, or cannot be
            written, for example because the disk is full.
    """
    folder = Path(tempfile.mkdtemp(prefix="visceral-"))
    new = not path.exists()
    try:
        with (
            _told_of_full_disks(path, folder),
            closing(_connect(path, folder, new=new)) as store,
        ):
            if new:
                path.chmod(0o600)  # arguments and results may lie in it
            _check(store, path)
            _create(store)
            yield store
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _connect(path: Path, folder: Path, *, new: bool) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(path), config=_config(folder))
    except duckdb.Error as error:
        if _WRITE_FAILED in str(error):
            if new:
                path.unlink(missing_ok=True)  # the beginning of a file, which nothing could open
            raise
        raise UsageError(_refusal(path, error)) from error


_WRITE_FAILED = "Could not write"
_DUCKDB_ERRORS = (duckdb.IOException, duckdb.TransactionException, duckdb.OutOfMemoryException)
_NO_MEMORY = "Out of Memory Error"
"""What DuckDB says of it, also through Arrow, which makes an OSError of it."""
_ALLOCATION_FAILED = "could not allocate", "failed to allocate"


@contextmanager
def _told_of_full_disks(path: Path, folder: Path) -> Iterator[None]:
    """Say which file could not be written, the store or one in ``folder``, or that memory lacks."""
    try:
        yield
    except (*_DUCKDB_ERRORS, OSError) as error:
        text = str(error)
        if _NO_MEMORY in text and any(words in text for words in _ALLOCATION_FAILED):
            raise UsageError(
                "a query needs more memory than DuckDB is given here",
                hint="ask about less at a time: --tool, --since, --until",
            ) from error
        if not isinstance(error, _DUCKDB_ERRORS):
            raise
        spilling = str(folder) in text or isinstance(error, duckdb.OutOfMemoryException)
        if _WRITE_FAILED not in text and not spilling:
            raise
        reason = text.rpartition(": ")[2].lower() if _WRITE_FAILED in text else "no space left"
        if spilling:
            raise UsageError(
                f"{folder.parent}: temporary files cannot be written: {reason}",
                hint="the variable TMPDIR names another folder for them",
            ) from error
        raise UsageError(f"{path}: cannot be written: {reason}") from error


def tool_names(path: Path) -> list[str]:
    """Return the names of the tools in a store, in order; the store is only read, never changed.

    Raises:
        UsageError: the file is no store, one of another schema version, or in use.
    """
    try:
        with closing(duckdb.connect(str(path), read_only=True)) as store:
            _check(store, path)
            rows = store.execute("SELECT DISTINCT tool FROM _call_record ORDER BY tool").fetchall()
    except duckdb.Error as error:
        raise UsageError(_refusal(path, error)) from error
    return [name for (name,) in rows]


def is_store(path: Path) -> bool:
    """Whether ``path`` is a DuckDB file, by its content."""
    try:
        with path.open("rb") as file:
            return file.read(12)[8:12] == b"DUCK"
    except OSError:
        return False


def _config(folder: Path) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": MEMORY_LIMIT,
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
    }


def _create(store: duckdb.DuckDBPyConnection) -> None:
    run_file(store, "visceral_cli.store", "schema.sql")
    if not store.execute("SELECT count(*) FROM _schema").fetchall()[0][0]:
        store.execute("INSERT INTO _schema VALUES (?, NULL)", [SCHEMA_VERSION])


def _check(store: duckdb.DuckDBPyConnection, path: Path) -> None:
    tables = {row[0] for row in store.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables:
        return
    if "_schema" not in tables:
        raise UsageError(f"{path}: a DuckDB file, but not a store of visceral")
    versions = store.execute("SELECT version FROM _schema").fetchall()
    if versions and versions != [(SCHEMA_VERSION,)]:
        raise UsageError(
            f"{path}: a store of schema {versions[0][0]}, but this version of visceral "
            f"reads schema {SCHEMA_VERSION}",
            hint="load the traces anew into another file: visceral ingest INPUT --store FILE",
        )


def _refusal(path: Path, error: duckdb.Error) -> str:
    text = str(error)
    if "lock" in text.lower():
        return f"{path}: the store is in use by another process"
    if "permission denied" in text.lower():
        return f"{path}: no permission to read and write it"
    if not path.parent.is_dir():
        return f"{path}: the folder does not exist"
    return f"{path}: cannot be opened as a store"
