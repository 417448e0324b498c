"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from visceral_cli.errors import ExitCode

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def readme() -> str:
    return (PROJECT / "README.md").read_text(encoding="utf-8")


def code_blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)


def visceral(*arguments: str) -> str:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("VISCERAL_")
    }
    ran = subprocess.run(
        [sys.executable, "-m", "visceral_cli", *arguments],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_first_console_block_is_the_real_output(readme: str) -> None:
    command, _, shown = code_blocks(readme, "console")[0].partition("\n")
    assert command == "$ visceral analyze sample_traces/"
    assert visceral(*command.split()[2:]) == shown


@pytest.mark.parametrize("end", ["/visceral analyze sample_traces/", "/pytest -n 2"])
def test_one_command_line_sets_up_and_runs_it(readme: str, end: str) -> None:
    lines = [
        block.strip()
        for block in code_blocks(readme, "sh")
        if block.strip().endswith(end) and "\n" not in block.strip()
    ]
    assert len(lines) == 1
    assert lines[0].startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_every_command_has_its_row(readme: str) -> None:
    listed = re.findall(r"^\| `visceral (\w+)", readme, re.MULTILINE)
    shown = re.findall(r"^\W*(\w+)  +\S", visceral("--help").split("Commands")[1], re.MULTILINE)
    assert sorted(listed) == sorted(shown)


def test_every_exit_code_in_the_table_exists(readme: str) -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \| ", readme, re.MULTILINE)}
    assert listed == {int(code) for code in ExitCode}


def test_every_linked_file_exists(readme: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert links
    assert [link for link in links if not (PROJECT / link).exists()] == []
