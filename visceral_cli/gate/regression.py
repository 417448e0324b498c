"""What a comparison with an earlier analysis found → cases: new and worse, beyond noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from visceral_cli.gate.check import exact, rounded
from visceral_cli.gate.compare import (
    MIN_RUNS,
    Comparison,
    Difference,
    Direction,
    GroupChange,
    ToolChange,
)
from visceral_cli.gate.finding import Case, CheckKind, Evidence, State, Subject

_PER_RUNS = "for each 1,000 runs"


def regression_cases(comparison: Comparison) -> list[Case]:
    """Return two cases for all tools, two for each tool that is called, and the worse groups.

    A group that is new or grown, but not by more than noise, is no case: with other arguments
    there is always one.
    """
    cases = [*_tool_cases(comparison.total, comparison)]
    for tool in comparison.tools:
        if tool.calls_after:
            cases += _tool_cases(tool, comparison)
    return cases + [case for group in comparison.groups for case in _group_cases(group)]


def _tool_cases(change: ToolChange, comparison: Comparison) -> Iterator[Case]:
    subject = Subject(change.namespace, change.tool)
    for kind, difference, unit in (
        (CheckKind.MORE_REPEATS, change.repeats, "repeats"),
        (CheckKind.MORE_TIME, change.seconds, "s of repeats with the same result"),
    ):
        if not difference.is_told:
            runs = f"{comparison.runs_before:,} runs before, {comparison.runs_after:,} now"
            yield Case(
                kind,
                subject,
                State.UNJUDGED,
                f"too few calls to tell: {runs}, {MIN_RUNS} needed",
            )
            continue
        yield Case(
            kind,
            subject,
            State.BROKEN if difference.is_more else State.KEPT,
            in_words(difference, unit),
            interval_text(difference),
            measured=_beyond(difference),
        )


def _group_cases(change: GroupChange) -> Iterator[Case]:
    if not change.runs.is_more:
        return
    is_new = change.direction is Direction.NEW
    yield Case(
        CheckKind.NEW_GROUP if is_new else CheckKind.GROWN_GROUP,
        Subject(change.namespace, change.tool, change.input_hash),
        State.BROKEN,
        f"{change.repeats_before:,} repeats before, {change.repeats_after:,} now; called in "
        + in_words(change.runs, "runs"),
        interval_text(change.runs),
        (Evidence(f"{change.repeats_after:,} repeats", change.tool, input_hash=change.input_hash),),
        measured=_beyond(change.runs),
    )


def _beyond(difference: Difference) -> Fraction:
    return exact(difference.after)


def in_words(difference: Difference, unit: str) -> str:
    """Return ``12.0 repeats for each 1,000 runs before, 30.0 now``."""
    before, after = (_shown(value) for value in (difference.before, difference.after))
    return f"{before} {unit} {_PER_RUNS} before, {after} now"


def interval_text(difference: Difference) -> str:
    """Return the interval of the change; empty without one."""
    if difference.low is None or difference.high is None:
        return ""
    low, high = _signed(difference.low), _signed(difference.high)
    return f"changed by {low} to {high} with 95% confidence"


def _shown(value: float) -> str:
    return rounded(exact(value), 1)


def _signed(value: float) -> str:
    shown = _shown(value)
    return shown if shown.startswith("-") else f"+{shown}"
