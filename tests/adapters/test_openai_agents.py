"""Function tools of the OpenAI Agents SDK, under its runner and a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

agents = pytest.importorskip("agents", reason="openai-agents not installed")

pytestmark = pytest.mark.filterwarnings("ignore")


class Scripted:
    """A model that asks for the tool twice and then ends."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def model(self) -> Any:
        from openai.types.responses import (
            ResponseFunctionToolCall,
            ResponseOutputMessage,
            ResponseOutputText,
        )

        script = self

        class Model(agents.models.interface.Model):  # type: ignore[name-defined, misc]
            async def get_response(self, *args: Any, **kwargs: Any) -> Any:
                given = kwargs.get("input", args[1] if len(args) > 1 else None)
                script.seen.append(given)
                turn = len(script.seen)
                if turn <= 2:
                    item: Any = ResponseFunctionToolCall(
                        type="function_call",
                        call_id=f"c{turn}",
                        name="get_weather",
                        arguments='{"city": "Basel"}',
                    )
                else:
                    text = ResponseOutputText(type="output_text", text="done", annotations=[])
                    item = ResponseOutputMessage(
                        id="m", type="message", role="assistant", status="completed", content=[text]
                    )
                return agents.items.ModelResponse(
                    output=[item], usage=agents.usage.Usage(), response_id=None
                )

            def stream_response(self, *args: Any, **kwargs: Any) -> Any:
                raise NotImplementedError

        return Model()


def test_the_runner_gets_the_same_output_from_the_store(agent, rule):
    from visceral_cli.runtime.adapters.openai_agents import reuse

    agents.set_tracing_disabled(True)
    agent.serve(rule("get_weather", {"city": "Basel"}))
    runs: list[str] = []

    @agents.function_tool
    async def get_weather(city: str) -> str:
        """Tell the weather."""
        runs.append(city)
        return "sun"

    tool = reuse(get_weather, readonly=True, replay_safe=True)
    script = Scripted()
    desk = agents.Agent(name="desk", tools=[tool], model=script.model())
    result = asyncio.run(agents.Runner.run(desk, "weather?"))
    assert result.final_output == "done"
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs == ["sun", "sun"]
    assert runs == ["Basel"]
    assert get_weather.on_invoke_tool is not tool.on_invoke_tool
