"""One execution per key at a time in this process; who comes meanwhile waits for its end."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

from visceral_cli.runtime.forking import begin_afresh_after_fork

inside: ContextVar[frozenset[str]] = ContextVar("visceral_inside", default=frozenset())
"""The keys that the code here is executing: it must not wait for itself."""


class Landing(StrEnum):
    """How a flight ended, as far as it concerns those who waited."""

    VALUE = "value"
    """With a result that they may have, each a copy of its own."""
    RAISED = "raised"
    """With an exception."""
    UNSHARED = "unshared"
    """With nothing they may have: it was cancelled or overtaken; one of them executes anew."""
    ALONE = "alone"
    """With a result that cannot be copied; so will be that of the next: each executes."""


@dataclass(frozen=True, slots=True)
class Landed:
    """The end of a flight."""

    landing: Landing
    text: str = ""
    started_ns: int = 0
    """When the execution began."""
    error: Exception | None = None
    current_ns: int = 0
    """A later moment by which the store knew of no writer; 0: it was not asked."""
    is_error: bool = False
    """Whether the result says that it is an error."""


class Flight:
    """One execution that others may wait for."""

    def __init__(self) -> None:
        self.started_ns: int | None = None
        self.task: asyncio.Task[object] | None = None
        self._interested = 0
        self._lock = threading.Lock()
        self._landed: Future[Landed] = Future()
        self._landed.set_running_or_notify_cancel()  # no waiter can cancel it

    def land(self, landed: Landed) -> None:
        """Tell everybody; only the first call counts."""
        if not self._landed.done():
            self._landed.set_result(landed)

    @property
    def would_wait_for_itself(self) -> bool:
        """Whether a blocking wait here would block the loop that the execution runs on."""
        if self.task is None:
            return False
        try:
            return asyncio.get_running_loop() is self.task.get_loop()
        except RuntimeError:
            return False

    def wait(self, *, seconds: float) -> Landed | None:
        """Return the end; ``None`` if it does not come in time."""
        try:
            return self._landed.result(timeout=seconds)
        except TimeoutError:
            return None

    async def wait_async(self, *, seconds: float) -> Landed | None:
        """Do the same without blocking the event loop."""
        waiting = asyncio.wrap_future(self._landed)
        done, _ = await asyncio.wait([waiting], timeout=seconds)
        return waiting.result() if done else None

    def board(self) -> None:
        """Somebody wants the result."""
        with self._lock:
            self._interested += 1

    def leave(self) -> bool:
        """Somebody does not any more; whether nobody does."""
        with self._lock:
            self._interested -= 1
            return self._interested <= 0


class Flights:
    """The executions that are running in this process, by key."""

    def __init__(self) -> None:
        self.begin_afresh()
        begin_afresh_after_fork(self)

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process."""
        # after a fork the executions of the parent go on there, and land there
        self._lock = threading.Lock()
        self._flights: dict[str, Flight] = {}

    def join(self, key: str, *, not_this: Flight | None = None) -> tuple[Flight, bool]:
        """Return the flight of the key, and whether the caller has to execute it.

        ``not_this``: a flight whose result is of no use to the caller; another takes its place.
        """
        with self._lock:
            flight = self._flights.get(key)
            leads = flight is None or flight is not_this
            if flight is None or leads:
                flight = self._flights[key] = Flight()
            flight.board()
            return flight, leads

    def end(self, key: str, flight: Flight, landed: Landed) -> None:
        """The execution has ended."""
        with self._lock:
            if self._flights.get(key) is flight:
                del self._flights[key]
        flight.land(landed)
