"""``visceral rules --for``: rules as settings of another program's cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from visceral_cli.cli.session import Session, choice
from visceral_cli.errors import UsageError

if TYPE_CHECKING:
    from visceral_cli.contract.rule import Rule
    from visceral_cli.rules.exports.target import Target

_NOT_BESIDE_FOR = {
    "include_candidates": "nothing may serve a candidate",
    "with_results": "its cache fills itself",
}
_NOT_BESIDE_RULES = ("inputs", "exclude", "since", "until", "tool", "store", "key_file")


def chosen_target(session: Session) -> Target | None:
    """Return whose settings are asked for; ``None``: the rules themselves.

    Raises:
        UsageError: other options contradict it.
    """
    from visceral_cli.rules.exports.target import Target

    options = session.options
    named, rules_file = options.get("target"), options.get("from_rules")
    if named is None:
        if rules_file is not None:
            raise UsageError(
                "--rules is only for --for", hint="visceral verify --rules FILE replays rules"
            )
        return None
    target = Target(choice("--for", named, tuple(Target)))
    for parameter, why in _NOT_BESIDE_FOR.items():
        if options.get(parameter):
            raise UsageError(f"--for and {_option(parameter)} exclude each other", hint=why)
    if rules_file is not None:
        for parameter in _NOT_BESIDE_RULES:
            if options.get(parameter):
                raise UsageError(
                    f"--rules and {_option(parameter)} exclude each other",
                    hint="give the rules or the traces that prove them",
                )
    return target


def rules_of(session: Session) -> list[Rule] | None:
    """Return the rules of the file that ``--rules`` names; ``None``: it names none.

    Raises:
        UsageError: it cannot be read, or holds a rule that no client would use.
    """
    from visceral_cli.rules.rules_file import load_rules

    named = session.options.get("from_rules")
    return None if named is None else load_rules(Path(str(named)))


def write_settings(session: Session, rules: Sequence[Rule], target: Target) -> None:
    """Write the settings, and say how much of the rules they hold."""
    from visceral_cli.report.output import write_output
    from visceral_cli.report.quantities import counted
    from visceral_cli.rules.exports.cached_tool import select_tools
    from visceral_cli.rules.exports.export import settings_text
    from visceral_cli.rules.exports.target import TITLES

    selection = select_tools(rules, target)
    text = settings_text(selection, target)
    write_output(session.place(), lambda out: out.write(text.encode("ascii")))
    kept = counted(len(rules) - selection.rules_left_out, "rule")
    said = f"{kept} of {counted(len(selection.tools), 'tool')} for {TITLES[target]}"
    if selection.rules_left_out:
        said += f", {selection.rules_left_out:,} left out: the comments in it say why"
    session.terminal.note(said)


def _option(parameter: str) -> str:
    return "INPUT" if parameter == "inputs" else f"--{parameter.replace('_', '-')}"
