"""LangChain and LangGraph: a tool whose function is recorded and served like a decorated one.

    search = reuse(search, readonly=True, replay_safe=True)

What is served goes through LangChain like a real result, so the model sees the same message.
"""

from __future__ import annotations

from typing import Any, TypeVar

from visceral_cli.runtime.adapters.declared import Declarations, attested_tools
from visceral_cli.runtime.binding import ByKeyword
from visceral_cli.runtime.declaration import declare
from visceral_cli.runtime.tool import attach

Tool = TypeVar("Tool")


def reuse(tool: Tool, **options: Any) -> Tool:
    """Return a copy of a LangChain tool that is recorded and served; ``tool`` stays as it is.

    ``options`` are those of `visceral_cli.tool`; without any, those that pyproject.toml attests
    for the tool's name. Of the arguments that LangChain injects only plain values count, such as
    the id of a user, and no callbacks, configuration or state. Raises ``TypeError`` for a tool that
    is not made of a function.
    """
    subject: Any = tool
    functions = {
        part: getattr(subject, part)
        for part in ("func", "coroutine")
        if getattr(subject, part, None) is not None
    }
    if not functions:
        raise TypeError("only tools that are made of a function can be reused")
    declarations: Declarations = {} if options else attested_tools()
    declaration = declare(subject.name, **(options or declarations.get(subject.name, {})))
    binder = _Visible(frozenset(subject.tool_call_schema.model_fields))
    copied: Tool = subject.model_copy(
        update={part: attach(run, declaration, binder) for part, run in functions.items()}
    )
    return copied


_PLAIN = (str, int, float, bool, type(None))


class _Visible(ByKeyword):
    """Names the arguments that a model gives, and of the others those with a plain value."""

    def __init__(self, visible: frozenset[str]) -> None:
        self._visible = visible

    def bind(self, args: Any, kwargs: Any) -> dict[str, object]:
        """Return the arguments that count, by name."""
        if len(args) == 1 and not kwargs and len(self._visible) == 1:
            return {next(iter(self._visible)): args[0]}  # a plain tool with one text
        named = super().bind(args, kwargs)
        return {
            name: value
            for name, value in named.items()
            if name in self._visible or type(value) in _PLAIN
        }
