"""Results over time: where they first differ, how old they were, and when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from visceral_cli.report.explain.arguments import difference_facts, differs
from visceral_cli.report.explain.difference import Difference, difference_of_texts
from visceral_cli.report.explain.evidence import Evidence, ToolKey
from visceral_cli.report.explain.explanation import Line
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import age_text, counted

_MOST_PAIRS = 100
"""Changed results that are compared."""

_MOST_PATHS = 3


class ChangedPath(msgspec.Struct, frozen=True):
    """A place in which changed results first differ."""

    difference: Difference
    """Of the first such pair: the stored result first."""
    results: int
    """How many of the changed results that were compared."""


def changed_paths(evidence: Evidence, key: ToolKey, input_hash: str | None) -> list[ChangedPath]:
    """Return where changed results first differ, of one identity or of all, most results first."""
    found: dict[str, list[Difference]] = {}
    for pair in evidence.changed_pairs(key, input_hash, most=_MOST_PAIRS):
        difference = difference_of_texts(
            pair.old_result, pair.new_result, show_values=evidence.show_arguments
        )
        if difference is not None:
            found.setdefault(difference.path, []).append(difference)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [ChangedPath(same[0], len(same)) for _, same in ordered]


def path_lines(paths: Sequence[ChangedPath]) -> list[Line]:
    """Return where results first differ, for people."""
    whole = counted(sum(one.results for one in paths), "changed result")
    return [
        Line(
            "" if place else "first difference",
            f"{difference_text(one.difference)}   in {one.results:,} of {whole} compared",
        )
        for place, one in enumerate(paths[:_MOST_PATHS])
    ]


def difference_text(found: Difference) -> str:
    """Return where and how a result differs from the stored one, for people."""
    return f"{plain(found.path, longest=200)}   {differs(found, ('before', 'then'))}"


def path_facts(paths: Sequence[ChangedPath]) -> list[dict[str, Any]]:
    """Return the same as JSON values."""
    return [{"results": one.results, **(difference_facts(one.difference) or {})} for one in paths]


def ages_text(stable_ns: int | None, changed_ns: int | None) -> str:
    """Return how old results were when they were seen unchanged, and changed; both in ns."""
    said = []
    if stable_ns is not None:
        said.append(f"seen unchanged up to {age_text(stable_ns / 1e9)} old")
    if changed_ns is not None:
        said.append(f"changed from {age_text(changed_ns / 1e9)} on")
    return ", ".join(said)


def when(time_ns: int | None) -> str:
    """Return a time in UTC with milliseconds, rounded down; ``-`` where it is not known."""
    if time_ns is None:
        return "-"
    seconds, rest = divmod(time_ns, 1_000_000_000)
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{rest // 1_000_000:03}"
