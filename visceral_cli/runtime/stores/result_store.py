"""``ResultStore``: what every place that keeps results must do.

Barriers. Each scope has a generation, a token that every writer replaces when it starts and when it
ends. A result is kept with the generations of its scopes as they were before its execution
began, and is usable only while they are the same and no writer of them runs. No clock is involved,
and a store that loses a barrier loses the results behind it. The token of a writer also tells its
time, for results that were recorded elsewhere and come late (`seeding`).

Claims. Whoever is about to execute a call claims its key, so that other processes wait for the
result. Claims and running writers are leases: those of a process that died lapse.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

FORMAT = 1
"""The shape of what is kept; anything else there is a miss."""

LEASE_SECONDS = 10.0
"""How long a claim or a running writer outlives its process."""

MAX_ENTRY_BYTES = 1 << 20
MAX_STORE_BYTES = 256 << 20

MAX_BARRIERS = 100_000
"""Generations beyond which those that no kept result needs are forgotten: that voids, and never
revives, since a new one is a new token."""

FORGOTTEN = "\x1fforgotten"
"""A scope of nobody: its generation tells when generations were last forgotten."""


class StoreFailed(Exception):
    """The store cannot do it: unreachable, locked, full, of another format. Quotes no value."""


class Kept(StrEnum):
    """What became of a result that was to be kept."""

    KEPT = "kept"
    OVERTAKEN = "overtaken"
    """A writer ran since its execution began, or runs now."""
    TOO_LARGE = "too-large"
    OLDER = "older"
    """A usable result is kept whose execution began later."""


class Entry(NamedTuple):
    """One kept result. Times are integer nanoseconds since 1970.

    A named tuple, since one is made of a row at every hit, and that is five times as fast.
    """

    key: str
    namespace: str
    tool: str
    version: str | None
    hash_v: int
    value: str
    """JSON in the insertion order of its objects, or that encrypted."""
    content_hash: str
    """Of the canonical JSON of the value."""
    check: str
    """`checksum` of what is above: a row that was changed or cut is noticed."""
    started_ns: int
    """When the execution began: a result is as old as that."""
    stored_ns: int
    """When the execution had ended."""
    freshness_ns: int
    """The greatest age that was allowed when it was kept."""
    scopes: tuple[str, ...]
    generations: tuple[str, ...]
    """Of the scopes, in their order, before the execution began."""

    @property
    def expires_ns(self) -> int:
        """When it is too old for everybody."""
        return self.started_ns + self.freshness_ns

    @property
    def size(self) -> int:
        """Its bytes as they count towards the limits."""
        return len(self.value) + len(self.key) + sum(map(len, self.scopes)) + 256


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a lookup."""

    entry: Entry | None = None
    """``None``: nothing usable is there."""
    overtaken: bool = False
    """Something is there, but a writer has overtaken it or is running."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim."""

    granted: bool
    """Whether nobody else is executing the call."""
    generations: tuple[str, ...] | None
    """Of the scopes, now; ``None`` while a writer runs: what is read now must not be kept."""


class ResultStore(Protocol):
    """A place that keeps results. Every method may raise `StoreFailed`, and nothing else.

    Safe to use from several threads, and by several processes that opened the same place.
    """

    def lookup(self, key: str) -> Found:
        """Return what is kept under the key, whatever its age."""

    def claim(self, key: str, scopes: Sequence[str], owner: str) -> Claim:
        """Announce that ``owner`` is about to execute the call."""

    def put(self, entry: Entry, owner: str) -> tuple[Kept, int]:
        """Keep a result and give up the claim; also says how many were evicted for it."""

    def release(self, key: str, owner: str) -> None:
        """Give up a claim without a result."""

    def begin_write(self, scopes: Sequence[str], writer: str) -> None:
        """Raise the barrier of the scopes, until the writer of this id ends."""

    def end_write(self, scopes: Sequence[str], writer: str) -> None:
        """Lift it; results of executions that began before now stay unusable."""

    def renew(self, claims: Sequence[tuple[str, str]], writers: Sequence[str]) -> None:
        """Prolong the leases of (key, owner) and of running writers."""

    def remove(self, key: str) -> None:
        """Forget one result."""

    def clear(self, namespace: str) -> int:
        """Forget all results of a namespace; returns how many."""

    def remove_expired(self, now_ns: int) -> int:
        """Remove what is too old for everybody; returns how many."""

    def bytes_used(self) -> int:
        """Return the size of all results as it counts towards the limit."""

    def discard(self) -> None:
        """Forget everything, by whatever means: a barrier could not be recorded."""

    def close(self) -> None:
        """Let go of connections; the results stay."""


def checksum(*, key: str, value: str, content_hash: str) -> str:
    """Return the sha256 that ties a value to its key and its content hash."""
    text = f"{FORMAT}\n{key}\n{content_hash}\n{value}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def new_token() -> str:
    """Return a generation, an owner or a writer id that nobody has had."""
    return secrets.token_hex(8)


def writers_token(now_ns: int) -> str:
    """Return the generation that a writer leaves, with its time."""
    return f"w{now_ns:016x}-{new_token()}"


def written_ns(generation: str) -> int | None:
    """Return when a writer left this generation; ``None``: no writer did."""
    return int(generation[1:17], 16) if generation[:1] == "w" else None
