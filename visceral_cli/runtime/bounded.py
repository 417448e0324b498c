"""Runs operations that may hang, so that nobody waits longer than he allows.

A store on a dead network mount hangs in the kernel, where no timeout of the client helps. So each
operation runs in a daemon thread of its own small pool; the caller waits for it, and leaves it
behind when the time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MAX_WORKERS = 8
_CLOSE_SECONDS = 1.0
MAX_STUCK = 16
"""Operations left behind, beyond which new ones fail at once until one of them returns."""


class TookTooLong(Exception):
    """The time for an operation is over; it may still be running."""


class _Job(Generic[T]):
    __slots__ = ("abandoned", "done", "error", "notify", "operation", "result", "running")

    def __init__(self, operation: Callable[[], T], notify: Callable[[], object] | None) -> None:
        self.operation = operation
        self.notify = notify
        self.done = threading.Lock()
        self.done.acquire()
        self.result: T | None = None
        self.error: BaseException | None = None
        self.running = False
        self.abandoned = False

    def value(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class BoundedWorkers:
    """A pool of daemon threads that grows on demand and survives a fork."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers = 0
        self._outstanding = 0
        self._stuck = 0

    def run(self, operation: Callable[[], T], *, seconds: float) -> T:
        """Return what ``operation`` returns, or raise what it raises.

        Raises `TookTooLong` after ``seconds`` of real time, ``RuntimeError`` if no thread can be
        started, as at the end of the interpreter; so do the others.
        """
        job = self._submit(operation, None)
        if not job.done.acquire(True, seconds):
            self._abandon(job)
            raise TookTooLong
        return job.value()

    async def run_async(self, operation: Callable[[], T], *, seconds: float) -> T:
        """Do the same without blocking the event loop."""
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not finished.done():
                finished.set_result(None)

        def notify() -> None:
            loop.call_soon_threadsafe(wake)

        job = self._submit(operation, notify)
        timer = loop.call_later(seconds, wake)
        try:
            await finished
        except BaseException:
            self._abandon(job)
            raise
        finally:
            timer.cancel()
        if not job.done.acquire(blocking=False):
            self._abandon(job)
            raise TookTooLong
        return job.value()

    def later(self, operation: Callable[[], object]) -> None:
        """Run ``operation`` soon and do not wait; what it raises is ignored."""
        self._submit(operation, None)

    def close(self) -> None:
        """Finish what is waiting and end the threads, as far as that takes no longer than a second.

        May be used again afterwards.
        """
        with self._lock:
            threads, self._threads = self._threads, []
            self._workers = 0
        for _ in threads:
            self._jobs.put(None)
        until = time.monotonic() + _CLOSE_SECONDS
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _submit(self, operation: Callable[[], T], notify: Callable[[], object] | None) -> _Job[T]:
        job = _Job(operation, notify)
        if self._process != os.getpid():
            self._start_afresh()
        with self._lock:
            if self._stuck >= MAX_STUCK:
                raise TookTooLong
            self._outstanding += 1
            grow = self._workers < self._outstanding and self._workers - self._stuck < MAX_WORKERS
            if grow:
                self._workers += 1
        if grow:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError:
                with self._lock:
                    self._workers -= 1
                    self._outstanding -= 1
                raise
            with self._lock:
                self._threads.append(thread)
        self._jobs.put(job)
        return job

    def _abandon(self, job: _Job[Any]) -> None:
        with self._lock:
            job.abandoned = True
            if job.running:
                self._stuck += 1

    def _work(self) -> None:
        jobs = self._jobs
        while True:
            job = jobs.get()
            if job is None:
                return
            with self._lock:
                if job.abandoned:
                    self._outstanding -= 1
                    continue
                job.running = True
            try:
                job.result = job.operation()
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                job.error = error
            with self._lock:
                self._outstanding -= 1
                job.running = False
                if job.abandoned:
                    self._stuck -= 1
            job.done.release()
            if job.notify is not None:
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    job.notify()
            del job  # keep nothing alive while waiting
