"""FastMCP: middleware that answers tool calls of a server from the cache.

    server.add_middleware(CachedTools("weather", {"get_forecast": 300}))

Only tools that are named with a timeout are cached; without any, those that pyproject.toml attests
to be read-only and replay-safe, for the freshness it gives them. A tool that is neither named nor
attested nor annotated with ``readOnlyHint`` is taken for a writer: while it runs, and for what
began before it ended, nothing stored is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from visceral_cli.runtime.adapters.declared import Declarations, attested_tools
from visceral_cli.runtime.cached_tool_call import acached_tool_call, awriting
from visceral_cli.runtime.writer_log import EVERYTHING

_middleware: Any = import_module("fastmcp.server.middleware")
_tools: Any = import_module("fastmcp.tools")
if not hasattr(_tools, "ToolResult"):  # before 3
    _tools = import_module("fastmcp.tools.tool")
_ToolResult: Any = _tools.ToolResult
_pydantic: Any = import_module("pydantic")
_block: Any = import_module("mcp.types").ContentBlock
_BLOCKS: Any = _pydantic.TypeAdapter(list.__class_getitem__(_block))

Middleware: Any = _middleware.Middleware


class CachedTools(Middleware):  # type: ignore[misc]
    """Caches the results of some tools of a server."""

    def __init__(
        self,
        namespace: str | Callable[[Any], str],
        timeouts: Mapping[str, float] | None = None,
        *,
        version: str | None = None,
    ) -> None:
        """``namespace``: who shares results; a function of the request tells principals apart.

        ``timeouts``: by tool, the greatest age of a result in seconds.
        """
        self._namespace = namespace
        try:
            attested = attested_tools()
        except (OSError, ValueError):
            if timeouts is None:
                raise
            attested = {}
        self._reading = {name for name, told in attested.items() if told["readonly"]}
        self._timeouts = dict(_freshnesses(attested) if timeouts is None else timeouts)
        self._version = version

    async def on_call_tool(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
        """Answer one call."""
        name = context.message.name
        try:
            named = self._namespace
            namespace = named(context) if callable(named) else named
        except Exception:  # noqa: BLE001 - who asks is not known: nothing is shared
            namespace = ""
        if name in self._timeouts:
            return await self._cached(namespace, name, context, call_next)
        if name in self._reading or await _is_read_only(context, name):
            return await call_next(context)
        async with awriting(namespace or EVERYTHING):
            return await call_next(context)

    async def _cached(
        self, namespace: str, name: str, context: Any, call_next: Callable[[Any], Any]
    ) -> Any:
        real: list[Any] = []

        async def call() -> object:
            real.append(await call_next(context))
            return _to_json(real[0])

        arguments = context.message.arguments or {}
        got = await acached_tool_call(
            namespace, [name], arguments, self._timeouts[name], call, version=self._version
        )
        if real:
            return real[0]
        try:
            return _from_json(got.value)
        except Exception:  # noqa: BLE001 - not kept by this code: the tool runs
            return await call_next(context)


def _freshnesses(attested: Declarations) -> Iterator[tuple[str, float]]:
    for name, told in attested.items():
        if told["readonly"] and told["replay_safe"] and "freshness_seconds" in told:
            yield name, told["freshness_seconds"]


async def _is_read_only(context: Any, name: str) -> bool:
    try:
        tool = await context.fastmcp_context.fastmcp.get_tool(name)
    except Exception:  # noqa: BLE001 - what is not known is a writer
        return False
    notes = getattr(tool, "annotations", None)
    hints = (getattr(notes, hint, None) for hint in ("read_only_hint", "readOnlyHint"))
    return any(hint is True for hint in hints)


def _to_json(result: Any) -> object:
    if getattr(result, "_raw_mcp_result", None) is not None:
        return result  # of another server, with fields that would get lost: not kept
    return {
        "content": _BLOCKS.dump_python(
            result.content, mode="json", by_alias=True, exclude_none=True
        ),
        "structured": result.structured_content,
        "meta": result.meta,
        "isError": bool(getattr(result, "is_error", False)),
    }


def _from_json(value: Any) -> Any:
    return _ToolResult(
        content=_BLOCKS.validate_python(value["content"]),
        structured_content=value["structured"],
        meta=value["meta"],
    )
