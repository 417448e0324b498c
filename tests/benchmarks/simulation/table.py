"""The results of many dumps as one table in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from simulation.one_dump import SETTINGS, DumpResult
from simulation.processes import PROCESSES, Danger, Process
from visceral_cli.analysis import binomial

HEADINGS = (
    "process",
    "dumps",
    "with a rule",
    "freshness",
    "too often stale",
    "95% interval",
    "of the oracle's savings",
    "of what the span allows",
    "its warning",
    "where too often stale",
)


def exceeding(results: Iterable[DumpResult]) -> list[DumpResult]:
    """Return the dumps whose rule is stale more often than it promises."""
    return [one for one in results if one.stale_rate > SETTINGS.freshness.max_stale_rate]


def captured(results: Sequence[DumpResult], *, within_span: bool = False) -> float:
    """Return the mean share of the oracle's savings, a dump without a rule being 0.

    What a rule takes beyond the oracle, by being too often stale, does not count.
    """
    shares = []
    for one in results:
        most = one.oracle_within_span_seconds if within_span else one.oracle_seconds
        shares.append(min(1.0, one.saved_seconds / most) if most else 0.0)
    return sum(shares) / len(shares)


def table_of(results: Sequence[DumpResult], runs: int) -> str:
    """Return the table of the dumps with so many runs."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" + "|--:" * (len(HEADINGS) - 1) + "|"]
    for process in PROCESSES:
        of_process = [one for one in results if (one.process, one.runs) == (process.name, runs)]
        if of_process:
            lines.append("| " + " | ".join(_row(process, of_process)) + " |")
    return "\n".join(lines) + "\n"


def _row(process: Process, results: Sequence[DumpResult]) -> list[str]:
    ruled = [one for one in results if one.freshness_seconds is not None]
    wrong = exceeding(ruled)
    ages = sorted(one.freshness_seconds or 0.0 for one in ruled)
    count, of = len(wrong), len(ruled)
    interval = "-"
    if ruled:
        low, high = binomial.lower(count, of, 0.025), binomial.upper(count, of, 0.025)
        interval = f"{low:.1%} to {high:.1%}"
    return [
        process.name,
        str(len(results)),
        _percent(of, len(results)),
        _duration(ages[of // 2]) if ruled else "-",
        f"{count / of:.1%}" if ruled else "-",
        interval,
        f"{captured(results):.0%}",
        f"{captured(results, within_span=True):.0%}",
        _told(process.danger, ruled),
        _told(process.danger, wrong),
    ]


def _told(danger: Danger | None, results: Sequence[DumpResult]) -> str:
    if danger is None or not results:
        return ""
    return _percent(sum(danger.is_told(one.warnings) for one in results), len(results))


def _percent(count: int, of: int) -> str:
    return f"{count / of:.0%}"


def _duration(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def with_table(page: str, table: str, runs: int) -> str:
    """Return the page with this table in the place of the one under the heading of these runs."""
    heading = f"## {runs:,} runs\n"
    before, found, after = page.partition(heading)
    if not found:
        raise ValueError(f"the page has no heading {heading!r}")
    text, rest = re.split(r"(?m)^(?=\|)", after, maxsplit=1)
    rows, *below = re.split(r"(?m)^(?!\|)", rest, maxsplit=1)
    del rows
    return "".join((before, heading, text, table, *below))
