"""What the shell completes beyond commands and options: words to choose from, tools of a store."""

from __future__ import annotations

from pathlib import Path

import typer


def complete_format(incomplete: str) -> list[str]:
    """Return the formats of a report."""
    from visceral_cli.report.format_choice import REPORT_FORMATS

    return [word for word in REPORT_FORMATS if word.startswith(incomplete)]


def complete_check_format(incomplete: str) -> list[str]:
    """Return the formats of a check."""
    from visceral_cli.report.format_choice import CHECK_FORMATS

    return [word for word in CHECK_FORMATS if word.startswith(incomplete)]


def complete_diff_format(incomplete: str) -> list[str]:
    """Return the formats of a diff."""
    from visceral_cli.report.format_choice import DIFF_FORMATS

    return [word for word in DIFF_FORMATS if word.startswith(incomplete)]


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


def complete_what(context: typer.Context, incomplete: str) -> list[str]:
    """Return what can be explained: words of a report, and tools of a store."""
    from visceral_cli.report.explain.pages import pages

    words = {page.name for page in pages() if page.name.startswith(incomplete)}
    return sorted(words.union(complete_tool(context, incomplete)))


def complete_tool(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tools of the store that the command line names; none when there is no store.

    Completion must never disturb the line being typed, so whatever goes wrong means no proposal.
    """
    try:
        return [name for name in _tools(context) if name.startswith(incomplete)]
    except Exception:  # noqa: BLE001  # a shell shows a traceback in the middle of the line
        return []


def _tools(context: typer.Context) -> list[str]:
    from visceral_cli.cli.config import load_configuration
    from visceral_cli.cli.setting_keys import INPUTS, STORE
    from visceral_cli.store.database import is_store, tool_names

    configuration = load_configuration(context.params)
    # While an option lacks its value, the inputs before it are not parsed yet, only kept as words.
    named = [*configuration.get(INPUTS), *context.args, configuration.get(STORE)]
    stores = [Path(place) for place in named if place is not None and is_store(Path(place))]
    return tool_names(stores[0]) if stores else []
