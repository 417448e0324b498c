"""The middleware in a real FastMCP server, asked by a real client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

fastmcp = pytest.importorskip("fastmcp", reason="fastmcp not installed")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def server(agent: Any) -> Any:
    from visceral_cli.runtime.adapters.fastmcp import CachedTools

    agent.wrap(results=agent.folder / "results")
    made = fastmcp.FastMCP("weather")
    made.runs = []
    made.add_middleware(CachedTools("weather", {"forecast": 60, "picture": 60, "fails": 60}))

    @made.tool
    def forecast(city: str, days: int = 1) -> dict[str, Any]:
        made.runs.append(("forecast", city))
        return {"z": city, "a": [days, 1.0, None]}

    @made.tool
    def picture(city: str) -> list[Any]:
        made.runs.append(("picture", city))
        return [city, {"kind": "picture"}]

    @made.tool
    def fails() -> str:
        made.runs.append(("fails", ""))
        raise fastmcp.exceptions.ToolError("no")

    @made.tool(annotations={"readOnlyHint": True})
    def clock() -> str:
        made.runs.append(("clock", ""))
        return "noon"

    @made.tool
    def set_city(city: str) -> str:
        made.runs.append(("set_city", city))
        return "done"

    return made


def ask(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async def main() -> list[Any]:
        async with fastmcp.Client(server) as client:
            return [await client.call_tool(*call, raise_on_error=False) for call in calls]

    return asyncio.run(main())


def shown(result: Any) -> Any:
    return (result.content, result.structured_content, result.is_error, result.meta)


def test_a_client_sees_the_same_from_the_cache(server):
    for call in (("forecast", {"city": "Basel"}), ("picture", {"city": "Basel"})):
        first, second = ask(server, call, call)
        assert shown(first) == shown(second)
    assert server.runs == [("forecast", "Basel"), ("picture", "Basel")]


def test_other_arguments_are_another_call(server):
    ask(server, ("forecast", {"city": "Basel"}), ("forecast", {"city": "Bern"}))
    assert len(server.runs) == 2


def test_a_failure_is_not_kept(server):
    first, second = ask(server, ("fails", {}), ("fails", {}))
    assert first.is_error
    assert second.is_error
    assert len(server.runs) == 2


def test_a_writer_voids_and_a_read_only_tool_does_not(server):
    call = ("forecast", {"city": "Basel"})
    ask(server, call, ("clock", {}), call)
    assert [name for name, _ in server.runs] == ["forecast", "clock"]
    ask(server, ("set_city", {"city": "Bern"}), call)
    assert [name for name, _ in server.runs][2:] == ["set_city", "forecast"]


def test_principals_share_nothing(agent):
    from visceral_cli.runtime.adapters.fastmcp import CachedTools

    agent.wrap(results=agent.folder / "results")
    who = ["one"]
    made = fastmcp.FastMCP("mail")
    made.add_middleware(CachedTools(lambda context: f"mail:{who[0]}", {"inbox": 60}))

    @made.tool
    def inbox() -> str:
        return f"mail of {who[0]}"

    assert ask(made, ("inbox", {}))[0].data == "mail of one"
    who[0] = "two"
    assert ask(made, ("inbox", {}))[0].data == "mail of two"
