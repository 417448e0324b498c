"""What a page shows beside the report, out of what the stages found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import msgspec

from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.groups import Groups
from visceral_cli.analysis.serving import Serving
from visceral_cli.analysis.verdicts import CallVerdicts
from visceral_cli.report.page.detail import PageDetail
from visceral_cli.report.page.gather_groups import group_timelines
from visceral_cli.report.page.gather_traces import waterfalls
from visceral_cli.settings import ExtractSettings, Settings
from visceral_cli.store.database import is_store


class PageWanted(msgspec.Struct, frozen=True):
    """That a page is to be written."""

    show_values: bool = False
    """Whether it may hold parts of results."""


def settings_for_page(settings: Settings, inputs: Sequence[str]) -> Settings:
    """Return settings under which a temporary store keeps results, to tell where they differ."""
    if settings.store is not None or settings.extract.keep_text:
        return settings
    if any(is_store(Path(name)) for name in inputs):
        return settings
    return replace(settings, extract=replace(settings.extract, keep_text=True))


def forget_arguments(store: duckdb.DuckDBPyConnection, settings: ExtractSettings) -> None:
    """Remove the texts of arguments, which were kept along with those of results.

    With them an analysis finds more, and the page has the figures of every other format. What
    stays are those of calls with a declared ``vary``, which any analysis keeps.
    """
    declared = [name for name, tool in settings.tools.items() if tool.vary is not None]
    store.execute(
        """
        DELETE FROM argument_text
        WHERE arguments_hash NOT IN (
            SELECT arguments_hash
            FROM tool_call
            WHERE arguments_hash IS NOT NULL
              AND (vary IS NOT NULL OR list_contains($declared::VARCHAR[], tool))
        )
        """,
        {"declared": declared},
    )


def page_detail(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    verdicts: CallVerdicts,
    serving: Serving,
    groups: Groups,
    *,
    show_values: bool,
) -> PageDetail:
    """Return the calls of the groups and traces with most to save; ``groups`` as in the report.

    ``show_values``: whether it may hold parts of results.
    """
    return PageDetail(
        groups=group_timelines(store, calls, verdicts, serving, groups, show_values=show_values),
        traces=waterfalls(store, calls, verdicts, serving),
        under_rules=bool(len(serving.served)),
        shows_values=show_values,
    )
