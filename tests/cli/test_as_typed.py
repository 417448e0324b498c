"""What a command takes is the same, whether Typer converts it or it is taken as it was typed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperCommand

from visceral_cli.cli.grouped_help import GroupedCommand
from visceral_cli.cli.lazy_group import COMMANDS

SAMPLES = Path(__file__).parents[2] / "sample_traces"

IMPORTED = """
import json, sys
from visceral_cli.cli.app import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(json.dumps([end.code, "pydantic" in sys.modules]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["analyze", str(SAMPLES / "alert-worker.jsonl"), "--exclude", "*.pb", "--scope", "trace"],
        ["analyze", str(SAMPLES / "alert-worker.jsonl"), "--no-find-vary", "--price", "search=1"],
        ["curve", "search_issues", str(SAMPLES / "alert-worker.jsonl"), "-o", "-"],
    ],
)
def test_texts_and_flags_need_no_pydantic(arguments: list[str]) -> None:
    command = [sys.executable, "-c", IMPORTED, *arguments, "--no-config", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    code, imported = json.loads(done.stdout.splitlines()[-1])
    assert code in (0, 2)  # 2: the file has no such tool
    assert not imported


def taken(name: str, how: type[TyperCommand], arguments: list[str]) -> dict[str, Any]:
    """Return the parameters of a command by name, each list as a tuple."""
    module, _ = COMMANDS[name]
    function = getattr(import_module(f"visceral_cli.cli.{module}"), module)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=how)(function)
    with typer.main.get_command(alone).make_context(name, list(arguments)) as context:
        return {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in context.params.items()
        }


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((name, []) for name in COMMANDS if name not in ("curve", "report", "explain", "diff")),
        ("analyze", ["a", "b", "--tool", "x", "--tool", "y", "--strict", "-o", "-", "--top", "7"]),
        (
            "analyze",
            ["--no-anytime", "--since", "", "--store", "s.duckdb", "--workers=3", "--json"],
        ),
        ("analyze", ["--color", "never", "--", "-x", "--top"]),
        ("check", ["a", "--max-duplicate-rate", "20%", "--max-repeats", "0", "--rules", "r.json"]),
        ("verify", ["a", "--rules", "r.json", "--execute-limit", "4"]),
        ("rules", ["a", "--include-candidates", "--for", "agno"]),
        ("curve", ["tool"]),
        ("curve", ["tool", "a", "b"]),
        ("report", ["saved.json"]),
        ("explain", ["retry"]),
        ("explain", ["tool", "a", "b", "--show-arguments"]),
        ("diff", ["a", "b"]),
    ],
    ids=str,
)
def test_a_command_takes_the_same_as_if_typer_converted_all(
    name: str, arguments: list[str]
) -> None:
    assert taken(name, GroupedCommand, arguments) == taken(name, TyperCommand, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("analyze", ["--top", "many"]),
        ("analyze", ["--workers", ""]),
        ("analyze", ["--top"]),
        ("analyze", ["--no-such-option"]),
        ("analyze", ["--json=yes"]),
        ("curve", []),
        ("config", ["too", "many"]),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused_with_the_words_of_typer(
    name: str, arguments: list[str]
) -> None:
    refusals = []
    for how in (GroupedCommand, TyperCommand):
        with pytest.raises(Exception, match=r".") as refused:
            taken(name, how, arguments)
        refusals.append((type(refused.value), refused.value.format_message()))
    assert refusals[0] == refusals[1]


def test_the_callback_of_a_parameter_is_called_with_what_it_takes() -> None:
    told: list[object] = []
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)

    @alone.command(cls=GroupedCommand)
    def _command(
        text: str = typer.Option(
            "none", callback=lambda value: told.append(value) or value.upper()
        ),
    ) -> None: ...

    command = typer.main.get_command(alone)
    with command.make_context("command", ["--text", "given"]) as context:
        assert context.params == {"text": "GIVEN"}
    assert told == ["given"]
