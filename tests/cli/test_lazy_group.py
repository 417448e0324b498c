"""Commands that are built only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli.cli.lazy_group import COMMANDS, LazyGroup

Run = Callable[..., Any]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_has_help(in_process: Run, name: str) -> None:
    done = in_process(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: visceral {name} ")


def test_the_list_has_every_command_in_one_line(in_process: Run) -> None:
    shown = in_process("--help").stdout
    for name, (_, text) in COMMANDS.items():
        assert f"  {name:<7}  {text}\n" in shown


def test_a_command_is_built_once() -> None:
    group = LazyGroup(name="visceral")
    assert group.commands["config"] is group.commands["config"]
    assert group.list_commands(None) == list(COMMANDS)
    assert group.commands.get("none") is None
