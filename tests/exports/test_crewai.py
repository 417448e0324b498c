"""The cache of results in real crews of CrewAI, whose model follows a script."""

from __future__ import annotations

import json
import os
import time
from types import SimpleNamespace
from typing import Any

import pytest

from visceral_cli.rules.exports.target import Target

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
crewai = pytest.importorskip("crewai", reason="crewai not installed")

from crewai.tools import tool

pytestmark = pytest.mark.filterwarnings("ignore")

BASEL = {"city": "Basel"}


class Scripted(crewai.BaseLLM):
    """Asks for the tool calls in its script one by one, then ends."""

    script: list[Any]
    """Tool and arguments; a number is a pause in seconds."""
    native: bool = False

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        while self.script and isinstance(self.script[0], int | float):
            time.sleep(self.script.pop(0))
        if not self.script:
            return "The end." if self.native else "Thought: done\nFinal Answer: The end."
        name, arguments = self.script.pop(0)
        if self.native:
            asked = SimpleNamespace(name=name, arguments=json.dumps(arguments))
            return [SimpleNamespace(id=f"c{len(self.script)}", type="function", function=asked)]
        return f"Thought: look\nAction: {name}\nAction Input: {json.dumps(arguments)}"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # a crew writes down what it did


@pytest.fixture
def follow(load):
    """Return a function that lets a crew make some calls; it returns what runs there were."""

    def followed(rules: Any, *script: Any, native: bool = False, results: Any = None) -> list[Any]:
        runs: list[Any] = []

        @tool("Get Weather")
        def get_weather(city: str, request: str = "") -> str:
            """Tell the weather."""
            runs.append((city, request))
            if city == "Atlantis":
                raise LookupError(city)
            return f"{city}: {len(runs)}"

        @tool("Get Time")
        def get_time() -> str:
            """Tell the time."""
            runs.append("time")
            return "noon"

        model = Scripted(model="scripted", script=list(script), native=native)
        agent = crewai.Agent(
            role="teller",
            goal="tell",
            backstory="tells",
            llm=model,
            tools=[get_weather, get_time],
            cache_handler=results or load(Target.CREWAI, *rules).ProvenResults(),
            max_iter=30,
        )
        task = crewai.Task(description="tell the weather", expected_output="words", agent=agent)
        crewai.Crew(agents=[agent], tasks=[task], cache=False).kickoff()
        assert not model.script
        return runs

    return followed


def spelt(native: bool, *calls: Any) -> list[Any]:
    """Return the calls with the tools' names as a model spells them: native ones have no spaces."""
    return (
        [
            call if isinstance(call, int | float) else (call[0].lower().replace(" ", "_"), call[1])
            for call in calls
        ]
        if native
        else list(calls)
    )


@pytest.mark.parametrize("native", [False, True], ids=["in words", "native"])
def test_a_covered_call_is_answered_from_the_cache_and_after_its_time_it_runs(
    follow, make_rule, native
):
    call, other = ("Get Weather", BASEL), ("Get Time", {})
    script = spelt(native, call, other, call, 1.1, call)
    runs = follow([make_rule("Get Weather")], *script, native=native)
    assert runs == [("Basel", ""), "time", ("Basel", "")]


@pytest.mark.parametrize("native", [False, True], ids=["in words", "native"])
def test_what_no_rule_names_runs_each_time(follow, make_rule, native):
    bern, clock = ("Get Weather", {"city": "Bern"}), ("Get Time", {})
    script = spelt(native, bern, clock, bern, clock)
    runs = follow([make_rule("Get Weather", seconds=600)], *script, native=native)
    assert runs == [("Bern", ""), "time", ("Bern", ""), "time"]


def test_results_outlive_the_crew_where_the_cache_is_handed_on(follow, load, make_rule):
    results = load(Target.CREWAI, make_rule("Get Weather", seconds=600)).ProvenResults()
    assert follow([], ("Get Weather", BASEL), results=results) == [("Basel", "")]
    assert follow([], ("Get Weather", BASEL), results=results) == []


def test_a_failure_is_not_kept(follow, make_rule):
    call, clock = ("Get Weather", {"city": "Atlantis"}), ("Get Time", {})
    rule = make_rule("Get Weather", {"city": "Atlantis"}, seconds=600)
    runs = follow([rule], *spelt(True, call, clock, call), native=True)
    assert runs.count(("Atlantis", "")) == 2


# The cache itself, asked as crews ask it.


def test_a_tool_is_the_same_in_both_spellings_of_its_name(load, make_rule):
    results = load(Target.CREWAI, make_rule("Get Weather")).ProvenResults()
    results.add("Get Weather", json.dumps(BASEL), "sun")
    assert results.read("get_weather", json.dumps(BASEL)) == "sun"
    assert results.read("Get Weather", json.dumps(BASEL)) == "sun"
    assert results.read("get_time", json.dumps(BASEL)) is None


def test_the_order_of_arguments_and_what_vary_leaves_out_do_not_count(load, make_rule):
    rule = make_rule(arguments={"city": "Basel", "days": 1}, vary=["city", "days"])
    results = load(Target.CREWAI, rule).ProvenResults()
    results.add("get_weather", '{"city": "Basel", "days": 1, "request": "a"}', "sun")
    assert results.read("get_weather", '{"days": 1, "request": "b", "city": "Basel"}') == "sun"
    assert results.read("get_weather", '{"days": 1.0, "city": "Basel"}') is None
    assert results.read("get_weather", '{"city": "Basel"}') is None


def test_a_call_as_the_sdk_writes_it_down_is_the_same_call(load, make_rule):
    rule = make_rule(arguments={"args": [], "kwargs": BASEL})
    results = load(Target.CREWAI, rule).ProvenResults()
    results.add("get_weather", json.dumps(BASEL), "sun")
    assert results.read("get_weather", json.dumps(BASEL)) == "sun"


@pytest.mark.parametrize("text", ["", "[1]", "not JSON", '"Basel"', "NaN", '{"city": NaN}'])
def test_what_is_no_object_of_arguments_is_not_kept(load, make_rule, text):
    results = load(Target.CREWAI, make_rule(any_arguments=True, vary=["city"])).ProvenResults()
    results.add("get_weather", text, "sun")
    assert results.read("get_weather", text) is None


def test_a_declared_failure_does_not_bring_an_expired_result_back(load, make_rule):
    declared = pytest.importorskip("crewai.tools.tool_failure", reason="no declared failures yet")

    results = load(Target.CREWAI, make_rule()).ProvenResults()
    results.add("get_weather", json.dumps(BASEL), "sun")
    time.sleep(1.1)
    assert results.read("get_weather", json.dumps(BASEL)) is None
    results.add("get_weather", json.dumps(BASEL), declared.ToolFailure(message="no"))
    assert results.read("get_weather", json.dumps(BASEL)) is None
