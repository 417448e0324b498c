from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from visceral_cli.cli.complete import complete_tool


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("visceral an", ["analyze"]),
        ("visceral analyze --max", ["--max-freshness", "--max-stale-rate"]),
        ("visceral analyze --rows gr", ["groups"]),
        ("visceral analyze -f pa", ["parquet"]),
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


def test_without_a_store_no_tool_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        params = {"store": str(tmp_path / "none.duckdb"), "inputs": None}  # noqa: RUF012

    monkeypatch.chdir(tmp_path)
    assert complete_tool(Context(), "") == []  # type: ignore[arg-type]
