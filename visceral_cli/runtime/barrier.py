"""``Barrier``: what one execution of a writer holds up, here and for all who share the store."""

from __future__ import annotations

import inspect
import weakref

from visceral_cli.runtime.declaration import Declaration
from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.run import current_run
from visceral_cli.runtime.stores.result_store import new_token
from visceral_cli.runtime.writer_log import EVERYTHING, writer_scopes


class Barrier:
    """Raised before the writer's first step, lifted after its last."""

    __slots__ = ("_here", "_in_store", "_is_up", "_logs", "_runtime", "writer")

    def __init__(self, declaration: Declaration, runtime: Runtime) -> None:
        self._runtime = runtime
        self._in_store = writer_scopes(runtime.agent_id, declaration.invalidates)
        self._here = (EVERYTHING,) if declaration.invalidates is None else self._in_store
        self._logs = runtime.writers.begin(self._here)
        self._is_up = True
        # within a declared run a writer is a matter of that run
        shared = runtime.cache_results is not None and self._in_store and current_run.get() is None
        self.writer: str | None = new_token() if shared else None
        """The id in the store; ``None``: the store need not know."""

    def raise_in_store(self) -> None:
        """Tell the store; waits for it, and does not raise."""
        if self.writer is not None and self._runtime.cache_results is not None:
            self._runtime.cache_results.begin_write(self._in_store, self.writer)

    async def raise_in_store_async(self) -> None:
        """Do the same without blocking the event loop."""
        if self.writer is not None and self._runtime.cache_results is not None:
            await self._runtime.cache_results.begin_write_async(self._in_store, self.writer)

    def lift(self, result: object = None) -> None:
        """The writer has returned; a generator or coroutine that it returned may still write."""
        if not self._is_up:
            return
        self._is_up = False
        if inspect.isgenerator(result) or inspect.isasyncgen(result) or inspect.isawaitable(result):
            self._lift_with(result)
        else:
            self._runtime.writers.end(self._logs, self._here)

    def lift_in_store(self, *, waits: bool) -> None:
        """Tell the store, and wait for it if the caller may be held up."""
        writer, self.writer = self.writer, None
        if writer is None or self._runtime.cache_results is None:
            return
        if waits:
            self._runtime.cache_results.end_write(self._in_store, writer)
        else:
            self._runtime.cache_results.end_write_soon(self._in_store, writer)

    def _lift_with(self, result: object) -> None:
        runtime, logs, here, in_store = self._runtime, self._logs, self._here, self._in_store
        writer, self.writer = self.writer, None

        def gone() -> None:  # runs within garbage collection, where no lock may be taken
            runtime.writers.end_later(logs, here)
            if writer is not None and runtime.cache_results is not None:
                runtime.cache_results.end_write_later(in_store, writer)

        try:
            weakref.finalize(result, gone).atexit = False
        except TypeError:  # it cannot be watched
            gone()
