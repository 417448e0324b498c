"""Declarations without a decorator: from pyproject.toml, or given by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from visceral_cli.runtime.adapters.declared import (
    attested_tools,
    call_by_name,
    declaration_of,
)

ATTESTED = """
[tool.visceral.tools.get_weather]
read-only = true
replay-safe = true
vary = ["city"]
version = "2"
freshness = "10m"
price-usd = 0.01

[tool.visceral.tools.send_mail]
read-only = false
"""


def test_declarations_come_from_the_nearest_file_that_has_any(tmp_path):
    (tmp_path / "pyproject.toml").write_text(ATTESTED)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\n")
    found = attested_tools(inner)
    weather = declaration_of("get_weather", found)
    assert (weather.readonly, weather.replay_safe) == (True, True)
    assert (weather.vary, weather.version, weather.freshness_seconds) == (("city",), "2", 600.0)
    for writer in ("send_mail", "never heard of"):
        assert declaration_of(writer, found).readonly is False


@pytest.mark.parametrize(
    ("written", "seconds"),
    [('"90"', 90), ('"90s"', 90), ('"1.5h"', 5400), ("30", 30), ('"2d"', 172800)],
)
def test_a_freshness_is_a_duration(tmp_path, written, seconds):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.visceral.tools.t]\nfreshness = {written}\n")
    assert attested_tools(path)["t"]["freshness_seconds"] == seconds


@pytest.mark.parametrize("written", ['"soon"', "true", '""', '"m"'])
def test_a_freshness_that_is_none_is_refused(tmp_path, written):
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.visceral.tools.t]\nfreshness = {written}\n")
    with pytest.raises(ValueError, match=r"t\.freshness"):
        attested_tools(path)


def test_a_call_by_name_is_served_like_a_decorated_one(agent, rule):
    agent.serve(rule("get_weather", {"city": "Basel"}))
    tools = {"get_weather": {"readonly": True, "replay_safe": True}}
    runs: list[int] = []

    async def run() -> Any:
        runs.append(1)
        return {"sun": True}

    async def ask() -> Any:
        declaration = declaration_of("get_weather", tools)
        return await call_by_name(declaration, run, {"city": "Basel"})

    assert [asyncio.run(ask()), asyncio.run(ask())] == [{"sun": True}] * 2
    assert len(runs) == 1
    ran, served = agent.trace.attributes()
    assert "visceral.tool.input_hash" in ran
    assert "visceral.tool.served_decision_id" in served
