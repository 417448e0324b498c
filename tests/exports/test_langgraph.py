"""The cached tasks in real graphs of LangGraph."""

from __future__ import annotations

import asyncio
import time
from typing import Any, TypedDict

import pytest

from visceral_cli.rules.exports.target import Target

func = pytest.importorskip("langgraph.func", reason="langgraph not installed")

from langgraph.cache.memory import InMemoryCache
from langgraph.graph import START, MessagesState, StateGraph

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def ask(load):
    """Return a function that asks a tool in a new run of one graph, with one cache for all."""
    cache = InMemoryCache()

    def asking(settings: Any, function: Any, tool: str | None = None) -> Any:
        cached = settings.cached_task(function, tool)

        @func.entrypoint(cache=cache)
        def run(call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
            return cached(*call[0], **call[1]).result()

        asked = lambda *args, **kwargs: run.invoke((args, kwargs))  # noqa: E731
        asked.clear = lambda: cached.clear_cache(cache)
        return asked

    return asking


@pytest.fixture
def get_weather():
    """A tool that counts its runs."""
    runs: list[Any] = []

    def get_weather(city: Any, days: int = 1, request: str = "") -> dict[str, Any]:
        runs.append((city, days, request))
        if city == "Atlantis":
            raise LookupError(city)
        return {"city": city, "run": len(runs)}

    get_weather.runs = runs
    return get_weather


@pytest.mark.parametrize("any_arguments", [False, True])
def test_a_covered_call_is_answered_from_the_cache_and_after_its_time_it_runs(
    load, make_rule, ask, get_weather, any_arguments
):
    asked = ask(load(Target.LANGGRAPH, make_rule(any_arguments=any_arguments)), get_weather)
    assert [asked(city="Basel"), asked(city="Basel")] == [{"city": "Basel", "run": 1}] * 2
    time.sleep(1.1)
    assert asked(city="Basel") == {"city": "Basel", "run": 2}


def test_a_tool_that_no_rule_names_runs_each_time(load, make_rule, ask, get_weather):
    asked = ask(load(Target.LANGGRAPH, make_rule("get_time")), get_weather)
    assert [asked(city="Basel")["run"], asked(city="Basel")["run"]] == [1, 2]


def test_only_the_arguments_that_rules_name_are_cached(load, make_rule, ask, get_weather):
    asked = ask(load(Target.LANGGRAPH, make_rule()), get_weather)
    assert [asked(city=city)["run"] for city in ("Bern", "Bern", "Basel", "Basel")] == [1, 2, 3, 3]


def test_a_call_is_the_same_however_its_arguments_are_spelt(load, make_rule, ask, get_weather):
    as_given = make_rule(seconds=600)
    with_defaults = make_rule(arguments={"city": "Bern", "days": 1, "request": ""}, seconds=600)
    asked = ask(load(Target.LANGGRAPH, as_given, with_defaults), get_weather)
    assert [asked("Basel"), asked(city="Basel")] == [{"city": "Basel", "run": 1}] * 2
    spelt = [asked("Bern"), asked(city="Bern"), asked("Bern", 1), asked("Bern", days=1)]
    assert [one["run"] for one in spelt] == [2] * 4
    assert asked("Bern", 2)["run"] == 3


def test_an_argument_that_vary_leaves_out_does_not_count(load, make_rule, ask, get_weather):
    rule = make_rule(vary=["city"], seconds=600)
    asked = ask(load(Target.LANGGRAPH, rule), get_weather)
    assert [asked("Basel", request=each)["run"] for each in "abc"] == [1, 1, 1]


def test_values_that_are_not_plain_json_are_never_cached(load, make_rule, ask, get_weather):
    class City(str):
        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    asked = ask(load(Target.LANGGRAPH, make_rule(any_arguments=True, seconds=600)), get_weather)
    for value in (("a", "b"), {1: "a"}, float("nan"), City("Basel")):
        assert asked(value)["run"] + 1 == asked(value)["run"]


def test_one_and_one_point_zero_and_true_are_three_questions(load, make_rule, ask, get_weather):
    asked = ask(load(Target.LANGGRAPH, make_rule(any_arguments=True, seconds=600)), get_weather)
    assert [asked(value)["run"] for value in (1, 1.0, True, "1", 1, 1.0, True, "1")] == [
        *(1, 2, 3, 4),
        *(1, 2, 3, 4),
    ]


def test_a_failure_is_not_kept(load, make_rule, ask, get_weather):
    rule = make_rule(arguments={"city": "Atlantis"}, seconds=600)
    asked = ask(load(Target.LANGGRAPH, rule), get_weather)
    for _ in range(2):
        with pytest.raises(LookupError):
            asked("Atlantis")
    assert len(get_weather.runs) == 2


def test_arguments_that_do_not_fit_fail_as_they_would(load, make_rule, ask, get_weather):
    asked = ask(load(Target.LANGGRAPH, make_rule()), get_weather)
    with pytest.raises(TypeError):
        asked(town="Basel")


def test_whoever_knows_of_a_write_empties_it(load, make_rule, ask, get_weather):
    asked = ask(load(Target.LANGGRAPH, make_rule(seconds=600)), get_weather)
    assert asked("Basel")["run"] == asked("Basel")["run"] == 1
    asked.clear()
    assert asked("Basel")["run"] == 2


def test_a_function_of_another_name_takes_the_tool_s(load, make_rule, ask):
    runs = []
    asked = ask(load(Target.LANGGRAPH, make_rule()), lambda city: runs.append(city), "get_weather")
    asked(city="Basel")
    asked(city="Basel")
    assert runs == ["Basel"]


def test_a_coroutine_function_is_cached_too(load, make_rule):
    runs = []

    async def get_weather(city: str) -> int:
        runs.append(city)
        return len(runs)

    cached = load(Target.LANGGRAPH, make_rule(seconds=600)).cached_task(get_weather)

    @func.entrypoint(cache=InMemoryCache())
    async def run(city: str) -> int:
        return await cached(city)

    async def main() -> list[int]:
        return [await run.ainvoke("Basel") for _ in range(2)]

    assert asyncio.run(main()) == [1, 1]


def test_in_a_node_of_a_graph(load, make_rule, get_weather):
    cached = load(Target.LANGGRAPH, make_rule(seconds=600)).cached_task(get_weather)

    class State(TypedDict):
        city: str
        told: dict[str, Any]

    builder = StateGraph(State)
    builder.add_node("look", lambda state: {"told": cached(city=state["city"]).result()})
    builder.add_edge(START, "look")
    graph = builder.compile(cache=InMemoryCache())
    told = [graph.invoke({"city": city})["told"]["run"] for city in ("Basel", "Basel", "Bern")]
    assert told == [1, 1, 2]


def test_in_a_tool_of_a_tool_node_each_answer_keeps_the_id_of_its_call(
    load, make_rule, get_weather
):
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    cached = load(Target.LANGGRAPH, make_rule(seconds=600)).cached_task(get_weather)

    @tool("get_weather")
    def weather_tool(city: str) -> str:
        """Tell the weather."""
        return str(cached(city=city).result()["run"])

    builder = StateGraph(MessagesState)
    builder.add_node("tools", prebuilt.ToolNode([weather_tool]))
    builder.add_edge(START, "tools")
    graph = builder.compile(cache=InMemoryCache())
    answers = []
    for number in ("1", "2"):
        call = {"name": "get_weather", "args": {"city": "Basel"}, "id": number}
        asked = AIMessage(content="", tool_calls=[call])
        answers.append(graph.invoke({"messages": [asked]})["messages"][-1])
    assert [(one.content, one.tool_call_id) for one in answers] == [("1", "1"), ("1", "2")]
