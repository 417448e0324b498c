"""The tables of the page: rows of cells, each with the value by which it is sorted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from visceral_cli.analysis.figures import GroupFigures, Projection, SharingFigures, ToolSaving
from visceral_cli.report.overview import ToolLine, shared_text
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted, money_text, rate_text, seconds_text
from visceral_cli.report.report import BoundFigures, Report
from visceral_cli.report.row_tables import HASH_DIGITS, RowTable, namespaces
from visceral_cli.rules.refusal import Refusal

ToolKey = tuple[str, str, str]


class Cell(msgspec.Struct, frozen=True):
    """One cell."""

    text: str
    value: float | str | None = None
    """By which it is sorted; ``None``: by its text."""
    note: str = ""
    """A second line, in small."""
    path: str = ""
    """Where the value stands in the JSON report."""


class Heading(msgspec.Struct, frozen=True):
    """The heading of a column."""

    text: str
    is_number: bool = False
    is_long: bool = False
    """Whether its cells hold sentences."""


class PageTable(msgspec.Struct, frozen=True):
    """A table of the page."""

    name: str
    """The id of its section."""
    title: str
    headings: tuple[Heading, ...]
    rows: tuple[tuple[Cell, ...], ...]
    rows_in_all: int
    sorts: bool = False

    @property
    def left_out(self) -> int:
        """Return how many rows are not shown."""
        return self.rows_in_all - len(self.rows)


_TOOL_HEADINGS = (
    Heading("tool"),
    Heading("calls", True),
    Heading("repeats", True),
    Heading("same result", True),
    Heading("same-result time", True),
    Heading("avoidable", True),
    Heading("freshness", is_long=True),
    Heading("evidence", is_long=True),
    Heading("why no rule", is_long=True),
)


def tool_table(report: Report, lines: Sequence[ToolLine], top: int) -> PageTable:
    """Return the tools, in the order of the report."""
    savings = {(s.namespace, s.tool, s.kind): nth for nth, s in enumerate(report.savings.by_tool)}
    bounds = {(bound.namespace, bound.tool, bound.kind): bound for bound in report.bounds}
    sharing = {(one.namespace, one.tool, one.kind): one for one in report.sharing}
    refusals: defaultdict[tuple[str, str], list[Refusal]] = defaultdict(list)
    for refusal in report.refusals:
        refusals[refusal.namespace, refusal.tool].append(refusal)
    several = len(namespaces(report)) > 1
    shown = lines if top == 0 else lines[:top]
    rows = []
    for nth, line in enumerate(shown):
        tool = line.figures
        key = (tool.namespace, tool.tool, tool.kind)
        place = savings.get(key)
        rows.append(
            (
                _name_cell(tool.tool, tool.namespace if several else "", tool.kind),
                _count(tool.calls, f"tools.{nth}.calls"),
                _count(tool.repeats, f"tools.{nth}.repeats"),
                _count(tool.same_result, f"tools.{nth}.same_result"),
                _seconds(tool.repeat_seconds, f"tools.{nth}.repeat_seconds"),
                _avoidable(report.savings.by_tool, place),
                Cell(plain(line.freshness)),
                Cell(_evidence(bounds.get(key)), note=_shared(sharing.get(key))),
                Cell(_why_no_rule(refusals[tool.namespace, tool.tool])),
            )
        )
    return PageTable("tools", "Tools", _TOOL_HEADINGS, tuple(rows), len(lines), sorts=True)


def _name_cell(tool: str, namespace: str, kind: str) -> Cell:
    parts = [plain(namespace)] if namespace else []
    if kind != "tool":
        parts.append(plain(kind))
    return Cell(plain(tool), note=", ".join(parts))


def _count(count: int, path: str) -> Cell:
    return Cell(f"{count:,}", count, path=path)


def _seconds(seconds: float, path: str) -> Cell:
    return Cell(seconds_text(seconds), seconds if seconds == seconds else -1.0, path=path)


def _avoidable(savings: Sequence[ToolSaving], place: int | None) -> Cell:
    if place is None:
        return Cell("-", 0.0)
    saving = savings[place]
    path = f"savings.by_tool.{place}.seconds"
    interval = interval_text(saving.seconds_per_1000_runs)
    note = f"95%: {interval}" if interval else ""
    return Cell(seconds_text(saving.seconds), saving.seconds, note, path)


def interval_text(projection: Projection | None) -> str:
    """Return the interval of what these runs would have saved; empty where none is known."""
    if projection is None or projection.low is None or projection.high is None:
        return ""
    low, high = (end * projection.runs / 1000 for end in (projection.low, projection.high))
    return f"{seconds_text(low)} to {seconds_text(high)}"


def _evidence(bound: BoundFigures | None) -> str:
    if bound is None or not bound.serves:
        return ""
    rate = bound.stale_rate_at_most
    at_most = "" if rate is None else f"; at most {rate_text(rate)} stale"
    serves, runs = counted(bound.serves, "serve"), counted(bound.runs, "run")
    return f"{serves} in {runs}, {bound.stale:,} stale{at_most}"


def _shared(sharing: SharingFigures | None) -> str:
    if sharing is None:
        return ""
    return f"shared {shared_text(sharing.scope)}: {plain(sharing.why, longest=200)}"


def _why_no_rule(refusals: Sequence[Refusal]) -> str:
    whole = [refusal for refusal in refusals if refusal.input_hash is None]
    if whole:
        return plain(whole[0].message, longest=200)
    kinds = Counter(refusal.kind.value for refusal in refusals)
    return ", ".join(f"{kind}: {count:,} identities" for kind, count in sorted(kinds.items()))


_GROUP_HEADINGS = (
    Heading("tool"),
    Heading("identity"),
    Heading("calls", True),
    Heading("traces", True),
    Heading("repeats", True),
    Heading("same result", True),
    Heading("changed", True),
    Heading("results", True),
    Heading("same-result time", True),
    Heading("same up to", True),
    Heading("changed from", True),
)


def group_table(report: Report, groups: Sequence[GroupFigures]) -> PageTable:
    """Return ``groups``, the first ones of the report."""
    several = len(namespaces(report)) > 1
    rows = tuple(
        _group_row(nth, group, group.namespace if several else "")
        for nth, group in enumerate(groups)
    )
    count = len(report.groups)
    return PageTable("groups", "Groups", _GROUP_HEADINGS, rows, count, sorts=True)


def _group_row(nth: int, group: GroupFigures, namespace: str) -> tuple[Cell, ...]:
    def count(name: str) -> Cell:
        return _count(getattr(group, name), f"groups.{nth}.{name}")

    def age(name: str) -> Cell:
        seconds: float | None = getattr(group, name)
        if seconds is None:
            return Cell("-", -1.0)
        return _seconds(seconds, f"groups.{nth}.{name}")

    return (
        _name_cell(group.tool, namespace, group.kind),
        Cell(group.input_hash[:HASH_DIGITS], group.input_hash),
        count("calls"),
        count("traces"),
        count("repeats"),
        count("same_result"),
        count("changed"),
        count("distinct_results"),
        _seconds(group.repeat_seconds, f"groups.{nth}.repeat_seconds"),
        age("largest_stable_age_seconds"),
        age("smallest_changed_age_seconds"),
    )


def funnel_table(report: Report) -> PageTable:
    """Return the steps of the funnel."""
    rows = tuple(
        (
            Cell(step.name),
            _count(step.calls, f"funnel.{nth}.calls"),
            _seconds(step.tool_seconds, f"funnel.{nth}.tool_seconds"),
            _seconds(step.wall_seconds, f"funnel.{nth}.wall_seconds"),
            Cell("-", -1.0)
            if step.cost_usd is None
            else Cell(money_text(step.cost_usd), step.cost_usd, path=f"funnel.{nth}.cost_usd"),
        )
        for nth, step in enumerate(report.funnel)
    )
    headings = (
        Heading("step"),
        *(Heading(text, True) for text in ("calls", "tool time", "wall clock", "cost")),
    )
    return PageTable("funnel", "Funnel", headings, rows, len(rows))


def text_table(name: str, table: RowTable, top: int) -> PageTable:
    """Return a table of text as it is; at most ``top`` rows, 0 for all."""
    shown = table.rows if top == 0 else table.rows[:top]
    return PageTable(
        name,
        table.title,
        tuple(Heading(column.heading, column.is_number, column.wraps) for column in table.columns),
        tuple(tuple(Cell(column.cell(row)) for column in table.columns) for row in shown),
        len(table.rows),
    )
