from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.cli.complete import complete_tool

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("visceral an", ["analyze"]),
        ("visceral analyze --max", ["--max-freshness", "--max-stale-rate"]),
        ("visceral analyze --rows gr", ["groups"]),
        ("visceral analyze -f pa", ["parquet"]),
        ("visceral check -f s", ["sarif"]),
        ("visceral diff -f m", ["markdown"]),
        ("visceral rules --scope t", ["trace"]),
        ("visceral rules --color n", ["never"]),
        ("visceral explain exit", ["exit-codes"]),
    ],
)
def test_the_shell_completes(
    command: list[str], child_environment: dict[str, str], words: str, expected: list[str]
) -> None:
    variables = {
        "_VISCERAL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = subprocess.run(
        command, env=child_environment | variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == expected


def test_tools_of_a_store_are_proposed_and_the_store_stays_as_it_is(
    command: list[str], child_environment: dict[str, str], traces: Path, in_process: Run
) -> None:
    assert in_process("ingest", "traces", "--store", "s.duckdb").returncode == 0
    store = traces.parent / "s.duckdb"
    before = store.read_bytes()
    for words, expected in (
        ("visceral analyze s.duckdb --tool get", ["get_weather"]),
        ("visceral explain --store s.duckdb clo", ["clock", "clocks"]),
    ):
        variables = {
            "_VISCERAL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        done = subprocess.run(
            command,
            env=child_environment | variables,
            cwd=store.parent,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == expected
    assert store.read_bytes() == before


def test_without_a_store_no_tool_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        params = {"store": str(tmp_path / "none.duckdb"), "inputs": None}  # noqa: RUF012
        args = ()

    monkeypatch.chdir(tmp_path)
    assert complete_tool(Context(), "") == []  # type: ignore[arg-type]
