"""What the shell completes beyond commands and options: words to choose from, tools of a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer


def complete_format(incomplete: str) -> list[str]:
    """Return output formats."""
    from visceral_cli.report.view import Format

    return [word for word in Format if word.startswith(incomplete)]


def complete_rows(incomplete: str) -> list[str]:
    """Return what a row can be."""
    from visceral_cli.report.view import Rows

    return [word for word in Rows if word.startswith(incomplete)]


def complete_scope(incomplete: str) -> list[str]:
    """Return scopes."""
    return [word for word in ("all", "trace") if word.startswith(incomplete)]


def complete_color(incomplete: str) -> list[str]:
    """Return when to use colour."""
    return [word for word in ("auto", "always", "never") if word.startswith(incomplete)]


def complete_page(incomplete: str) -> list[str]:
    """Return what can be explained."""
    from visceral_cli.report.explain import pages

    return sorted({page.name for page in pages() if page.name.startswith(incomplete)})


def complete_tool(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tools of the store that the command line names; none when there is no store.

    Completion must never disturb the line being typed, so whatever goes wrong means no proposal.
    """
    try:
        return sorted(name for name in _tools(context.params) if name.startswith(incomplete))
    except Exception:  # noqa: BLE001  # a shell shows a traceback in the middle of the line
        return []


def _tools(options: Mapping[str, object]) -> list[str]:
    from visceral_cli.cli.config import load_configuration
    from visceral_cli.cli.setting_keys import INPUTS, STORE
    from visceral_cli.store.database import is_store, open_store

    configuration = load_configuration(options)
    named = [*configuration.get(INPUTS), configuration.get(STORE)]
    stores = [Path(place) for place in named if place is not None and is_store(Path(place))]
    if not stores:
        return []
    with open_store(stores[0]) as store:
        return [name for (name,) in store.execute("SELECT DISTINCT tool FROM tool_call").fetchall()]
