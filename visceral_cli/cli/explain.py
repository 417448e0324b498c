"""visceral explain: what a word in a report means."""

from __future__ import annotations

from typing import Annotated

import typer

from visceral_cli.cli.complete import complete_page

WhatArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[WHAT]",
        autocompletion=complete_page,
        help="A verdict, finding, refusal, reason or topic; without it all are listed.",
        show_default=False,
    ),
]


def explain(what: WhatArgument = None) -> None:
    """Explain a word of a report, or a topic."""
    from visceral_cli.report import explain as pages
    from visceral_cli.report.output import write_output

    if what is None:
        text = pages.contents()
    else:
        text = pages.explain(what, inserts={"conventions": _conventions()})
    write_output(None, lambda out: out.write(text.encode()))


def _conventions() -> str:
    """Return a line for each convention: its name, and the attributes it takes arguments from."""
    from visceral_cli.calls.conventions import CONVENTIONS

    width = max(len(convention.name) for convention in CONVENTIONS)
    return "\n".join(
        f"  {convention.name:<{width}}  {', '.join(convention.arguments[:2]) or '-'}"
        for convention in CONVENTIONS
    )
