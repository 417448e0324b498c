"""OpenAI Agents SDK: a function tool that is served like a decorated one. Offline.

pip install visceral-cli[openai-agents] && python sample_traces/agent/with_openai_agents.py
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from one_rule import serving, told
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from visceral_cli.runtime.adapters.openai_agents import reuse

ARGUMENTS = {"branch": "park"}
RUNS: list[str] = []


@function_tool
async def opening_hours(branch: str) -> str:
    """Tell when a branch of the library is open."""
    RUNS.append(branch)
    return "09:00 to 18:00"


class Scripted(Model):
    """Stands in for a model: asks for the same three times, then answers."""

    def __init__(self) -> None:
        self.turns = 0

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Return the next turn."""
        self.turns += 1
        if self.turns <= 3:
            item: Any = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{self.turns}",
                name="opening_hours",
                arguments=json.dumps(ARGUMENTS),
            )
        else:
            text = "The park branch closes at 18:00."
            item = ResponseOutputMessage(
                id="answer",
                type="message",
                role="assistant",
                status="completed",
                content=[ResponseOutputText(type="output_text", text=text, annotations=[])],
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream nothing."""
        raise NotImplementedError


def main() -> None:
    """Run the agent, and say how often the tool ran."""
    set_tracing_disabled(True)
    reused = reuse(opening_hours, readonly=True, replay_safe=True)
    desk = Agent(name="library-desk", tools=[reused], model=Scripted())
    with serving("opening_hours", ARGUMENTS):
        result = asyncio.run(Runner.run(desk, "When does park close?"))
        outputs = [item for item in result.new_items if item.type == "tool_call_output_item"]
        seen = [item.output for item in outputs]
        sys.stdout.write(f"asked {len(seen)} times, ran {len(RUNS)}: {told()}\n")
        sys.stdout.write(f"the model saw: {', '.join(sorted(set(seen)))}\n")


if __name__ == "__main__":
    main()
