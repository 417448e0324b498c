"""Results in a file on this machine: the standard library's sqlite3 in WAL mode.

The file is readable by its owner only (0600), in a folder that is made 0700. The path that the user
names is a link to it: the link may be deleted at any time, whoever has the file open notices, and a
new one is begun.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from visceral_cli.runtime.clock import Clock
from visceral_cli.runtime.clock import now_ns as clock_now_ns
from visceral_cli.runtime.forking import begin_afresh_after_fork
from visceral_cli.runtime.stores.result_store import (
    FORGOTTEN,
    FORMAT,
    LEASE_SECONDS,
    MAX_BARRIERS,
    MAX_ENTRY_BYTES,
    MAX_STORE_BYTES,
    Claim,
    Entry,
    Found,
    Kept,
    StoreFailed,
    new_token,
    writers_token,
)

T = TypeVar("T")

_APPLICATION_ID = 0x76736372  # "vscr"
_EXPIRED_PER_PUT = 64
_EVICTED_PER_STEP = 16
_TOUCHED_AT_ONCE = 256
_CLOSE_SECONDS = 1.0
_ORPHAN_SECONDS = 3600.0
# One statement, so that entry and barrier are of one moment.
_LOOKUP = """
SELECT
    key, namespace, tool, version, hash_v, value, content_hash, checksum,
    started_ns, stored_ns, freshness_ns, scopes, generations,
    generations = (
        SELECT json_group_array(barrier.generation)
        FROM json_each(entry.scopes) AS of_entry
        LEFT JOIN barrier ON barrier.scope = of_entry.value
    )
    AND CASE WHEN EXISTS (SELECT 1 FROM running_writer) THEN
        NOT EXISTS (
            SELECT 1 FROM running_writer
            WHERE lapse_ns > ?
              AND scope IN (SELECT value FROM json_each(entry.scopes))
        )
    ELSE TRUE END  -- as a rule: sqlite makes the list of scopes also for an empty table
FROM entry
WHERE key = ?
"""
_BARRIER = """
SELECT
    (
        SELECT json_group_array(barrier.generation)
        FROM json_each(?1) AS asked
        LEFT JOIN barrier ON barrier.scope = asked.value
    ),
    EXISTS (
        SELECT 1 FROM running_writer
        WHERE lapse_ns > ?2
          AND scope IN (SELECT value FROM json_each(?1))
    )
"""
_PUT = """
INSERT INTO entry (
    key, namespace, tool, version, hash_v, value, content_hash, checksum,
    started_ns, stored_ns, freshness_ns, scopes, generations, expires_ns, size, used_ns
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEWER = """
SELECT 1 FROM entry
WHERE key = ? AND started_ns > ? AND started_ns <= ? AND expires_ns > ?
  AND scopes = ? AND generations = ?
"""
_FORGET_BARRIERS = """
DELETE FROM barrier
WHERE (SELECT count(*) FROM barrier) > ?
  AND scope != ?
  AND scope NOT IN (SELECT of_entry.value FROM entry, json_each(entry.scopes) AS of_entry)
"""
_json = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, eq=False)
class _Connection:
    """The connection of one thread."""

    base: sqlite3.Connection
    inode: int
    """Of the file: another one means that the file was deleted or replaced."""
    in_use: threading.Lock


class SqliteStore:
    """A results file. See `ResultStore`."""

    def __init__(
        self,
        path: Path | str,
        *,
        max_bytes: int = MAX_STORE_BYTES,
        max_entry_bytes: int = MAX_ENTRY_BYTES,
        lease_seconds: float = LEASE_SECONDS,
        lock_seconds: float = 2.0,
        clock: Clock = clock_now_ns,
    ) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._max_entry_bytes = max_entry_bytes
        self._lease_ns = int(lease_seconds * 1e9)
        self._lock_seconds = lock_seconds
        self._clock = clock
        self.begin_afresh()
        begin_afresh_after_fork(self)

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process."""
        # connections of before a fork belong to the parent and are left alone
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[_Connection] = []
        self._touched: dict[str, int] = {}

    def lookup(self, key: str) -> Found:
        """Return what is kept under the key, whatever its age."""
        now = self._clock()
        row = self._do(lambda base: base.execute(_LOOKUP, (now, key)).fetchone())
        if row is None:
            return Found()
        if not row[-1]:
            return Found(overtaken=True)
        try:
            entry = Entry._make((*row[:-3], _list_of(row[-3]), _list_of(row[-2])))
        except (ValueError, TypeError):
            return Found()  # not written by us
        self._touched[key] = now
        return Found(entry)

    def claim(self, key: str, scopes: Sequence[str], owner: str) -> Claim:
        """Announce that ``owner`` is about to execute the call."""
        return self._do(lambda base: self._claim(base, key, scopes, owner))

    def _claim(
        self, base: sqlite3.Connection, key: str, scopes: Sequence[str], owner: str
    ) -> Claim:
        now = self._clock()
        with _transaction(base):
            base.executemany(
                "INSERT OR IGNORE INTO barrier VALUES (?, ?)",
                [(scope, new_token()) for scope in scopes],
            )
            base.execute("DELETE FROM claim WHERE key = ? AND lapse_ns <= ?", (key, now))
            granted = base.execute(
                "INSERT OR IGNORE INTO claim VALUES (?, ?, ?)", (key, owner, now + self._lease_ns)
            ).rowcount
            generations = self._generations(base, _json(list(scopes)))
        return Claim(granted == 1, generations)

    def put(self, entry: Entry, owner: str) -> tuple[Kept, int]:
        """Keep a result and give up the claim."""
        return self._do(lambda base: self._put(base, entry, owner))

    def _put(self, base: sqlite3.Connection, entry: Entry, owner: str) -> tuple[Kept, int]:
        now = self._clock()
        scopes = _json(entry.scopes)
        evicted = 0
        with _transaction(base):
            self._release(base, entry.key, owner)
            kept = Kept.KEPT
            if entry.size > min(self._max_entry_bytes, self._max_bytes):
                kept = Kept.TOO_LARGE
            elif self._generations(base, scopes) != entry.generations:
                kept = Kept.OVERTAKEN
            elif base.execute(
                _NEWER, (entry.key, entry.started_ns, now, now, scopes, _json(entry.generations))
            ).fetchone():
                return Kept.OLDER, 0
            base.execute("DELETE FROM entry WHERE key = ?", (entry.key,))
            if kept is Kept.KEPT:
                base.execute(_PUT, _row(entry, scopes, now))
                self._write_touched(base)
                _remove_expired(base, now, _EXPIRED_PER_PUT)
                evicted = self._evict(base, entry.key)
        if evicted:
            base.executescript("PRAGMA incremental_vacuum(64);")  # execute() frees one page only
        return kept, evicted

    def _evict(self, base: sqlite3.Connection, spared: str) -> int:
        evicted = 0
        while _bytes_used(base) > self._max_bytes:
            removed = base.execute(
                "DELETE FROM entry WHERE key IN"
                " (SELECT key FROM entry WHERE key != ? ORDER BY used_ns, rowid LIMIT ?)",
                # one at a time near the limit, so that no more goes than must
                (spared, 1 if self._max_bytes < 64 * self._max_entry_bytes else _EVICTED_PER_STEP),
            ).rowcount
            if removed <= 0:
                break
            evicted += removed
        return evicted

    def release(self, key: str, owner: str) -> None:
        """Give up a claim without a result."""
        self._do(lambda base: self._release(base, key, owner))

    def _release(self, base: sqlite3.Connection, key: str, owner: str) -> None:
        base.execute("DELETE FROM claim WHERE key = ? AND owner = ?", (key, owner))

    def begin_write(self, scopes: Sequence[str], writer: str) -> None:
        """Raise the barrier of the scopes, until the writer of this id ends."""
        self._do(lambda base: self._write(base, scopes, writer, begins=True))

    def end_write(self, scopes: Sequence[str], writer: str) -> None:
        """Lift it; results of executions that began before now stay unusable."""
        self._do(lambda base: self._write(base, scopes, writer, begins=False))

    def _write(
        self, base: sqlite3.Connection, scopes: Sequence[str], writer: str, *, begins: bool
    ) -> None:
        now = self._clock()
        with _transaction(base):
            base.executemany(
                "INSERT OR REPLACE INTO barrier VALUES (?, ?)",
                [(scope, writers_token(now)) for scope in scopes],
            )
            if begins:
                base.executemany(
                    "INSERT OR REPLACE INTO running_writer VALUES (?, ?, ?)",
                    [(scope, writer, now + self._lease_ns) for scope in scopes],
                )
            else:
                base.execute(
                    "DELETE FROM running_writer WHERE writer = ? OR lapse_ns <= ?", (writer, now)
                )

    def renew(self, claims: Sequence[tuple[str, str]], writers: Sequence[str]) -> None:
        """Prolong the leases of (key, owner) and of running writers."""
        lapse = self._clock() + self._lease_ns

        def renew(base: sqlite3.Connection) -> None:
            with _transaction(base):
                base.executemany(
                    "UPDATE claim SET lapse_ns = ? WHERE key = ? AND owner = ?",
                    [(lapse, key, owner) for key, owner in claims],
                )
                base.executemany(
                    "UPDATE running_writer SET lapse_ns = ? WHERE writer = ?",
                    [(lapse, writer) for writer in writers],
                )

        self._do(renew)

    def remove(self, key: str) -> None:
        """Forget one result."""
        self._do(lambda base: base.execute("DELETE FROM entry WHERE key = ?", (key,)).rowcount)

    def clear(self, namespace: str) -> int:
        """Forget all results of a namespace; returns how many."""
        delete = "DELETE FROM entry WHERE namespace = ?"
        return self._do(lambda base: base.execute(delete, (namespace,)).rowcount)

    def remove_expired(self, now_ns: int) -> int:
        """Remove what is too old for everybody, and give the room back to the disk."""

        def remove(base: sqlite3.Connection) -> int:
            removed = _remove_expired(base, now_ns, -1)
            if base.execute(_FORGET_BARRIERS, (MAX_BARRIERS, FORGOTTEN)).rowcount:
                base.execute(
                    "INSERT OR REPLACE INTO barrier VALUES (?, ?)",
                    (FORGOTTEN, writers_token(now_ns)),
                )
            if removed:
                base.executescript("PRAGMA incremental_vacuum;")
                base.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            return removed

        return self._do(remove)

    def bytes_used(self) -> int:
        """Return the size of all results as it counts towards the limit."""
        return self._do(_bytes_used)

    def discard(self) -> None:
        """Take the file away. That needs no room on the disk, and whoever has it open notices."""
        try:
            real = _target(self.path)
            self.path.unlink(missing_ok=True)
            for place in (real, f"{real}-wal", f"{real}-shm"):
                Path(place).unlink(missing_ok=True)
        except FileNotFoundError:
            return  # another process was quicker
        except OSError as error:
            raise StoreFailed(type(error).__name__) from None

    def close(self) -> None:
        """Let go of connections; the results stay."""
        with self._lock:
            connections, self._connections = self._connections, []
            self._local = threading.local()
        for connection in connections:
            # never under the hands of a thread that is using it: sqlite would crash
            if connection.in_use.acquire(timeout=_CLOSE_SECONDS):
                connection.base.close()
                connection.in_use.release()

    def _generations(self, base: sqlite3.Connection, scopes: str) -> tuple[str, ...] | None:
        """Return the generations of a JSON list of scopes; ``None`` while a writer runs."""
        generations, is_running = base.execute(_BARRIER, (scopes, self._clock())).fetchone()
        return None if is_running else tuple(json.loads(generations))

    def _write_touched(self, base: sqlite3.Connection) -> None:
        touched, self._touched = self._touched, {}
        base.executemany(
            "UPDATE entry SET used_ns = ? WHERE key = ?",
            [(used, key) for key, used in touched.items()],
        )

    def _do(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        try:
            while True:
                connection = self._connection()
                with connection.in_use:
                    if connection is not getattr(self._local, "connection", None):
                        continue  # closed meanwhile
                    if len(self._touched) >= _TOUCHED_AT_ONCE:
                        self._write_touched(connection.base)
                    return operation(connection.base)
        except sqlite3.Error as error:
            # the message may quote a value; the name of the error does not
            name = getattr(error, "sqlite_errorname", type(error).__name__)
            raise StoreFailed(str(name)) from None
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreFailed(type(error).__name__) from None

    def _connection(self) -> _Connection:
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            try:
                if self.path.stat().st_ino == connection.inode:
                    return connection
            except FileNotFoundError:
                pass
            self._forget(connection)  # the file was deleted or replaced
        base, inode = self._open()
        connection = _Connection(base, inode, threading.Lock())
        with self._lock:
            self._local.connection = connection
            self._connections.append(connection)
        return connection

    def _forget(self, connection: _Connection) -> None:
        with self._lock:
            if connection not in self._connections:
                return  # being closed by another thread
            self._connections.remove(connection)
        connection.base.close()

    def _open(self) -> tuple[sqlite3.Connection, int]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(self.path):
            _make(self.path)
        real = _target(self.path)
        base = sqlite3.connect(
            # never made here: a file under a name that was in use before would mix up the logs
            f"{real.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._lock_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare(base)
            return base, real.stat().st_ino
        except BaseException:
            base.close()
            raise


def _make(path: Path) -> None:
    """Make an empty file of a name that is never used again, and ``path`` a link to it.

    sqlite finds and deletes the log of a database by its name: a new database under the name of an
    old one that somebody still has open would lose its log to that.
    """
    _remove_orphans(path)
    real = path.with_name(f"{path.name}-{new_token()}.db")
    os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        path.symlink_to(real.name)
    except FileExistsError:  # another process was quicker
        real.unlink()


def _target(path: Path) -> Path:
    return path.parent / path.readlink() if path.is_symlink() else path


def _remove_orphans(path: Path) -> None:
    for orphan in path.parent.glob(f"{path.name}-????????????????.db*"):
        with contextlib.suppress(OSError):
            if time.time() - orphan.stat().st_mtime > _ORPHAN_SECONDS:
                orphan.unlink()


def _prepare(base: sqlite3.Connection) -> None:
    found = base.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, FORMAT):
        raise sqlite3.DatabaseError("another format")
    if found == 0:
        base.execute("PRAGMA auto_vacuum = INCREMENTAL")
        base.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    base.execute("PRAGMA journal_mode = WAL").fetchall()
    base.execute("PRAGMA synchronous = NORMAL")
    if found == 0:
        schema = files("visceral_cli.runtime.stores").joinpath("schema.sql").read_text("utf-8")
        base.executescript(f"BEGIN IMMEDIATE;\n{schema}\nPRAGMA user_version = {FORMAT};\nCOMMIT;")


@contextlib.contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            base.execute("ROLLBACK")
        raise


def _remove_expired(base: sqlite3.Connection, now_ns: int, limit: int) -> int:
    return base.execute(
        "DELETE FROM entry WHERE key IN (SELECT key FROM entry WHERE expires_ns <= ? LIMIT ?)",
        (now_ns, limit),
    ).rowcount


def _bytes_used(base: sqlite3.Connection) -> int:
    return int(base.execute("SELECT bytes FROM usage").fetchone()[0])


@functools.lru_cache(maxsize=1024)  # the same few texts at every hit
def _list_of(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _row(entry: Entry, scopes: str, now_ns: int) -> tuple[Any, ...]:
    *columns, _, generations = entry
    return (*columns, scopes, _json(generations), entry.expires_ns, entry.size, now_ns)
