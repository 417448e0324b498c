"""pydantic-ai: a toolset that is served, by what ``pyproject.toml`` attests of its tools. Offline.

pip install visceral-cli[pydantic-ai] && python sample_traces/agent/with_pydantic_ai.py
"""

from __future__ import annotations

import json
import sys
from typing import Any

from one_rule import serving, told
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from visceral_cli.runtime.adapters.declared import attested_tools
from visceral_cli.runtime.adapters.pydantic_ai import ReusedTools

ARGUMENTS = {"branch": "park"}
ATTESTED = """
[tool.visceral.tools.opening_hours]
read-only = true
replay-safe = true
"""
RUNS: list[str] = []
SEEN: list[str] = []

tools: FunctionToolset[None] = FunctionToolset()


@tools.tool_plain
def opening_hours(branch: str) -> dict[str, str]:
    """Tell when a branch of the library is open."""
    RUNS.append(branch)
    return {"open": "09:00", "close": "18:00"}


def model(messages: list[ModelMessage], info: Any) -> ModelResponse:
    """Stand in for a model: ask for the same three times, then answer."""
    parts = [part for message in messages for part in message.parts]
    SEEN[:] = [json.dumps(part.content) for part in parts if isinstance(part, ToolReturnPart)]
    if len(SEEN) == 3:
        return ModelResponse(parts=[TextPart("The park branch closes at 18:00.")])
    return ModelResponse(parts=[ToolCallPart("opening_hours", ARGUMENTS)])


def main() -> None:
    """Run the agent, and say how often the tool ran."""
    with serving("opening_hours", ARGUMENTS) as folder:
        (folder / "pyproject.toml").write_text(ATTESTED, encoding="utf-8")
        reused = ReusedTools(tools, attested_tools(folder))
        Agent(FunctionModel(model), toolsets=[reused]).run_sync("When does park close?")
        sys.stdout.write(f"asked {len(SEEN)} times, ran {len(RUNS)}: {told()}\n")
        sys.stdout.write(f"the model saw: {', '.join(sorted(set(SEEN)))}\n")


if __name__ == "__main__":
    main()
