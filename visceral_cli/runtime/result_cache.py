"""``ResultCache``: stored results and running executions, for `cached_tool_call`.

Uses the identity, the decision, the store and the spans of `tool`, but no rules: the caller says
how long a result may be used. The two calls, plain and async, differ in what they await.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack

from visceral_cli.runtime.cached_call import AskOptions, CachedCall, take
from visceral_cli.runtime.call_arguments import ToolCallKeyPart
from visceral_cli.runtime.errors_in_results import ToolCallErrorCheck, is_error_result
from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.outcome import Kind
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.serve import Served
from visceral_cli.runtime.single_flight import Flight, Flights, Landed, Landing, inside
from visceral_cli.runtime.stores.result_store import new_token
from visceral_cli.runtime.writer_log import writer_scopes

T = TypeVar("T")

ToolCall = Callable[[], T]
"""Runs the tool."""

Key = Sequence[ToolCallKeyPart] | ToolCallKeyPart

WAIT_SECONDS = 60.0
"""How long one call waits for an equal one before it runs by itself."""

_POLL_SECONDS = (0.002, 0.05)
"""How often a call looks for the result of another process: at first, and at most."""


@dataclass(frozen=True, slots=True)
class CachedToolResult(Generic[T]):
    """A result, and whether it came from the cache or from a call that was running already."""

    value: T
    cached: bool


class ResultCache:
    """One store, with the executions that are running in this process."""

    def __init__(
        self,
        results: Results | None,
        runtime: Callable[[], Runtime],
        *,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.results = results
        self._runtime = runtime
        self._wait_seconds = wait_seconds
        self._flights = Flights()

    def call(
        self,
        namespace: str,
        key: Key,
        arguments: object,
        timeout: float | None,
        call: ToolCall[T],
        is_error: ToolCallErrorCheck = is_error_result,
        *,
        retry_failed: bool = False,
        **options: Unpack[AskOptions],
    ) -> CachedToolResult[T]:
        """Do what `cached_tool_call` does, over this store."""
        ask = take(namespace, key, arguments, timeout, **options)
        asked = CachedCall(ask, self._runtime(), self.results, is_error)
        if not self._is_cached(asked):
            return CachedToolResult(_run(asked, call), False)
        served = self._look(asked)
        if served is not None:
            asked.served()
            return CachedToolResult(served.value, True)
        deadline = time.monotonic() + self._wait_seconds
        unusable: Flight | None = None
        while True:
            flight, leads = self._flights.join(ask.key, not_this=unusable)
            if leads:
                return self._lead(asked, flight, call, deadline)
            landed = None
            if not flight.would_wait_for_itself:
                landed = flight.wait(seconds=max(0.0, deadline - time.monotonic()))
            flight.leave()
            has, value = self._take_over(asked, landed, retry_failed=retry_failed)
            if has:
                asked.served()
                return CachedToolResult(value, True)
            if landed is None or landed.landing is Landing.ALONE:
                return CachedToolResult(_run(asked, call), False)
            unusable = flight

    async def acall(
        self,
        namespace: str,
        key: Key,
        arguments: object,
        timeout: float | None,
        call: Callable[[], Awaitable[T]],
        is_error: ToolCallErrorCheck = is_error_result,
        *,
        retry_failed: bool = False,
        **options: Unpack[AskOptions],
    ) -> CachedToolResult[T]:
        """Do what `acached_tool_call` does, over this store."""
        ask = take(namespace, key, arguments, timeout, **options)
        asked = CachedCall(ask, self._runtime(), self.results, is_error)
        if not self._is_cached(asked):
            return CachedToolResult(await _run_async(asked, call), False)
        served = await self._look_async(asked)
        if served is not None:
            asked.served()
            return CachedToolResult(served.value, True)
        deadline = time.monotonic() + self._wait_seconds
        unusable: Flight | None = None
        while True:
            flight, leads = self._flights.join(ask.key, not_this=unusable)
            if leads:
                flight.task = asyncio.create_task(self._lead_async(asked, flight, call, deadline))
                return await _fly(flight, flight.task)
            try:
                landed = await flight.wait_async(seconds=max(0.0, deadline - time.monotonic()))
            finally:
                if flight.leave() and flight.task is not None:
                    _cancel(flight.task)
            has, value = self._take_over(asked, landed, retry_failed=retry_failed)
            if has:
                asked.served()
                return CachedToolResult(value, True)
            if landed is None or landed.landing is Landing.ALONE:
                return CachedToolResult(await _run_async(asked, call), False)
            unusable = flight

    @contextlib.contextmanager
    def writing(self, namespace: str, tags: Sequence[str] | None = None) -> Iterator[None]:
        """Hold the barrier while the body changes what results of the namespace depend on.

        ``tags``: only results that carry one of them, and those that carry none. Results of
        executions that began before the end of the body are not used any more, by anyone.
        """
        scopes, writer, results = writer_scopes(namespace, tags), new_token(), self.results
        writers = self._runtime().writers
        logs = writers.begin(scopes)
        try:
            if results is not None:
                results.begin_write(scopes, writer)
            yield
        finally:
            writers.end(logs, scopes)
            if results is not None:
                results.end_write(scopes, writer)

    @contextlib.asynccontextmanager
    async def awriting(
        self, namespace: str, tags: Sequence[str] | None = None
    ) -> AsyncIterator[None]:
        """Do the same in a coroutine. The store is told of the end a moment later."""
        scopes, writer, results = writer_scopes(namespace, tags), new_token(), self.results
        writers = self._runtime().writers
        logs = writers.begin(scopes)
        try:
            if results is not None:
                await results.begin_write_async(scopes, writer)
            yield
        finally:
            writers.end(logs, scopes)
            if results is not None:
                results.end_write_soon(scopes, writer)

    def clear(self, namespace: str) -> None:
        """Forget all results of a namespace, also those that are being made."""
        with self.writing(namespace), contextlib.suppress(Exception):
            if self.results is not None:
                self.results.clear(namespace)

    def _is_cached(self, asked: CachedCall) -> bool:
        if asked.ask.refusal is not None:
            return False
        if self.results is None:
            asked.refuse(Kind.FAIL_OPEN, "no-store")
        elif asked.ask.key in inside.get():
            asked.refuse(Kind.BYPASS, "re-entrant")
        else:
            return True
        return False

    def _look(self, asked: CachedCall, *, waited: bool = False) -> Served | None:
        assert self.results is not None
        try:
            asked.about_to_check()
            return asked.answer(self.results.lookup(asked.ask.key), waited=waited)
        except Exception as error:  # noqa: BLE001 - fail open
            asked.failed(error)
            return None

    async def _look_async(self, asked: CachedCall, *, waited: bool = False) -> Served | None:
        assert self.results is not None
        try:
            asked.about_to_check()
            return asked.answer(await self.results.lookup_async(asked.ask.key), waited=waited)
        except Exception as error:  # noqa: BLE001 - fail open
            asked.failed(error)
            return None

    def _take_over(
        self, asked: CachedCall, landed: Landed | None, *, retry_failed: bool
    ) -> tuple[bool, Any]:
        """Return whether the end of another execution is an answer; raises its exception."""
        if landed is None:
            return False, None
        if landed.error is not None and not retry_failed:
            asked.raised(landed.error)
            raise landed.error
        return asked.share(landed)

    def _lead(
        self, asked: CachedCall, flight: Flight, call: ToolCall[T], deadline: float
    ) -> CachedToolResult[T]:
        ask, results = asked.ask, self.results
        assert results is not None
        entered = inside.set(inside.get() | {ask.key})
        try:
            served = self._claim(asked, deadline)
            if served is not None:
                asked.share_served(served)
                asked.served()
                return CachedToolResult(served.value, True)
            value = _run(asked, call, flight, put=lambda entry: results.put(entry, asked.owner))
            return CachedToolResult(value, False)
        finally:
            inside.reset(entered)
            self._flights.end(ask.key, flight, asked.landed)
            if asked.owner:
                results.release(ask.key, asked.owner)

    async def _lead_async(
        self,
        asked: CachedCall,
        flight: Flight,
        call: Callable[[], Awaitable[T]],
        deadline: float,
    ) -> CachedToolResult[T]:
        ask, results = asked.ask, self.results
        assert results is not None
        inside.set(inside.get() | {ask.key})  # in the context of this task only
        try:
            served = await self._claim_async(asked, deadline)
            if served is not None:
                asked.share_served(served)
                asked.served()
                return CachedToolResult(served.value, True)
            value = await _run_async(
                asked, call, flight, put=lambda entry: results.put_async(entry, asked.owner)
            )
            return CachedToolResult(value, False)
        finally:
            self._flights.end(ask.key, flight, asked.landed)
            if asked.owner:
                results.release(ask.key, asked.owner)

    def _claim(self, asked: CachedCall, deadline: float) -> Served | None:
        """Claim the execution; returns the result of another process if that was quicker."""
        results, ask = self.results, asked.ask
        assert results is not None
        pauses = _pauses(deadline)
        try:
            while True:
                claim, owner = results.claim(ask.key, ask.scopes)
                asked.claim = claim
                asked.owner = owner if claim.granted else ""
                # somebody may have finished between our lookup and our claim
                served = self._look(asked, waited=True)
                if served is not None or claim.granted:
                    return served
                pause = next(pauses, None)
                if pause is None:
                    return None
                time.sleep(pause)
        except Exception as error:  # noqa: BLE001 - fail open
            asked.failed(error)
            return None

    async def _claim_async(self, asked: CachedCall, deadline: float) -> Served | None:
        results, ask = self.results, asked.ask
        assert results is not None
        pauses = _pauses(deadline)
        try:
            while True:
                claim, owner = await results.claim_async(ask.key, ask.scopes)
                asked.claim = claim
                asked.owner = owner if claim.granted else ""
                served = await self._look_async(asked, waited=True)
                if served is not None or claim.granted:
                    return served
                pause = next(pauses, None)
                if pause is None:
                    return None
                await asyncio.sleep(pause)
        except Exception as error:  # noqa: BLE001 - fail open
            asked.failed(error)
            return None


def _run(
    asked: CachedCall,
    call: ToolCall[T],
    flight: Flight | None = None,
    put: Callable[[Any], Any] | None = None,
) -> T:
    asked.begin()
    if flight is not None:
        flight.started_ns = asked.started_ns
    try:
        value = call()
    except BaseException as error:
        asked.raised(error)
        raise
    entry = asked.to_keep(value)
    if entry is not None and put is not None:
        try:
            asked.about_to_check()
            asked.kept(put(entry))
        except Exception as error:  # noqa: BLE001 - fail open
            asked.failed(error)
    asked.end()
    return value


async def _run_async(
    asked: CachedCall,
    call: Callable[[], Awaitable[T]],
    flight: Flight | None = None,
    put: Callable[[Any], Awaitable[Any]] | None = None,
) -> T:
    asked.begin()
    if flight is not None:
        flight.started_ns = asked.started_ns
    try:
        value = await call()
    except BaseException as error:
        asked.raised(error)
        raise
    entry = asked.to_keep(value)
    if entry is not None and put is not None:
        try:
            asked.about_to_check()
            asked.kept(await put(entry))
        except Exception as error:  # noqa: BLE001 - fail open
            asked.failed(error)
    asked.end()
    return value


async def _fly(flight: Flight, task: asyncio.Task[T]) -> T:
    """Wait for an execution that goes on without us as long as somebody else wants its result."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done() and flight.leave():
            task.cancel()
            await asyncio.wait([task])
        raise


def _cancel(task: asyncio.Task[Any]) -> None:
    """Cancel an execution that nobody wants, on the loop that it runs on."""
    if not task.done():
        with contextlib.suppress(RuntimeError):  # its loop has ended
            task.get_loop().call_soon_threadsafe(task.cancel)


def _pauses(deadline: float) -> Iterator[float]:
    pause, longest = _POLL_SECONDS
    while time.monotonic() < deadline:
        yield pause
        pause = min(pause * 1.5, longest)
