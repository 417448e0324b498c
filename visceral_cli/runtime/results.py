"""``Results``: a store of results as the agent may use it, in bounded time and without surprises.

Every operation on the store runs for a limited time in another thread. The leases of what this
process is doing are prolonged, expired results are removed without being read, and a writer that
the store would not record costs the store its content rather than its correctness.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from visceral_cli.runtime import environment
from visceral_cli.runtime.bounded import BoundedWorkers, TookTooLong
from visceral_cli.runtime.clock import Clock
from visceral_cli.runtime.clock import now_ns as clock_now_ns
from visceral_cli.runtime.encryption import Key
from visceral_cli.runtime.forking import begin_afresh_after_fork
from visceral_cli.runtime.stores.result_store import (
    LEASE_SECONDS,
    Claim,
    Entry,
    Found,
    Kept,
    ResultStore,
    StoreFailed,
    new_token,
)

T = TypeVar("T")

logger = logging.getLogger("visceral_cli.runtime")

WRITER_SECONDS = 3.0
"""How long a writer waits for its barrier: rarer than reads, and what correctness rests on."""

BURST_SECONDS = 60.0
"""One warning for the failures within this time."""

_SWEEP_SECONDS = 30.0
_ROUND_SECONDS = 0.5


class Results:
    """A store, used by `serve` and `result_cache`."""

    def __init__(
        self,
        store: ResultStore,
        *,
        key: Key | None = None,
        clock: Clock = clock_now_ns,
        seconds: Callable[[], float] = environment.serve_timeout_seconds,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self.store = store
        self.key = key
        self.clock = clock
        self._seconds = seconds
        self._lease_seconds = lease_seconds
        self._workers = BoundedWorkers("visceral-results")
        # apart, so that slow reads never keep a writer from raising its barrier
        self._writer_workers = BoundedWorkers("visceral-writes")
        self._discards = BoundedWorkers("visceral-discards")
        self._owed: list[Sequence[str]] = []
        self.begin_afresh()
        begin_afresh_after_fork(self)
        self._ended: deque[tuple[Sequence[str], str]] = deque()
        self._warned_at = float("-inf")

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process: claims and writers go on in the parent."""
        self._lock = threading.Lock()
        self._claims: dict[tuple[str, str], None] = {}
        self._writers: dict[str, Sequence[str]] = {}
        self._keeper: threading.Thread | None = None
        self._closed = threading.Event()

    def warm_up(self) -> None:
        """Open the store now, since making a file takes longer than a call may wait."""
        try:
            self._workers.run(lambda: self.store.lookup(""), seconds=WRITER_SECONDS)
        except Exception as failure:  # noqa: BLE001 - it may work later
            self.warn(_reason(failure))

    def lookup(self, key: str) -> Found:
        """Return what is kept. This and all below raise `StoreFailed` and `TookTooLong`."""
        return self._bounded(lambda: self.store.lookup(key))

    async def lookup_async(self, key: str) -> Found:
        """Do the same without blocking the event loop."""
        return await self._bounded_async(lambda: self.store.lookup(key))

    def claim(self, key: str, scopes: Sequence[str]) -> tuple[Claim, str]:
        """Announce an execution; returns the answer and the owner's id."""
        owner = new_token()
        claim = self._bounded(lambda: self.store.claim(key, scopes, owner))
        self._hold(claim, key, owner)
        return claim, owner

    async def claim_async(self, key: str, scopes: Sequence[str]) -> tuple[Claim, str]:
        """Do the same without blocking the event loop."""
        owner = new_token()
        claim = await self._bounded_async(lambda: self.store.claim(key, scopes, owner))
        self._hold(claim, key, owner)
        return claim, owner

    def put(self, entry: Entry, owner: str) -> tuple[Kept, int]:
        """Keep a result; also says how many were evicted for it."""
        self._let_go(entry.key, owner)
        return self._bounded(lambda: self.store.put(entry, owner))

    async def put_async(self, entry: Entry, owner: str) -> tuple[Kept, int]:
        """Do the same without blocking the event loop."""
        self._let_go(entry.key, owner)
        return await self._bounded_async(lambda: self.store.put(entry, owner))

    def release(self, key: str, owner: str) -> None:
        """Give up a claim without a result; does not wait and raises nothing."""
        self._let_go(key, owner)
        with contextlib.suppress(TookTooLong, RuntimeError):
            self._workers.later(lambda: self.store.release(key, owner))

    def remove(self, key: str) -> None:
        """Forget one result, before another is stored in its place; raises nothing."""
        seconds = environment.serve_timeout_seconds()
        with contextlib.suppress(Exception):
            self._workers.run(lambda: self.store.remove(key), seconds=seconds)

    def begin_write(self, scopes: Sequence[str], writer: str) -> None:
        """Raise the barrier for everyone who uses the store; never raises."""
        self._register(scopes, writer)
        self._record_write(scopes, lambda: self.store.begin_write(scopes, writer))

    def end_write(self, scopes: Sequence[str], writer: str) -> None:
        """Lift the barrier; never raises."""
        with self._lock:
            self._writers.pop(writer, None)
        self._record_write(scopes, lambda: self.store.end_write(scopes, writer))

    async def begin_write_async(self, scopes: Sequence[str], writer: str) -> None:
        """Do the same without blocking the event loop."""
        self._register(scopes, writer)

        def begin() -> None:
            # here another worker does the work, for at most WRITER_SECONDS, twice
            self._record_write(scopes, lambda: self.store.begin_write(scopes, writer))

        with contextlib.suppress(TookTooLong, RuntimeError):
            await _WAITERS.run_async(begin, seconds=3 * WRITER_SECONDS)

    def end_write_soon(self, scopes: Sequence[str], writer: str) -> None:
        """Do the same without waiting; until it is done the barrier stands."""
        try:
            _WAITERS.later(lambda: self.end_write(scopes, writer))
        except (TookTooLong, RuntimeError):
            self.end_write_later(scopes, writer)

    def end_write_later(self, scopes: Sequence[str], writer: str) -> None:
        """Do the same without any lock, when the leases are next prolonged."""
        self._ended.append((scopes, writer))

    def clear(self, namespace: str) -> int:
        """Forget all results of a namespace; returns how many."""
        return self._workers.run(lambda: self.store.clear(namespace), seconds=WRITER_SECONDS)

    def close(self) -> None:
        """Let go of the store; the results stay."""
        self._closed.set()
        for workers in (self._workers, self._writer_workers, self._discards):
            workers.close()
        self.store.close()

    def warn(self, reason: str) -> None:
        """Say that the store does not work, once per burst of failures."""
        now = time.monotonic()
        with self._lock:
            if now - self._warned_at < BURST_SECONDS:
                return
            self._warned_at = now
        logger.warning("visceral: results are not available (%s); tools run as they are", reason)

    def _bounded(self, operation: Callable[[], T]) -> T:
        try:
            return self._workers.run(operation, seconds=self._seconds())
        except (StoreFailed, TookTooLong) as failure:
            self.warn(_reason(failure))
            raise

    async def _bounded_async(self, operation: Callable[[], T]) -> T:
        try:
            return await self._workers.run_async(operation, seconds=self._seconds())
        except (StoreFailed, TookTooLong) as failure:
            self.warn(_reason(failure))
            raise

    def _register(self, scopes: Sequence[str], writer: str) -> None:
        """Prolong the lease of the writer from now on, until it ends."""
        with self._lock:
            self._writers[writer] = scopes
        self._keep()

    def _record_write(self, scopes: Sequence[str], operation: Callable[[], None]) -> None:
        try:
            self._writer_workers.run(operation, seconds=WRITER_SECONDS)
            return
        except Exception as failure:  # noqa: BLE001 - the writer must run
            self.warn(_reason(failure))
        try:
            self._discards.run(self.store.discard, seconds=WRITER_SECONDS)
            return
        except Exception as failure:  # noqa: BLE001 - the writer must run
            # others may serve what this writer changes, until the store can be reached again
            logger.debug("visceral: a writer could not be recorded (%s)", _reason(failure))
        with self._lock:
            self._owed.append(scopes)
        self._keep()

    def _hold(self, claim: Claim, key: str, owner: str) -> None:
        if claim.granted:
            with self._lock:
                self._claims[key, owner] = None
            self._keep()

    def _let_go(self, key: str, owner: str) -> None:
        with self._lock:
            self._claims.pop((key, owner), None)

    def _keep(self) -> None:
        """Start the thread that prolongs leases, unless it runs."""
        if self._keeper is not None:
            return
        with self._lock:
            if self._keeper is not None:
                return
            self._keeper = threading.Thread(
                target=_keep_house,
                args=(
                    weakref.ref(self),
                    self._closed,
                    min(self._lease_seconds / 3, _ROUND_SECONDS),
                ),
                name="visceral-leases",
                daemon=True,
            )
            try:
                self._keeper.start()
            except RuntimeError:  # no more threads: leases lapse, which only costs savings
                self._keeper = None

    def renew(self) -> None:
        """Prolong the leases, and record the writers that the store has missed."""
        while self._ended:
            self.end_write(*self._ended.popleft())
        with self._lock:
            claims, writers = list(self._claims), list(self._writers)
            owed, self._owed = self._owed, []
        if claims or writers:
            self.store.renew(claims, writers)
        while owed:
            scopes = owed.pop()
            try:
                self.store.end_write(scopes, new_token())
            except BaseException:
                with self._lock:
                    self._owed += [scopes, *owed]
                raise


_WAITERS = BoundedWorkers("visceral-writers")


def _keep_house(
    reference: weakref.ref[Results], closed: threading.Event, every_seconds: float
) -> None:
    swept_at = time.monotonic()
    while not closed.wait(every_seconds):
        results = reference()
        if results is None:
            return
        try:
            results.renew()
            if time.monotonic() - swept_at >= _SWEEP_SECONDS:
                swept_at = time.monotonic()
                results.store.remove_expired(results.clock())
        except Exception as failure:  # noqa: BLE001 - the next round may do better
            logger.debug("visceral: leases were not prolonged (%s)", _reason(failure))
        del results


def _reason(failure: BaseException) -> str:
    if isinstance(failure, TookTooLong):
        return "timeout"
    return str(failure) if isinstance(failure, StoreFailed) else type(failure).__name__
