"""Toolsets of pydantic-ai, under its agent and a scripted model."""

from __future__ import annotations

from typing import Any

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai not installed")

pytestmark = pytest.mark.filterwarnings("ignore")


def test_an_agent_gets_the_same_result_from_the_store(agent, rule):
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.toolsets import FunctionToolset

    from visceral_cli.runtime.adapters.pydantic_ai import ReusedTools

    agent.serve(rule("get_weather", {"city": "Basel"}))
    runs: list[str] = []
    returned: list[Any] = []
    tools = FunctionToolset()

    @tools.tool_plain
    def get_weather(city: str) -> dict[str, bool]:
        runs.append(city)
        return {"sun": True}

    def script(messages: list[Any], info: Any) -> Any:
        returned[:] = [
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        if len(returned) < 3:
            return ModelResponse(parts=[ToolCallPart("get_weather", {"city": "Basel"})])
        return ModelResponse(parts=[TextPart("done")])

    reused = ReusedTools(tools, {"get_weather": {"readonly": True, "replay_safe": True}})
    desk = pydantic_ai.Agent(FunctionModel(script), toolsets=[reused])
    assert desk.run_sync("weather?").output == "done"
    assert returned == [{"sun": True}] * 3
    assert runs == ["Basel"]


def test_a_failure_is_not_kept_and_pyproject_may_attest_the_tool(
    agent, rule, tmp_path, monkeypatch
):
    from pydantic_ai import ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.toolsets import FunctionToolset

    from visceral_cli.runtime.adapters.pydantic_ai import ReusedTools

    (tmp_path / "pyproject.toml").write_text(
        "[tool.visceral.tools.get_weather]\nread-only = true\nreplay-safe = true\n"
    )
    monkeypatch.chdir(tmp_path)
    agent.serve(rule("get_weather", {"city": "Basel"}))
    runs: list[str] = []
    turns: list[int] = []
    tools = FunctionToolset(max_retries=3)

    @tools.tool_plain
    def get_weather(city: str) -> str:
        runs.append(city)
        if len(runs) == 1:
            raise ModelRetry("try again")
        return "sun"

    def script(messages: list[Any], info: Any) -> Any:
        turns.append(1)
        if len(turns) <= 3:
            return ModelResponse(parts=[ToolCallPart("get_weather", {"city": "Basel"})])
        return ModelResponse(parts=[TextPart("done")])

    desk = pydantic_ai.Agent(FunctionModel(script), toolsets=[ReusedTools(tools)])
    assert desk.run_sync("weather?").output == "done"
    assert [outcome.kind.value for outcome in agent.outcomes] == ["error", "miss", "hit"]
    assert len(runs) == 2
