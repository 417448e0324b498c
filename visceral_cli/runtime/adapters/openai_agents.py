"""OpenAI Agents SDK: a function tool that is recorded and served like a decorated one.

agent = Agent(tools=[reuse(get_weather, readonly=True, replay_safe=True)])
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from visceral_cli.runtime.adapters.declared import Declarations, attested_tools, call_by_name
from visceral_cli.runtime.declaration import Declaration, declare

Tool = TypeVar("Tool")


def reuse(tool: Tool, **options: Any) -> Tool:
    """Return a copy of a ``FunctionTool`` that is recorded and served; ``tool`` stays as it is.

    ``options`` are those of `visceral_cli.tool`; without any, those that pyproject.toml attests
    for the tool's name. Arguments that are no JSON object run the tool as it is. Raises
    ``TypeError`` for a tool of which nobody can tell whether it failed.
    """
    subject: Any = tool
    declarations: Declarations = {} if options else attested_tools()
    declaration = declare(subject.name, **(options or declarations.get(subject.name, {})))
    invoke = _reused(subject.on_invoke_tool, declaration)
    copied: Tool = dataclasses.replace(subject, on_invoke_tool=invoke)
    return copied


def _reused(invoke: Any, declaration: Declaration) -> Any:
    """Return what runs the tool, recorded and served.

    ``@function_tool`` makes a text of an exception, which would then pass for a result. So what is
    recorded and served lies inside of that.
    """
    inside = getattr(invoke, "_invoke_tool_impl", None)
    if inside is None:
        if str(getattr(invoke, "__module__", "")).partition(".")[0] == "agents":
            raise TypeError("this version of openai-agents does not tell whether a tool failed")
        return _recorded(invoke, declaration)  # the user's own: what it raises is its failure
    copied = copy.copy(invoke)
    copied._invoke_tool_impl = _recorded(inside, declaration)
    copied._function_tool = None
    return copied


def _recorded(run: Callable[[Any, str], Any], declaration: Declaration) -> Callable[..., Any]:
    async def on_invoke_tool(context: Any, arguments_json: str) -> Any:
        arguments = _arguments(arguments_json)
        if arguments is None:
            return await run(context, arguments_json)
        return await call_by_name(declaration, lambda: run(context, arguments_json), arguments)

    on_invoke_tool.__dict__.update(getattr(run, "__dict__", {}))  # what the SDK has noted there
    return on_invoke_tool


def _arguments(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
