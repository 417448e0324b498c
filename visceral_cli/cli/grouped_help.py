"""``--help`` with its options under headings, in plain text: Rich would treble the start-up."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from visceral_cli.cli.as_typed import take_as_typed


class GroupedCommand(TyperCommand):
    """A command whose help lists its options under their headings."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return take_as_typed(super().get_params(ctx), self.callback)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, one section a heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            heading = getattr(parameter, "rich_help_panel", None)
            default = "Arguments" if parameter.param_type_name == "argument" else "General"
            sections.setdefault(heading or default, []).append((name.split(" <")[0], text))
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
