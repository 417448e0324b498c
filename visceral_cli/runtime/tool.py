"""``@tool``: opens a span, hashes, asks for a served result, runs the function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from visceral_cli.runtime.binding import Binder, Binds
from visceral_cli.runtime.declaration import Declaration, declare
from visceral_cli.runtime.invocation import Invocation
from visceral_cli.runtime.stores.result_store import Entry

Function = TypeVar("Function", bound=Callable[..., Any])


def tool(
    name: str,
    *,
    readonly: bool = False,
    replay_safe: bool = False,
    vary: Sequence[str] | None = None,
    version: str | None = None,
    freshness_seconds: float | None = None,
    invalidates: Sequence[str] | None = None,
) -> Callable[[Function], Function]:
    """Declare a function to be a tool: its calls are recorded, and served where a rule allows.

    ``readonly``: it changes nothing. Its arguments are hashed, its result is captured. Without it
    the tool is a writer: results from before its end are not served any more.
    ``replay_safe``: a stored result may stand in for a call. Serving needs both, `wrap` with
    ``apply=True``, and an active rule for exactly these arguments.
    ``vary``: the arguments that the result depends on; all, when not given.
    ``version``: the author's label of the tool's behaviour, a part of the identity.
    ``freshness_seconds``: the greatest age of a served result; may only shorten a rule's.
    ``invalidates``: of a writer, the tools whose results it voids; all, when not given.

    Whatever goes wrong in here, the function runs, and its value or exception goes to the caller
    untouched. Raises ``ValueError`` for a declaration that means nothing.
    """
    declaration = declare(
        name,
        readonly=readonly,
        replay_safe=replay_safe,
        vary=vary,
        version=version,
        freshness_seconds=freshness_seconds,
        invalidates=invalidates,
    )

    def decorate(function: Function) -> Function:
        return attach(function, declaration)

    return decorate


def attach(function: Function, declaration: Declaration, binder: Binds | None = None) -> Function:
    """Return the function as the tool that was declared; ``binder`` names its arguments."""
    wrapper = _wrap_async if inspect.iscoroutinefunction(function) else _wrap_sync
    return cast(Function, wrapper(function, declaration, binder or Binder(function)))


def _wrap_sync(
    function: Callable[..., Any], declaration: Declaration, binder: Binds
) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = Invocation(declaration)
        try:
            call.prepare(binder, args, kwargs)
            if call.plan is not None:
                _fetch(call)
            elif call.barrier is not None:
                call.barrier.raise_in_store()
            call.open_span()
            if call.is_answered and call.finish_served():
                return call.answer
            result = function(*args, **kwargs)
            entry = call.to_keep(result)
            if entry is not None:
                _put(call, entry)
            return call.returned(result)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            call.let_go(waits=True)

    return wrapper


def _wrap_async(
    function: Callable[..., Any], declaration: Declaration, binder: Binds
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        call = Invocation(declaration)
        try:
            call.prepare(binder, args, kwargs)
            if call.plan is not None:
                await _fetch_async(call)
            elif call.barrier is not None:
                await call.barrier.raise_in_store_async()
            call.open_span()
            if call.is_answered and call.finish_served():
                return call.answer
            result = await function(*args, **kwargs)
            entry = call.to_keep(result)
            if entry is not None:
                await _put_async(call, entry)
            return call.returned(result)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            call.let_go(waits=False)  # not awaited: a cancelled task has to lift its barrier too

    return wrapper


def _fetch(call: Invocation) -> None:
    assert call.plan is not None
    try:
        call.found(call.results.lookup(call.plan.key))
        if not call.is_answered:
            call.claimed(*call.results.claim(call.plan.key, call.plan.scopes))
    except Exception as error:  # noqa: BLE001 - fail open
        call.store_failed("lookup", error)


async def _fetch_async(call: Invocation) -> None:
    assert call.plan is not None
    try:
        call.found(await call.results.lookup_async(call.plan.key))
        if not call.is_answered:
            call.claimed(*await call.results.claim_async(call.plan.key, call.plan.scopes))
    except Exception as error:  # noqa: BLE001 - fail open
        call.store_failed("lookup", error)


def _put(call: Invocation, entry: Entry) -> None:
    try:
        call.kept(call.results.put(entry, call.owner))
    except Exception as error:  # noqa: BLE001 - fail open
        call.store_failed("put", error)


async def _put_async(call: Invocation, entry: Entry) -> None:
    try:
        call.kept(await call.results.put_async(entry, call.owner))
    except Exception as error:  # noqa: BLE001 - fail open
        call.store_failed("put", error)
