"""The program in a pseudo-terminal: what a person sees."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

HOSTILE = "\x1b[2J\x1b[31mred\x1b]8;;http://x\x07[bold]\n\u202e" + "x" * 10_000
COLOR = re.compile(r"\x1b\[[0-9;]*m")

Show = Callable[..., str]


@pytest.fixture
def show(command: list[str], child_environment: dict[str, str], tmp_path: Path) -> Show:
    """Run in a terminal of the given size and return what it was sent on stdout."""

    def run(*arguments: str, columns: int = 100, lines: int = 24, **variables: str) -> str:
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        with subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=subprocess.DEVNULL,
            env=child_environment | variables,
            cwd=tmp_path,
        ) as child:
            os.close(terminal)
            shown = b""
            try:
                while piece := os.read(master, 65536):
                    shown += piece
            except OSError:
                pass  # the other end is closed
        os.close(master)
        assert child.returncode == 0
        return shown.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("columns", [80, 100])
def test_the_first_screen_of_24_lines_holds_the_answer_and_whole_tools(
    show: Show, sample_traces: Path, tmp_path: Path, columns: int
) -> None:
    (tmp_path / "sample_traces").symlink_to(sample_traces)
    lines = COLOR.sub("", show("analyze", "sample_traces/", columns=columns)).splitlines()
    screen = lines[-23:]
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("11,680 tool calls of 15 tools") for line in screen)
    assert columns < 100 or screen == lines
    for tool, why in (
        ("search_flights", "14.8m proven per run, 69 rules"),
        ("traveller_profile", "25.3m proven per run, 120 rules"),
    ):
        assert any(line.startswith(f"{tool} ") for line in screen)
        assert any(line.endswith(why) for line in screen)
    assert screen[-1] == "Next        visceral rules sample_traces/ -o rules.json"


@pytest.mark.parametrize("output_format", ["table", "csv"])
def test_a_hostile_tool_name_stays_text(
    show: Show, traces: Path, write_spans: Callable[..., None], output_format: str
) -> None:
    write_spans(traces / "spans.jsonl", [(HOSTILE, {"a": 1}, {"b": 2})] * 3)
    shown = COLOR.sub("", show("analyze", "traces", "-f", output_format))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert "\\x1b[2J" in shown or "\\u001b[2J" in shown or "\\\\x1b" in shown


def test_color_is_for_terminals_and_can_be_taken_away(show: Show, traces: Path) -> None:
    assert COLOR.search(show("analyze", "traces"))
    assert not COLOR.search(show("analyze", "traces", NO_COLOR="1"))


def test_rules_are_plain_json_in_a_terminal_too(show: Show, traces: Path) -> None:
    assert json.loads(show("rules", "traces")) == {"format": 1, "rules": []}
