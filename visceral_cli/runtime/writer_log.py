"""When writing tools last ran, by scope: what the runtime itself has seen in this process.

A writer holds its barrier from before its first step until after its last. A result is overtaken
if its execution began before the barrier was lifted.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable

from visceral_cli.contract.decide import WRITER_RUNNING
from visceral_cli.runtime.clock import Clock
from visceral_cli.runtime.clock import now_ns as clock_now_ns
from visceral_cli.runtime.forking import begin_afresh_after_fork

MAX_SCOPES = 10_000
"""Scopes whose last writer is remembered one by one."""

EVERYTHING = "*"
"""The scope of a writer that says nothing about what it changes."""


def entry_scopes(namespace: str, tags: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the scopes in which a result is kept: a writer of any of them overtakes it."""
    return _entry_scopes(namespace, tuple(tags))


@functools.lru_cache(maxsize=1024)  # the same few at every call
def _entry_scopes(namespace: str, tags: tuple[str, ...]) -> tuple[str, ...]:
    tagged = tuple(f"{namespace}\x1f#{tag}" for tag in dict.fromkeys(tags))
    return (namespace, *(tagged or (f"{namespace}\x1f-",)))


def covers(kept: tuple[str, ...], asked: tuple[str, ...]) -> bool:
    """Whether a result kept in some scopes is overtaken by all writers that the asker fears."""
    if kept == asked:
        return True
    namespace = asked[0]
    return namespace in kept and (f"{namespace}\x1f-" in kept or set(asked) <= set(kept))


def writer_scopes(namespace: str, tags: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the scopes that a writer overtakes.

    ``None``: all of the namespace. Tags: what carries one of them, and what carries none, since
    that might depend on anything. No tags at all: nothing.
    """
    if tags is None:
        return (namespace,)
    tagged = tuple(f"{namespace}\x1f#{tag}" for tag in dict.fromkeys(tags))
    return (*tagged, f"{namespace}\x1f-") if tagged else ()


class WriterLog:
    """The writers of one run, or of the whole process."""

    def __init__(self, clock: Clock = clock_now_ns) -> None:
        self._clock = clock
        self._running: dict[str, int] = {}
        self._ended_ns: dict[str, int] = {}
        self._forgotten_ns: int | None = None
        self.begin_afresh()
        begin_afresh_after_fork(self)

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process: what was running goes on in the parent, unseen here."""
        self._lock = threading.Lock()
        now = self._clock()
        self._ended_ns |= dict.fromkeys(self._running, now)
        self._running.clear()

    def begin(self, scopes: Iterable[str]) -> None:
        """A writer of these scopes is about to start."""
        with self._lock:
            for scope in scopes:
                self._running[scope] = self._running.get(scope, 0) + 1

    def end(self, scopes: Iterable[str], *, at_ns: int | None = None) -> None:
        """It has ended, whatever its outcome; ``at_ns``: then, not now."""
        now = self._clock() if at_ns is None else at_ns
        with self._lock:
            for scope in scopes:
                left = self._running.get(scope, 0) - 1
                if left > 0:
                    self._running[scope] = left
                else:
                    self._running.pop(scope, None)
                self._ended_ns[scope] = max(now, self._ended_ns.get(scope, 0))
            if len(self._ended_ns) > MAX_SCOPES:
                self._forget_oldest()

    def last_write_end_ns(self, scopes: Iterable[str]) -> int | None:
        """Return the latest end of a writer in any of the scopes; `WRITER_RUNNING` while one runs.

        ``None``: there was none.
        """
        if not self._running and not self._ended_ns:
            return None
        with self._lock:
            if any(scope in self._running for scope in scopes):
                return WRITER_RUNNING
            return max(
                (self._ended_ns[scope] for scope in scopes if scope in self._ended_ns),
                default=self._forgotten_ns,
            )

    def _forget_oldest(self) -> None:
        """Let one time stand for the older half of the scopes: the latest of them all."""
        by_age = sorted(self._ended_ns, key=self._ended_ns.__getitem__)
        oldest = by_age[: len(by_age) // 2]
        self._forgotten_ns = self._ended_ns[oldest[-1]]
        for scope in oldest:
            del self._ended_ns[scope]
