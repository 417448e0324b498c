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


@pytest.mark.parametrize(
    "failing", [{}, {"failure_error_function": lambda context, error: "sorry"}], ids=["its", "ours"]
)
def test_a_failure_that_became_a_text_is_not_kept(agent, rule, failing):
    from visceral_cli.runtime.adapters.openai_agents import reuse

    agents.set_tracing_disabled(True)
    agent.serve(rule("get_weather", {"city": "Basel"}))
    runs: list[str] = []

    @agents.function_tool(**failing)
    async def get_weather(city: str) -> str:
        """Tell the weather."""
        runs.append(city)
        if len(runs) == 1:
            raise ConnectionError("no network")
        return "sun"

    tool = reuse(get_weather, readonly=True, replay_safe=True)
    desk = agents.Agent(name="desk", tools=[tool], model=Scripted().model())
    result = asyncio.run(agents.Runner.run(desk, "weather?"))
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs[1] == "sun"
    assert outputs[0] != "sun"
    assert "no network" not in outputs[0]
    assert len(runs) == 2
    assert [outcome.kind.value for outcome in agent.outcomes] == ["error", "miss"]


def test_a_tool_of_the_users_own_making_raises_its_failures(agent, rule):
    from visceral_cli.runtime.adapters.openai_agents import reuse

    agent.serve(rule("get_weather", {"city": "Basel"}))
    runs: list[str] = []

    async def invoke(context: Any, arguments: str) -> str:
        runs.append(arguments)
        if len(runs) == 1:
            raise ConnectionError
        return "sun"

    made = agents.FunctionTool("get_weather", "", {}, invoke, strict_json_schema=False)
    tool = reuse(made, readonly=True, replay_safe=True)
    with pytest.raises(ConnectionError):
        asyncio.run(tool.on_invoke_tool(None, '{"city": "Basel"}'))
    for _ in range(2):
        assert asyncio.run(tool.on_invoke_tool(None, '{"city": "Basel"}')) == "sun"
    assert len(runs) == 2


def test_a_tool_that_hides_its_failures_is_refused():
    from visceral_cli.runtime.adapters.openai_agents import reuse

    async def invoke(context: Any, arguments: str) -> str:
        return "it may have failed"

    invoke.__module__ = "agents.tool"
    made = agents.FunctionTool("get_weather", "", {}, invoke, strict_json_schema=False)
    with pytest.raises(TypeError, match="whether a tool failed"):
        reuse(made, readonly=True, replay_safe=True)
