"""The commands by name: each is imported and built only when it is asked for.

There are many, each with many options; the start of the program must not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from visceral_cli.cli.as_typed import take_as_typed
from visceral_cli.cli.grouped_help import GroupedCommand

COMMANDS = {
    "analyze": ("analyze", "Find repeated tool calls and what they cost."),
    "check": ("check", "Hold what is found against limits, rules and an earlier analysis."),
    "rules": ("rules", "Write the rules that the traces prove."),
    "curve": ("curve", "Show what one tool would have saved, and how often stale, by age."),
    "verify": ("verify", "Replay the calls under rules and compare what would be served."),
    "diff": ("diff", "Compare two analyses: traces, stores or saved reports."),
    "report": ("report", "Show a saved JSON report in any format."),
    "ingest": ("ingest", "Load spans into a DuckDB file."),
    "explain": ("explain", "Explain a word, a call, an identity, a rule or a tool."),
    "config": ("show_config", "Show the settings in effect and their origin."),
}
"""By name the module of ``visceral_cli.cli``, whose function has the same name, and what the list
of the commands says of it."""


class LazyGroup(TyperGroup):
    """A group that builds a command when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return take_as_typed(super().get_params(ctx), self.callback)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list without building any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


class _Commands(MutableMapping[str, Any]):
    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            module, _ = COMMANDS[name]
            function = getattr(import_module(f"visceral_cli.cli.{module}"), module)
            alone = typer.Typer(
                rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False
            )
            alone.command(name, cls=GroupedCommand)(function)
            self._built[name] = typer.main.get_command(alone)
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)
