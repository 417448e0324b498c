"""Two analyses, and what changed between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Run = Callable[..., Any]


@pytest.fixture
def later(tmp_path: Path, write_spans: Callable[..., None]) -> Path:
    """Traces where one identity of ``get_weather`` is gone and a tool is new."""
    calls: list[tuple[str, object, object]] = [("get_weather", {"city": "Oslo"}, 1)] * 3
    write_spans(tmp_path / "later.jsonl", [*calls, ("fare", {}, 1), ("fare", {}, 1)])
    return tmp_path / "later.jsonl"


@pytest.mark.parametrize("saved", [False, True], ids=["traces", "saved reports"])
def test_tools_and_groups_are_new_and_gone(
    in_process: Run, traces: Path, later: Path, saved: bool
) -> None:
    sides = ["traces", "later.jsonl"]
    if saved:
        for side in sides:
            in_process("analyze", side, "-o", f"{side}.json")
        sides = [f"{side}.json" for side in sides]
    done = in_process("diff", *sides, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    schema = json.loads(
        (resources.files("visceral_cli.report") / "diff.schema.json").read_text("utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(found, schema)
    assert {tool["tool"]: tool["direction"] for tool in found["tools"]} == {
        "get_weather": "same",
        "clock": "gone",
        "fare": "new",
    }
    groups = {(group["tool"], group["direction"]) for group in found["groups"]}
    assert groups == {("get_weather", "gone"), ("clock", "gone"), ("fare", "new")}
    assert (found["before"]["calls"], found["after"]["calls"]) == (8, 5)
    assert found["totals"]["repeats"]["low"] is None


def test_a_store_is_compared_too(in_process: Run, traces: Path, later: Path) -> None:
    in_process("ingest", "traces", "--store", "s.duckdb")
    done = in_process("diff", "s.duckdb", "later.jsonl", "--json")
    assert json.loads(done.stdout)["before"]["calls"] == 8


def test_only_with_fail_on_new_it_fails(in_process: Run, traces: Path, later: Path) -> None:
    assert in_process("diff", "traces", "later.jsonl").returncode == 0
    assert in_process("diff", "traces", "later.jsonl", "--fail-on-new").returncode == 1
    assert in_process("diff", "traces", "traces", "--fail-on-new").returncode == 0


def test_the_table_says_what_cannot_be_told(in_process: Run, traces: Path, later: Path) -> None:
    shown = in_process("diff", "traces", "later.jsonl").stdout
    assert shown.startswith("Before: traces: 8 tool calls in 2 runs, 5 repeats (62.5%)")
    assert "too few calls to tell, 20 runs on each side are needed" in shown
    markdown = in_process("diff", "traces", "later.jsonl", "-f", "markdown").stdout
    assert markdown.startswith("# What changed\n")
    assert "| new | fare |" in markdown


def test_what_is_wrong_is_told_in_one_line(in_process: Run, traces: Path) -> None:
    in_process("analyze", "traces", "--scope", "trace", "-o", "r.json")
    done = in_process("diff", "r.json", "traces")
    assert done.returncode == 2
    assert "r.json was made with --scope trace, traces with --scope all" in done.stderr
    assert in_process("diff", "traces").returncode == 2
    assert in_process("diff", "traces", "none").returncode == 3
    assert in_process("diff", "traces", "traces", "-f", "csv").returncode == 2
