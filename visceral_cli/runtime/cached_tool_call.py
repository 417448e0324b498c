"""``cached_tool_call()``: namespace + key parts + canonical arguments → stored result.

For any code that answers tool calls, such as an MCP server; the cache of the process is made when
it is first used.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from visceral_cli.runtime import environment
from visceral_cli.runtime.errors_in_results import ToolCallErrorCheck, is_error_result
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.result_cache import CachedToolResult, Key, ResultCache, ToolCall
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.stores.open_store import open_store

logger = logging.getLogger("visceral_cli.runtime")

T = TypeVar("T")


class _Shared:
    """The cache of the process, made when it is first used, anew after each `wrap`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cache: ResultCache | None = None
        self._made_for: Runtime | None = None
        self._own: Results | None = None

    def cache(self) -> ResultCache:
        """Return the cache for what is installed now."""
        runtime = INSTALLATION.runtime
        cache = self._cache
        if cache is not None and self._made_for is runtime:
            return cache
        with self._lock:
            if self._cache is None or self._made_for is not runtime:
                results = runtime.cache_results
                if results is None and runtime.may_keep:
                    results = self._own = self._own or _open_default()
                self._cache = ResultCache(results, lambda: INSTALLATION.runtime)
                self._made_for = runtime
            return self._cache


_SHARED = _Shared()


def _open_default() -> Results | None:
    try:
        place = environment.results_store() or environment.default_store_path()
        opened = Results(open_store(place))
        opened.warm_up()
        return opened
    except Exception as error:  # noqa: BLE001 - fail open
        logger.warning("visceral: no store of results (%s): none are kept", type(error).__name__)
        return None


def cached_tool_call(
    namespace: str,
    key: Key,
    arguments: object,
    timeout: float | None,
    call: ToolCall[T],
    is_error: ToolCallErrorCheck = is_error_result,
    *,
    tool: str | None = None,
    tags: Sequence[str] = (),
    version: str | None = None,
    freshness_seconds: float | None = None,
    retry_failed: bool = False,
) -> CachedToolResult[T]:
    """Return the stored result of an equal call at most ``timeout`` seconds old, or ``call()``.

    Equal are calls with the same namespace, key parts and arguments; an empty namespace shares
    nothing. A result is as old as the moment its execution began. ``timeout`` of 0 or less runs
    the call past the cache; ``None`` is the default of 300 seconds. Only results that JSON gives
    back unchanged are kept; exceptions and results for which ``is_error`` holds never are. Equal
    calls at one time run once; the others get copies, or the same exception, or with
    ``retry_failed`` one of them tries again. A failing store never shows: the call runs.

    ``tool``: the name on spans, otherwise the first key part that is a text, or the namespace.
    ``tags``: what the result depends on, for `writing`. ``version``: part of the identity.
    ``freshness_seconds``: the tool's own bound; the smaller one counts. Raises ``ValueError`` for
    a timeout that is NaN, a boolean or no number, and whatever ``call`` raises.
    """
    return _SHARED.cache().call(
        namespace,
        key,
        arguments,
        timeout,
        call,
        is_error,
        tool=tool,
        tags=tags,
        version=version,
        freshness_seconds=freshness_seconds,
        retry_failed=retry_failed,
    )


async def acached_tool_call(
    namespace: str,
    key: Key,
    arguments: object,
    timeout: float | None,
    call: Callable[[], Awaitable[T]],
    is_error: ToolCallErrorCheck = is_error_result,
    *,
    tool: str | None = None,
    tags: Sequence[str] = (),
    version: str | None = None,
    freshness_seconds: float | None = None,
    retry_failed: bool = False,
) -> CachedToolResult[T]:
    """Do what `cached_tool_call` does for a coroutine function.

    The execution runs in a task of its own, and ends with the last caller who wants its result.
    """
    return await _SHARED.cache().acall(
        namespace,
        key,
        arguments,
        timeout,
        call,
        is_error,
        tool=tool,
        tags=tags,
        version=version,
        freshness_seconds=freshness_seconds,
        retry_failed=retry_failed,
    )


def writing(
    namespace: str, tags: Sequence[str] | None = None
) -> contextlib.AbstractContextManager[None]:
    """Hold the write barrier of a namespace while the body runs; see `ResultCache.writing`."""
    return _SHARED.cache().writing(namespace, tags)


def awriting(
    namespace: str, tags: Sequence[str] | None = None
) -> contextlib.AbstractAsyncContextManager[None]:
    """Do the same in a coroutine."""
    return _SHARED.cache().awriting(namespace, tags)


def clear_results(namespace: str) -> None:
    """Forget all results of a namespace, also those that are being made."""
    _SHARED.cache().clear(namespace)
