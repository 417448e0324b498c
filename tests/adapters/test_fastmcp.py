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


def test_where_nobody_can_tell_who_asks_nothing_is_shared(agent):
    from visceral_cli.runtime.adapters.fastmcp import CachedTools

    agent.wrap(results=agent.folder / "results")
    known = [True]

    def namespace(context: Any) -> str:
        if not known[0]:
            raise LookupError
        return "mail"

    made = fastmcp.FastMCP("mail")
    made.add_middleware(CachedTools(namespace, {"inbox": 60}))
    runs: list[str] = []
    made.tool(lambda: runs.append("inbox"), name="inbox")
    made.tool(lambda: runs.append("send"), name="send")
    ask(made, ("inbox", {}), ("inbox", {}))
    known[0] = False
    ask(made, ("inbox", {}), ("inbox", {}))
    assert runs == ["inbox"] * 3
    ask(made, ("send", {}))  # of whom, nobody knows: it voids what everybody reads
    known[0] = True
    ask(made, ("inbox", {}))
    assert runs == ["inbox"] * 3 + ["send", "inbox"]


def test_a_stored_result_of_other_code_runs_the_tool(server):
    from visceral_cli import cached_tool_call

    cached_tool_call("weather", ["forecast"], {"city": "Basel"}, 60, lambda: {"not": "ours"})
    (answer,) = ask(server, ("forecast", {"city": "Basel"}))
    assert answer.data == {"z": "Basel", "a": [1, 1.0, None]}
    assert server.runs == [("forecast", "Basel")]


ATTESTED = """
[tool.visceral.tools.forecast]
read-only = true
replay-safe = true
freshness = "10m"

[tool.visceral.tools.clock]
read-only = true
"""


def test_a_tool_that_pyproject_attests_needs_no_timeout(agent, tmp_path, monkeypatch):
    from visceral_cli.runtime.adapters.fastmcp import CachedTools

    (tmp_path / "pyproject.toml").write_text(ATTESTED)
    monkeypatch.chdir(tmp_path)
    agent.wrap(results=agent.folder / "results")
    made = fastmcp.FastMCP("weather")
    made.add_middleware(CachedTools("weather"))
    runs: list[str] = []

    for name in ("forecast", "clock", "set_city"):

        def call(name: str = name) -> str:
            runs.append(name)
            return name

        made.tool(call, name=name)
    calls = ["forecast", "clock", "forecast", "clock", "set_city", "forecast"]
    ask(made, *((name, {}) for name in calls))
    assert runs == ["forecast", "clock", "clock", "set_city", "forecast"]


def test_a_broken_pyproject_matters_only_where_it_is_needed(tmp_path, monkeypatch):
    from visceral_cli.runtime.adapters.fastmcp import CachedTools

    (tmp_path / "pyproject.toml").write_text("[tool.visceral.tools.t]\nfreshness = 'soon'\n")
    monkeypatch.chdir(tmp_path)
    CachedTools("weather", {"forecast": 60})
    with pytest.raises(ValueError, match="no duration"):
        CachedTools("weather")
