"""Results in PostgreSQL, for several machines. Needs the extra ``postgres`` (psycopg 3).

Writers lock the barrier rows of their scopes, in order; whoever keeps a result locks them shared,
so one of the two is first and the other sees it. Leases count in the server's time.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, TypeVar

from visceral_cli.runtime.clock import Clock
from visceral_cli.runtime.clock import now_ns as clock_now_ns
from visceral_cli.runtime.forking import begin_afresh_after_fork
from visceral_cli.runtime.stores.packed import name_of, names_of, pack, unpack
from visceral_cli.runtime.stores.result_store import (
    FORGOTTEN,
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

_TOUCHED_AT_ONCE = 256
_SET_UP = 0x7673_6372
"""The advisory lock of those who make the tables."""

_LOOKUP = """
SELECT
    packed,
    generations IS NOT DISTINCT FROM (
        SELECT array_agg(barrier.generation ORDER BY of_entry.place)
        FROM unnest(entry.scopes) WITH ORDINALITY AS of_entry (scope, place)
        LEFT JOIN visceral_results_1.barrier USING (scope)
    )
    AND NOT EXISTS (
        SELECT FROM visceral_results_1.running_writer
        WHERE running_writer.scope = ANY (entry.scopes)
          AND lapse > clock_timestamp()
    )
FROM visceral_results_1.entry
WHERE key = %s
"""
_CLAIM = """
INSERT INTO visceral_results_1.claim AS held (key, owner, lapse)
VALUES (%(key)s, %(owner)s, clock_timestamp() + %(lease)s * interval '1 second')
ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, lapse = EXCLUDED.lapse
WHERE held.lapse <= clock_timestamp()
RETURNING 1
"""
_ADD_BARRIERS = """
INSERT INTO visceral_results_1.barrier
SELECT * FROM unnest(%s::text[], %s::text[]) AS asked (scope, generation) ORDER BY scope
ON CONFLICT DO NOTHING
"""
_READ_BARRIERS = """
SELECT scope, generation FROM visceral_results_1.barrier
WHERE scope = ANY (%s) ORDER BY scope FOR SHARE
"""
_IS_RUNNING = """
SELECT EXISTS (
    SELECT FROM visceral_results_1.running_writer
    WHERE scope = ANY (%s) AND lapse > clock_timestamp()
)
"""
_RAISE_BARRIERS = """
INSERT INTO visceral_results_1.barrier
SELECT * FROM unnest(%s::text[], %s::text[]) AS asked (scope, generation) ORDER BY scope
ON CONFLICT (scope) DO UPDATE SET generation = EXCLUDED.generation
"""
_ADD_WRITER = """
INSERT INTO visceral_results_1.running_writer
SELECT scope, %s, clock_timestamp() + %s * interval '1 second'
FROM unnest(%s::text[]) AS asked (scope)
ON CONFLICT (scope, writer) DO UPDATE SET lapse = EXCLUDED.lapse
"""
_REMOVE_WRITER = """
DELETE FROM visceral_results_1.running_writer WHERE writer = %s OR lapse <= clock_timestamp()
"""
_PUT = "INSERT INTO visceral_results_1.entry VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_PACKED = "SELECT packed FROM visceral_results_1.entry WHERE key = %s"
_FORGET = "DELETE FROM visceral_results_1.entry WHERE key = %s RETURNING size"
_FORGET_EXPIRED = """
DELETE FROM visceral_results_1.entry WHERE key IN (
    SELECT key FROM visceral_results_1.entry WHERE expires_ns <= %s
    LIMIT %s FOR UPDATE SKIP LOCKED
) RETURNING size
"""
_FORGET_OLDEST = """
DELETE FROM visceral_results_1.entry WHERE key = (
    SELECT key FROM visceral_results_1.entry WHERE key != %s
    ORDER BY used_ns, key LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING size
"""
_FORGET_BARRIERS = """
DELETE FROM visceral_results_1.barrier
WHERE (SELECT count(*) FROM visceral_results_1.barrier) > %s
  AND scope != %s
  AND scope NOT IN (SELECT unnest(scopes) FROM visceral_results_1.entry)
"""
_COUNT = "UPDATE visceral_results_1.usage SET bytes = bytes + %s RETURNING bytes"


class PostgresStore:
    """A schema of its own in a PostgreSQL database, reached by its URL. See `ResultStore`."""

    def __init__(
        self,
        url: str,
        *,
        max_bytes: int = MAX_STORE_BYTES,
        max_entry_bytes: int = MAX_ENTRY_BYTES,
        lease_seconds: float = LEASE_SECONDS,
        clock: Clock = clock_now_ns,
    ) -> None:
        self._psycopg = importlib.import_module("psycopg")
        self._url = url
        self._max_bytes = max_bytes
        self._max_entry_bytes = max_entry_bytes
        self._lease_seconds = lease_seconds
        self._clock = clock
        self.begin_afresh()
        begin_afresh_after_fork(self)

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process."""
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[Any] = []
        self._touched: dict[str, int] = {}
        self._is_set_up = False

    def lookup(self, key: str) -> Found:
        """Return what is kept under the key, whatever its age."""

        def look(base: Any) -> Found:
            row = base.execute(_LOOKUP, (key,)).fetchone()
            if row is None:
                return Found()
            if not row[1]:
                return Found(overtaken=True)
            self._touched[key] = self._clock()
            return Found(unpack(row[0]))

        return self._do(look)

    def claim(self, key: str, scopes: Sequence[str], owner: str) -> Claim:
        """Announce that ``owner`` is about to execute the call."""
        names = names_of(scopes)

        def claim(base: Any) -> Claim:
            with base.transaction():
                base.execute(_ADD_BARRIERS, (names, [new_token() for _ in names]))
                asked = {"key": key, "owner": owner, "lease": self._lease_seconds}
                granted = base.execute(_CLAIM, asked).fetchone()
                return Claim(granted is not None, _generations(base, names))

        return self._do(claim)

    def put(self, entry: Entry, owner: str) -> tuple[Kept, int]:
        """Keep a result and give up the claim."""

        def put(base: Any) -> tuple[Kept, int]:
            self._write_touched(base)  # outside: it locks the rows of others
            with base.transaction():
                return self._put(base, entry, owner)

        return self._do(put)

    def _put(self, base: Any, entry: Entry, owner: str) -> tuple[Kept, int]:
        names = names_of(entry.scopes)
        _release(base, entry.key, owner)
        kept = Kept.KEPT
        if entry.size > min(self._max_entry_bytes, self._max_bytes):
            kept = Kept.TOO_LARGE
        elif _generations(base, names) != entry.generations:
            kept = Kept.OVERTAKEN
        # first, so that two who keep the same key come one after the other
        base.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (entry.key,))
        if kept is Kept.KEPT and self._has_newer(base, entry):
            return Kept.OLDER, 0
        freed = _total(base.execute(_FORGET, (entry.key,)))
        if kept is not Kept.KEPT:
            base.execute(_COUNT, (-freed,))
            return kept, 0
        now = self._clock()
        freed += _total(base.execute(_FORGET_EXPIRED, (now, 64)))
        base.execute(
            _PUT,
            (
                entry.key,
                name_of(entry.namespace),
                pack(entry),
                names,
                list(entry.generations),
                entry.expires_ns,
                now,
                entry.size,
            ),
        )
        used = base.execute(_COUNT, (entry.size - freed,)).fetchone()[0]
        evicted = 0
        while used > self._max_bytes:
            size = _total(base.execute(_FORGET_OLDEST, (entry.key,)))
            if not size:
                break
            evicted += 1
            used = base.execute(_COUNT, (-size,)).fetchone()[0]
        return kept, evicted

    def _has_newer(self, base: Any, entry: Entry) -> bool:
        row = base.execute(_PACKED, (entry.key,)).fetchone()
        other = None if row is None else unpack(row[0])
        now = self._clock()
        return (
            other is not None
            and entry.started_ns < other.started_ns <= now < other.expires_ns
            and (other.scopes, other.generations) == (entry.scopes, entry.generations)
        )

    def release(self, key: str, owner: str) -> None:
        """Give up a claim without a result."""
        self._do(lambda base: _release(base, key, owner))

    def begin_write(self, scopes: Sequence[str], writer: str) -> None:
        """Raise the barrier of the scopes, until the writer of this id ends."""
        names = sorted(names_of(scopes))

        def begin(base: Any) -> None:
            with base.transaction():
                base.execute(_RAISE_BARRIERS, (names, self._writers_tokens(names)))
                base.execute(_ADD_WRITER, (writer, self._lease_seconds, names))

        self._do(begin)

    def end_write(self, scopes: Sequence[str], writer: str) -> None:
        """Lift it; results of executions that began before now stay unusable."""
        names = sorted(names_of(scopes))

        def end(base: Any) -> None:
            with base.transaction():
                base.execute(_RAISE_BARRIERS, (names, self._writers_tokens(names)))
                base.execute(_REMOVE_WRITER, (writer,))

        self._do(end)

    def _writers_tokens(self, names: list[str]) -> list[str]:
        now = self._clock()
        return [writers_token(now) for _ in names]

    def renew(self, claims: Sequence[tuple[str, str]], writers: Sequence[str]) -> None:
        """Prolong the leases of (key, owner) and of running writers."""

        def renew(base: Any) -> None:
            lease = self._lease_seconds
            lapse = "clock_timestamp() + %s * interval '1 second'"
            with base.transaction():
                for key, owner in sorted(claims):
                    base.execute(
                        "UPDATE visceral_results_1.claim"  # noqa: S608 - a constant
                        f" SET lapse = {lapse} WHERE key = %s AND owner = %s",
                        (lease, key, owner),
                    )
                base.execute(
                    "UPDATE visceral_results_1.running_writer"  # noqa: S608 - a constant
                    f" SET lapse = {lapse} WHERE writer = ANY (%s)",
                    (lease, list(writers)),
                )

        self._do(renew)

    def remove(self, key: str) -> None:
        """Forget one result."""
        self._do(lambda base: self._forget_all(base, _FORGET, (key,)))

    def clear(self, namespace: str) -> int:
        """Forget all results of a namespace; returns how many."""
        delete = "DELETE FROM visceral_results_1.entry WHERE namespace = %s RETURNING size"
        return self._do(lambda base: self._forget_all(base, delete, (name_of(namespace),)))

    def remove_expired(self, now_ns: int) -> int:
        """Remove what is too old for everybody; returns how many."""

        def remove(base: Any) -> int:
            removed = self._forget_all(base, _FORGET_EXPIRED, (now_ns, 100_000))
            forgotten = name_of(FORGOTTEN)
            if base.execute(_FORGET_BARRIERS, (MAX_BARRIERS, forgotten)).rowcount:
                base.execute(_RAISE_BARRIERS, ([forgotten], [writers_token(now_ns)]))
            return removed

        return self._do(remove)

    def bytes_used(self) -> int:
        """Return the size of all results as it counts towards the limit."""
        select = "SELECT bytes FROM visceral_results_1.usage"
        return self._do(lambda base: int(base.execute(select).fetchone()[0]))

    def discard(self) -> None:
        """Delete all results."""

        def discard(base: Any) -> None:
            with base.transaction():
                base.execute("TRUNCATE visceral_results_1.entry, visceral_results_1.barrier")
                base.execute("UPDATE visceral_results_1.usage SET bytes = 0")

        self._do(discard)

    def close(self) -> None:
        """Let go of connections; the results stay."""
        with self._lock:
            connections, self._connections = self._connections, []
            self._local = threading.local()
        for base in connections:
            with contextlib.suppress(Exception):
                base.close()

    def _forget_all(self, base: Any, delete: str, arguments: tuple[Any, ...]) -> int:
        with base.transaction():
            sizes = [row[0] for row in base.execute(delete, arguments).fetchall()]
            base.execute(_COUNT, (-sum(sizes),))
            return len(sizes)

    def _write_touched(self, base: Any) -> None:
        touched, self._touched = self._touched, {}
        if touched:
            base.execute(
                "UPDATE visceral_results_1.entry SET used_ns = touched.used_ns"
                " FROM (SELECT * FROM unnest(%s::text[], %s::bigint[])"
                "       AS given (key, used_ns) ORDER BY key) AS touched"
                " WHERE entry.key = touched.key",
                (list(touched), list(touched.values())),
            )

    def _do(self, operation: Callable[[Any], T]) -> T:
        try:
            base = self._connection()
            if len(self._touched) >= _TOUCHED_AT_ONCE:
                self._write_touched(base)
            return operation(base)
        except (self._psycopg.Error, OSError, ValueError, TypeError) as error:
            base = getattr(self._local, "base", None)
            if base is not None and base.broken:
                self._local.base = None
            # the message may quote a value; the name of the error does not
            raise StoreFailed(type(error).__name__) from None

    def _connection(self) -> Any:
        base = getattr(self._local, "base", None)
        if base is not None and not base.closed:
            return base
        base = self._psycopg.connect(self._url, autocommit=True, connect_timeout=2)
        base.execute("SET lock_timeout = '2s'; SET statement_timeout = '5s'")
        if not self._is_set_up:
            schema = files("visceral_cli.runtime.stores").joinpath("postgres_schema.sql")
            with base.transaction():
                base.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                base.execute(schema.read_text("utf-8"))
            self._is_set_up = True
        self._local.base = base
        with self._lock:
            self._connections.append(base)
        return base


def _generations(base: Any, names: list[str]) -> tuple[str, ...] | None:
    """Return the generations of the scopes, locked against writers; ``None`` while one runs."""
    found = dict(base.execute(_READ_BARRIERS, (names,)).fetchall())
    if base.execute(_IS_RUNNING, (names,)).fetchone()[0]:
        return None
    return tuple(found.get(name, "") for name in names)


def _release(base: Any, key: str, owner: str) -> None:
    base.execute("DELETE FROM visceral_results_1.claim WHERE key = %s AND owner = %s", (key, owner))


def _total(deleted: Any) -> int:
    return sum(row[0] for row in deleted.fetchall())
