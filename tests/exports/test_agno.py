"""The caching settings on real tools of Agno."""

from __future__ import annotations

import tempfile
import time
from typing import Any

import pytest

from visceral_cli.rules.exports.target import Target

tools = pytest.importorskip("agno.tools", reason="agno not installed")

from agno.tools.function import FunctionCall

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def made(settings: Any, name: str = "get_weather") -> Any:
    """Return a function that calls a tool with these settings, as an agent does."""
    runs: list[str] = []

    @tools.tool(name=name, **settings.caching(name))
    def get_weather(city: str) -> str:
        runs.append(city)
        if city == "Atlantis":
            raise LookupError(city)
        return f"{city} {len(runs)}"

    def call(city: str) -> Any:
        return FunctionCall(function=get_weather, arguments={"city": city}).execute()

    call.runs = runs
    return call


def test_a_call_is_answered_from_the_cache_and_after_its_time_it_runs(load, make_rule):
    call = made(load(Target.AGNO, make_rule(any_arguments=True, seconds=2.6)))
    assert [call("Basel").result for _ in range(2)] == ["Basel 1", "Basel 1"]
    assert call("Bern").result == "Bern 2"
    time.sleep(2.1)
    assert call("Basel").result == "Basel 3"


def test_a_tool_that_no_rule_names_runs_each_time(load, make_rule):
    call = made(load(Target.AGNO, make_rule(any_arguments=True, seconds=600)), "get_time")
    assert [call("Basel").result for _ in range(2)] == ["Basel 1", "Basel 2"]


def test_a_failure_is_not_kept(load, make_rule):
    call = made(load(Target.AGNO, make_rule(any_arguments=True, seconds=600)))
    assert [call("Atlantis").status for _ in range(2)] == ["failure", "failure"]
    assert call.runs == ["Atlantis", "Atlantis"]


def test_another_program_shares_results_only_of_the_same_namespace_and_version(load, make_rule):
    def told(**more: Any) -> str:
        rule = make_rule(any_arguments=True, seconds=600, **more)
        return str(made(load(Target.AGNO, rule))("Basel").result)

    call = made(load(Target.AGNO, make_rule(any_arguments=True, seconds=600)))
    assert [call("Bern").result, call("Basel").result] == ["Bern 1", "Basel 2"]
    assert told() == "Basel 2"
    assert told(namespace="other") == "Basel 1"
    assert told(version="2") == "Basel 1"


def test_a_tool_that_is_proven_for_some_arguments_is_not_cached(load, make_rule):
    call = made(load(Target.AGNO, make_rule(seconds=600)))
    assert [call("Basel").result for _ in range(2)] == ["Basel 1", "Basel 2"]


def test_in_an_agent(load, make_rule):
    from agno.agent import Agent
    from agno.models.base import Model
    from agno.models.response import ModelResponse

    settings = load(Target.AGNO, make_rule(any_arguments=True, seconds=600))
    runs: list[str] = []

    @tools.tool(**settings.caching("get_weather"))
    def get_weather(city: str) -> str:
        runs.append(city)
        return f"{city} {len(runs)}"

    class Scripted(Model):
        """Asks the tool in its first answer, and repeats what it was told in the second."""

        def invoke(self, *args: Any, messages: Any, **kwargs: Any) -> ModelResponse:
            last = messages[-1]
            if last.role == "tool":
                return ModelResponse(content=str(last.content))
            call = {"name": "get_weather", "arguments": '{"city": "Basel"}'}
            return ModelResponse(tool_calls=[{"id": "1", "type": "function", "function": call}])

        async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
            raise NotImplementedError

        def invoke_stream(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        def ainvoke_stream(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        def _parse_provider_response(self, response: Any, **kwargs: Any) -> ModelResponse:
            return response

        def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
            return response

    agent = Agent(model=Scripted(id="scripted"), tools=[get_weather], telemetry=False)
    assert [agent.run("weather?").content for _ in range(2)] == ["Basel 1", "Basel 1"]
    assert runs == ["Basel"]
