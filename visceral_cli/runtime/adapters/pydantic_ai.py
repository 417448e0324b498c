"""pydantic-ai: a toolset whose tools are recorded and served like decorated ones.

    agent = Agent(model, toolsets=[ReusedTools(tools, {"get_weather": {"readonly": True}})])

Works for functions, MCP servers and every other toolset, since it stands in front of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from visceral_cli.runtime.adapters.declared import (
    Declarations,
    attested_tools,
    call_by_name,
    declaration_of,
)

WrapperToolset: Any = import_module("pydantic_ai.toolsets").WrapperToolset


@dataclass
class ReusedTools(WrapperToolset):  # type: ignore[misc]
    """A toolset in front of another one."""

    declarations: Declarations = field(default_factory=attested_tools)
    """By tool, the options of `visceral_cli.tool`; without any, what pyproject.toml attests."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Run, record or serve one call."""

        async def run() -> Any:
            return await super(ReusedTools, self).call_tool(name, tool_args, ctx, tool)

        return await call_by_name(declaration_of(name, self.declarations), run, tool_args)
