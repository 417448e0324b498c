"""``@node``: a step of the agent, with a span of its own; may be the boundary of a run."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from visceral_cli.contract import attributes as names
from visceral_cli.runtime.attribute_json import Attributes
from visceral_cli.runtime.declaration import is_text
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.invocation import type_name
from visceral_cli.runtime.run import Run, current_run
from visceral_cli.runtime.sharing import name_on_span

logger = logging.getLogger("visceral_cli.runtime")

Function = TypeVar("Function", bound=Callable[..., Any])


def node(name: str, *, run: bool = False) -> Callable[[Function], Function]:
    """Declare a function to be a step of the agent; composes with `tool` in either order.

    ``run``: each call is a run of its own. Writers inside it void results for this run only, and
    writers in other runs do not void results for this one; without any such boundary the whole
    process is one run. Raises ``ValueError`` for an empty name.
    """
    if not is_text(name):
        raise ValueError("the name of a node is a text that is not empty")
    static = Attributes({names.SPAN_KIND: names.SPAN_KIND_NODE, names.NODE: name})

    def decorate(function: Function) -> Function:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def step_async(*args: Any, **kwargs: Any) -> Any:
                with _step(name, static, run=run):
                    return await function(*args, **kwargs)

            return cast(Function, step_async)

        @functools.wraps(function)
        def step(*args: Any, **kwargs: Any) -> Any:
            with _step(name, static, run=run):
                return function(*args, **kwargs)

        return cast(Function, step)

    return decorate


@contextlib.contextmanager
def _step(name: str, static: Attributes, *, run: bool) -> Iterator[None]:
    runtime = INSTALLATION.runtime
    span = None
    begun = current_run.set(Run(runtime.clock)) if run and current_run.get() is None else None
    try:
        span = runtime.spans.start_span(name, static)
        name_on_span(span)
    except Exception as error:  # noqa: BLE001 - the step must run
        logger.debug("visceral: a span was not opened (%s)", type(error).__name__)
    error_type = None
    try:
        yield
    except BaseException as error:
        error_type = type_name(error)
        raise
    finally:
        if begun is not None:
            current_run.reset(begun)
        try:
            if span is not None:
                span.end(error_type)
        except Exception as error:  # noqa: BLE001 - the step has run
            logger.debug("visceral: a span was not closed (%s)", type(error).__name__)
