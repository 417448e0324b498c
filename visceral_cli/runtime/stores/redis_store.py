"""Results in Redis or Valkey, for several machines. Needs the extra ``redis``."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from visceral_cli.runtime.clock import Clock
from visceral_cli.runtime.clock import now_ns as clock_now_ns
from visceral_cli.runtime.stores import redis_scripts
from visceral_cli.runtime.stores.packed import as_list, name_of, names_of, pack, unpack
from visceral_cli.runtime.stores.result_store import (
    FORMAT,
    LEASE_SECONDS,
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


class RedisStore:
    """A Redis database, reached by its URL. See `ResultStore`."""

    def __init__(
        self,
        url: str,
        *,
        max_bytes: int = MAX_STORE_BYTES,
        max_entry_bytes: int = MAX_ENTRY_BYTES,
        lease_seconds: float = LEASE_SECONDS,
        prefix: str = "visceral",
        clock: Clock = clock_now_ns,
    ) -> None:
        redis = importlib.import_module("redis")
        # valkey:// is the same protocol under another name
        self._client: Any = redis.Redis.from_url(
            url.replace("valkey://", "redis://", 1), socket_timeout=2.0, socket_connect_timeout=2.0
        )
        self._failures = (redis.exceptions.RedisError, OSError, ValueError, TypeError)
        self._prefix = f"{{{prefix}:{FORMAT}}}:"
        self._max_bytes = max_bytes
        self._max_entry_bytes = max_entry_bytes
        self._lease_ms = int(lease_seconds * 1000)
        self._clock = clock
        self._scripts: dict[str, Any] = {}

    def lookup(self, key: str) -> Found:
        """Return what is kept under the key, whatever its age."""
        state, *packed = self._run(redis_scripts.LOOKUP, key, self._clock() // 1000)
        if state == 1:
            return Found(overtaken=True)
        return Found(unpack(packed[0]) if packed else None)

    def claim(self, key: str, scopes: Sequence[str], owner: str) -> Claim:
        """Announce that ``owner`` is about to execute the call."""
        tokens = [new_token() for _ in scopes]
        granted, found = self._run(
            redis_scripts.CLAIM,
            key,
            owner,
            self._lease_ms,
            as_list(names_of(scopes)),
            as_list(tokens),
        )
        generations = tuple(token.decode("ascii") for token in found)
        return Claim(granted == 1, generations or None)

    def put(self, entry: Entry, owner: str) -> tuple[Kept, int]:
        """Keep a result and give up the claim."""
        if entry.size > min(self._max_entry_bytes, self._max_bytes):
            self.release(entry.key, owner)
            self.remove(entry.key)
            return Kept.TOO_LARGE, 0
        now = self._clock()
        kept, evicted = self._run(
            redis_scripts.PUT,
            entry.key,
            owner,
            pack(entry),
            as_list(names_of(entry.scopes)),
            as_list(entry.generations),
            name_of(entry.namespace),
            entry.size,
            entry.expires_ns // 1000,
            now // 1000,
            max(1, (entry.expires_ns - now) // 1_000_000),
            self._max_bytes,
            f"{max(0, entry.started_ns):020d}",
            f"{max(0, now):020d}",
        )
        return (Kept.OVERTAKEN, Kept.KEPT, Kept.OLDER)[kept], evicted

    def release(self, key: str, owner: str) -> None:
        """Give up a claim without a result."""
        self._run(redis_scripts.RELEASE, key, owner)

    def begin_write(self, scopes: Sequence[str], writer: str) -> None:
        """Raise the barrier of the scopes, until the writer of this id ends."""
        self._write("1", scopes, writer)

    def end_write(self, scopes: Sequence[str], writer: str) -> None:
        """Lift it; results of executions that began before now stay unusable."""
        self._write("0", scopes, writer)

    def _write(self, begins: str, scopes: Sequence[str], writer: str) -> None:
        now = self._clock()
        tokens = [writers_token(now) for _ in scopes]
        names = as_list(names_of(scopes))
        self._run(redis_scripts.WRITE, begins, writer, self._lease_ms, names, as_list(tokens))

    def renew(self, claims: Sequence[tuple[str, str]], writers: Sequence[str]) -> None:
        """Prolong the leases of (key, owner) and of running writers."""
        flat = [part for claim in claims for part in claim]
        self._run(redis_scripts.RENEW, self._lease_ms, as_list(flat), as_list(writers))

    def remove(self, key: str) -> None:
        """Forget one result."""
        self._run(redis_scripts.FORGET, key)

    def clear(self, namespace: str) -> int:
        """Forget all results of a namespace; returns how many."""
        return int(self._run(redis_scripts.CLEAR, name_of(namespace)))

    def remove_expired(self, now_ns: int) -> int:
        """Remove what is too old for everybody; returns how many."""
        return int(self._run(redis_scripts.EXPIRE, now_ns // 1000))

    def bytes_used(self) -> int:
        """Return the size of all results as it counts towards the limit."""
        try:
            return int(self._client.get(f"{self._prefix}bytes") or 0)
        except self._failures as error:
            raise StoreFailed(type(error).__name__) from None

    def discard(self) -> None:
        """Delete everything of ours in the database."""
        try:
            for key in self._client.scan_iter(f"{self._prefix}*", count=1000):
                self._client.unlink(key)
        except self._failures as error:
            raise StoreFailed(type(error).__name__) from None

    def close(self) -> None:
        """Let go of connections; the results stay."""
        self._client.close()

    def _run(self, script: str, *arguments: str | int) -> Any:
        try:
            registered = self._scripts.get(script)
            if registered is None:
                registered = self._scripts[script] = self._client.register_script(script)
            return registered(keys=[self._prefix], args=arguments)
        except self._failures as error:
            # the message may quote a value; the name of the error does not
            raise StoreFailed(type(error).__name__) from None
