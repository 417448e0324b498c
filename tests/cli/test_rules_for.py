"""``visceral rules --for``, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.contract.identity import input_hash

CONFIG = """
[tool.visceral.tools.get_weather]
read-only = true
replay-safe = true
"""


@pytest.fixture
def proven(tmp_path: Path, write_spans: Callable[..., None]) -> Path:
    """A file of spans that prove 5 rules, and the settings that declare the tool."""
    cities = [f"c{number}" for number in range(5)]
    calls = [("get_weather", {"city": city}, {"sky": "clear"}) for city in cities * 700]
    write_spans(tmp_path / "spans.jsonl", calls)
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    return tmp_path


RULES = ("rules", "spans.jsonl", "--principal", "none")


TARGETS = {"fastmcp": "FastMCP", "langgraph": "LangGraph", "crewai": "CrewAI", "agno": "Agno"}


def test_a_file_of_rules_gives_the_same_settings_as_the_traces(
    in_process: Any, proven: Path
) -> None:
    (proven / "rules.json").write_text(in_process(*RULES, "-q").stdout)
    for target, title in TARGETS.items():
        done = in_process("rules", "--rules", "rules.json", "--for", target)
        assert done.returncode == 0, done.stderr
        kept = target != "agno"  # which keeps every call of a tool or none
        said = "5 rules of 1 tool" if kept else "0 rules of 0 tools"
        assert f"note: {said} for {title}" in done.stderr
        compile(done.stdout, "settings", "exec")
        assert (input_hash("get_weather", {"city": "c3"}) in done.stdout) == kept
        assert '"c3"' not in done.stdout
    again = in_process(*RULES, "--for", "agno", "-o", "settings.py")
    assert (again.returncode, again.stdout) == (0, "")
    assert (proven / "settings.py").read_text() == done.stdout
    assert again.stderr == done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["spans.jsonl", "--for", "redis"], "--for: "),
        (["--rules", "rules.json"], "--rules is only for --for\n  hint: visceral verify"),
        (["spans.jsonl", "--rules", "r.json", "--for", "agno"], "--rules and INPUT exclude"),
        (["--rules", "r.json", "--for", "agno", "--tool", "x"], "--rules and --tool exclude"),
        (["--rules", "nowhere.json", "--for", "agno"], "nowhere.json: cannot be read"),
        (["spans.jsonl", "--for", "agno", "--include-candidates"], "--for and --include-cand"),
        (["spans.jsonl", "--for", "agno", "--with-results", "r.db"], "--for and --with-results"),
        (["--for", "agno"], "no input is given"),
    ],
)
def test_what_cannot_be_meant_is_told(in_process: Any, arguments: list[str], message: str) -> None:
    done = in_process("rules", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
