"""OpenAI Agents SDK: a function tool that is recorded and served like a decorated one.

agent = Agent(tools=[reuse(get_weather, readonly=True, replay_safe=True)])
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from visceral_cli.runtime.adapters.declared import Declarations, attested_tools, call_by_name
from visceral_cli.runtime.declaration import declare

Tool = TypeVar("Tool")


def reuse(tool: Tool, **options: Any) -> Tool:
    """Return a copy of a ``FunctionTool`` that is recorded and served; ``tool`` stays as it is.

    ``options`` are those of `visceral_cli.tool`; without any, those that pyproject.toml attests
    for the tool's name. Arguments that are no JSON object run the tool as it is.
    """
    subject: Any = tool
    declarations: Declarations = {} if options else attested_tools()
    declaration = declare(subject.name, **(options or declarations.get(subject.name, {})))
    invoke = subject.on_invoke_tool

    async def on_invoke_tool(context: Any, arguments_json: str) -> Any:
        arguments = _arguments(arguments_json)
        if arguments is None:
            return await invoke(context, arguments_json)
        return await call_by_name(declaration, lambda: invoke(context, arguments_json), arguments)

    copied: Tool = dataclasses.replace(subject, on_invoke_tool=on_invoke_tool)
    return copied


def _arguments(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
