"""Which run the code here belongs to, and which writers it must respect.

Unless somebody says otherwise the whole process is one run: a writer anywhere in it voids older
results everywhere in it, across threads, tasks and nodes. ``@node(name, run=True)`` begins a run
of its own: writers inside it void results for that run only. Code whose run is unknown, such as a
plain thread started inside one, writes for all runs and respects the writers of all.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence
from contextvars import ContextVar

from visceral_cli.runtime.clock import Clock
from visceral_cli.runtime.clock import now_ns as clock_now_ns
from visceral_cli.runtime.writer_log import WriterLog


class Run:
    """A declared run: its writers, and an id that no other run has."""

    __slots__ = ("run_id", "writers")

    def __init__(self, clock: Clock = clock_now_ns) -> None:
        self.run_id = os.urandom(16).hex()
        self.writers = WriterLog(clock)


current_run: ContextVar[Run | None] = ContextVar("visceral_run", default=None)
"""The declared run that is open here; ``None``: none is."""


class Writers:
    """The writers that this process has seen, by run."""

    def __init__(self, clock: Clock = clock_now_ns) -> None:
        self._anywhere = WriterLog(clock)
        self._outside = WriterLog(clock)
        self._clock = clock
        self._ended: deque[tuple[Sequence[WriterLog], Sequence[str], int]] = deque()

    def begin(self, scopes: Sequence[str]) -> list[WriterLog]:
        """A writer is about to start here; give the answer to `end`."""
        run = current_run.get()
        logs = [self._anywhere, self._outside if run is None else run.writers]
        for log in logs:
            log.begin(scopes)
        return logs

    def end(
        self, logs: Iterable[WriterLog], scopes: Sequence[str], *, at_ns: int | None = None
    ) -> None:
        """It has ended. May be called from anywhere."""
        for log in logs:
            log.end(scopes, at_ns=at_ns)

    def end_later(self, logs: Sequence[WriterLog], scopes: Sequence[str]) -> None:
        """Do the same without a lock; the logs learn of it when somebody asks next."""
        self._ended.append((logs, scopes, self._clock()))

    def last_write_end_ns(self, scopes: Sequence[str]) -> int | None:
        """Return when the last writer that counts here ended; see `WriterLog`."""
        while self._ended:
            logs, ended_scopes, at_ns = self._ended.popleft()
            self.end(logs, ended_scopes, at_ns=at_ns)
        run = current_run.get()
        if run is None:
            return self._anywhere.last_write_end_ns(scopes)
        ends = (log.last_write_end_ns(scopes) for log in (self._outside, run.writers))
        return max((end for end in ends if end is not None), default=None)
