"""The middleware in a real FastMCP server, asked by a real client."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from visceral_cli.rules.exports.target import Target

fastmcp = pytest.importorskip("fastmcp", reason="fastmcp not installed")

pytestmark = pytest.mark.filterwarnings("ignore")

BASEL, BERN = ("get_weather", {"city": "Basel"}), ("get_weather", {"city": "Bern"})


@pytest.fixture
def serve(load):
    """Return a function that makes a server with the middleware for some rules."""

    def server(*rules: Any) -> Any:
        made = fastmcp.FastMCP("weather")
        made.runs = []
        for middleware in load(Target.FASTMCP, *rules).response_caching():
            made.add_middleware(middleware)

        @made.tool
        def get_weather(city: str, request: str = "") -> dict[str, Any]:
            made.runs.append((city, request))
            if city == "Atlantis":
                raise fastmcp.exceptions.ToolError("no such city")
            return {"city": city, "run": len(made.runs)}

        @made.tool
        def get_time() -> int:
            made.runs.append(("get_time", ""))
            return len(made.runs)

        return made

    return server


def ask(server: Any, *calls: Any) -> list[Any]:
    """Return what a client is told; a number between calls is a pause in seconds."""

    async def main() -> list[Any]:
        told = []
        async with fastmcp.Client(server) as client:
            for call in calls:
                if isinstance(call, int | float):
                    await asyncio.sleep(call)
                else:
                    told.append(await client.call_tool(*call, raise_on_error=False))
        return told

    return asyncio.run(main())


@pytest.mark.parametrize("any_arguments", [False, True])
def test_a_covered_call_is_answered_from_the_cache_and_after_its_time_it_runs(
    serve, make_rule, any_arguments
):
    server = serve(make_rule(any_arguments=any_arguments))
    first, second, third = ask(server, BASEL, BASEL, 1.1, BASEL)
    assert (first.data, second.data) == ({"city": "Basel", "run": 1},) * 2
    assert third.data == {"city": "Basel", "run": 2}


@pytest.mark.parametrize("any_arguments", [False, True])
def test_a_tool_that_no_rule_names_runs_each_time(serve, make_rule, any_arguments):
    server = serve(make_rule(any_arguments=any_arguments))
    assert [told.data for told in ask(server, ("get_time", {}), ("get_time", {}))] == [1, 2]


def test_without_any_rule_every_call_runs(serve):
    assert [told.data["run"] for told in ask(serve(), BASEL, BASEL)] == [1, 2]


def test_only_the_arguments_that_rules_name_are_cached(serve, make_rule):
    server = serve(make_rule())
    assert [told.data["run"] for told in ask(server, BERN, BERN, BASEL, BASEL)] == [1, 2, 3, 3]


def test_what_is_proven_for_any_arguments_is_cached_for_those_never_seen(serve, make_rule):
    server = serve(make_rule(any_arguments=True))
    assert [told.data["run"] for told in ask(server, BERN, BASEL, BERN, BASEL)] == [1, 2, 1, 2]


@pytest.mark.parametrize("any_arguments", [False, True])
def test_an_argument_that_vary_leaves_out_does_not_count(serve, make_rule, any_arguments):
    server = serve(make_rule(vary=["city"], any_arguments=any_arguments))
    calls = [("get_weather", {"city": "Basel", "request": each}) for each in ("a", "b", "c")]
    assert [told.data["run"] for told in ask(server, *calls)] == [1, 1, 1]
    assert server.runs == [("Basel", "a")]  # the tool was given what was asked


def test_each_identity_has_the_time_of_its_own_rule(serve, make_rule):
    server = serve(make_rule(), make_rule(arguments={"city": "Bern"}, seconds=600))
    runs = [told.data["run"] for told in ask(server, BASEL, BERN, 1.1, BASEL, BERN)]
    assert runs == [1, 2, 3, 2]


def test_a_failure_is_not_kept(serve, make_rule):
    server = serve(make_rule(arguments={"city": "Atlantis"}, seconds=600))
    first, second = ask(server, *[("get_weather", {"city": "Atlantis"})] * 2)
    assert first.is_error
    assert second.is_error
    assert len(server.runs) == 2


def test_lists_are_not_cached(serve, make_rule):
    async def main(server: Any) -> tuple[set[str], set[str]]:
        async with fastmcp.Client(server) as client:
            before = {tool.name for tool in await client.list_tools()}

            @server.tool
            def set_city(city: str) -> str:
                return city

            return before, {tool.name for tool in await client.list_tools()}

    for rule in (make_rule(), make_rule(any_arguments=True)):
        before, after = asyncio.run(main(serve(rule)))
        assert after == before | {"set_city"}


def test_a_storage_of_the_user_keeps_the_results(load, make_rule):
    from key_value.aio.stores.memory import MemoryStore

    storage = MemoryStore()
    runs = []

    def server() -> Any:
        made = fastmcp.FastMCP("weather")
        for middleware in load(Target.FASTMCP, make_rule(seconds=600)).response_caching(storage):
            made.add_middleware(middleware)

        @made.tool
        def get_weather(city: str) -> int:
            runs.append(time.monotonic())
            return len(runs)

        return made

    assert [ask(server(), BASEL)[0].data for _ in range(2)] == [1, 1]
