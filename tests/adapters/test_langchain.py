"""Tools of LangChain, alone and in a LangGraph tool node."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

core = pytest.importorskip("langchain_core.tools", reason="langchain-core not installed")

RunnableConfig = pytest.importorskip("langchain_core.runnables").RunnableConfig

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def weather(agent: Any, rule: Any) -> Any:
    from visceral_cli.runtime.adapters.langchain import reuse

    agent.serve(rule("get_weather", {"city": "Basel", "days": 1}))
    runs: list[str] = []

    @core.tool
    def get_weather(city: str, days: int = 1) -> dict[str, Any]:
        """Tell the weather."""
        runs.append(city)
        return {"sun": True, "days": days}

    reused = reuse(get_weather, readonly=True, replay_safe=True)
    return reused, runs


def test_a_call_is_served_and_looks_the_same(weather):
    tool, runs = weather
    arguments = {"city": "Basel", "days": 1}
    assert [tool.invoke(arguments), tool.invoke(arguments)] == [{"sun": True, "days": 1}] * 2
    assert asyncio.run(tool.ainvoke(arguments)) == {"sun": True, "days": 1}
    assert runs == ["Basel"]


def test_a_tool_call_gives_a_message_also_when_served(weather):
    tool, runs = weather
    call = {"name": "get_weather", "args": {"city": "Basel", "days": 1}, "type": "tool_call"}
    first, second = tool.invoke({**call, "id": "1"}), tool.invoke({**call, "id": "2"})
    assert (first.content, first.tool_call_id) == (second.content, "1")
    assert (type(first), second.tool_call_id) == (type(second), "2")
    assert runs == ["Basel"]


def test_injected_arguments_do_not_count(agent, rule):
    from visceral_cli.runtime.adapters.langchain import reuse

    agent.serve(rule("get_time", {"zone": "UTC"}))
    runs: list[Any] = []

    @core.tool
    def get_time(zone: str, config: RunnableConfig) -> str:
        """Tell the time."""
        runs.append(config)
        return "noon"

    tool = reuse(get_time, readonly=True, replay_safe=True)
    assert [tool.invoke({"zone": "UTC"}), tool.invoke({"zone": "UTC"})] == ["noon", "noon"]
    assert len(runs) == 1
    assert runs[0] is not None


def test_for_whom_a_tool_is_called_counts_where_it_is_injected(agent, rule):
    from visceral_cli.runtime.adapters.langchain import reuse

    agent.serve(rule("get_orders", {"year": 2026, "user_id": "ann"}))
    runs: list[str] = []

    @core.tool
    def get_orders(year: int, user_id: Annotated[str, core.InjectedToolArg]) -> str:
        """List the orders of a year."""
        runs.append(user_id)
        return f"orders of {user_id}"

    tool = reuse(get_orders, readonly=True, replay_safe=True)
    users = ["ann", "bob", "ann", "bob"]
    answers = [tool.invoke({"year": 2026, "user_id": user}) for user in users]
    assert answers == [f"orders of {user}" for user in users]
    assert runs == ["ann", "bob", "bob"]


def test_in_a_tool_node_of_langgraph(weather):
    prebuilt = pytest.importorskip("langgraph.prebuilt", reason="langgraph not installed")
    graph = pytest.importorskip("langgraph.graph", reason="langgraph not installed")
    from langchain_core.messages import AIMessage

    tool, runs = weather
    calls = [
        {"name": "get_weather", "args": {"city": "Basel", "days": 1}, "id": str(n)} for n in (1, 2)
    ]
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("tools", prebuilt.ToolNode([tool]))
    builder.add_edge(graph.START, "tools")
    compiled = builder.compile()
    for call in calls:
        state = compiled.invoke({"messages": [AIMessage(content="", tool_calls=[call])]})
        answer = state["messages"][-1]
        assert (answer.tool_call_id, answer.content) == (call["id"], '{"sun": true, "days": 1}')
    assert runs == ["Basel"]


def test_a_tool_without_a_function_is_refused():
    from visceral_cli.runtime.adapters.langchain import reuse

    with pytest.raises(TypeError):
        reuse(object(), readonly=True)


@pytest.mark.parametrize("handled", [False, True])
def test_a_failure_is_not_kept_also_where_it_becomes_a_message(agent, rule, handled):
    from visceral_cli.runtime.adapters.langchain import reuse

    agent.serve(rule("get_time", {"zone": "UTC"}))
    runs: list[str] = []

    @core.tool
    def get_time(zone: str) -> str:
        """Tell the time."""
        runs.append(zone)
        if len(runs) == 1:
            raise core.ToolException("no clock")
        return "noon"

    get_time.handle_tool_error = handled
    tool = reuse(get_time, readonly=True, replay_safe=True)
    if handled:
        assert tool.invoke({"zone": "UTC"}) == "no clock"
    else:
        with pytest.raises(core.ToolException):
            tool.invoke({"zone": "UTC"})
    assert [tool.invoke({"zone": "UTC"}), tool.invoke({"zone": "UTC"})] == ["noon", "noon"]
    assert len(runs) == 2
