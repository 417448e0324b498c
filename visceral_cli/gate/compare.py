"""Two analyses → what is new, gone, grown and shrunk, and which of it is more than noise.

A difference counts only when its interval says so. A run (trace) is one observation, since calls of
one run resemble each other: repeats and seconds are compared for each 1,000 runs with the intervals
of `analysis.projection`, and an identity by the share of runs that call it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import NormalDist

import msgspec

from visceral_cli.analysis.figures import GroupFigures, Projection, ToolFigures
from visceral_cli.analysis.run_rates import RunFigures

CONFIDENCE = 0.95
"""That of the intervals of a projection. With it a difference must be told from none; it is shared
over all that are compared at once."""

MIN_RUNS = 20
"""Below these no interval is given."""

_BATCHES_DEGREES = 9


class Direction(StrEnum):
    """How something differs."""

    NEW = "new"
    GONE = "gone"
    GROWN = "grown"
    SHRUNK = "shrunk"
    SAME = "same"


class Measured(msgspec.Struct, frozen=True):
    """What is compared of one analysis."""

    runs: int
    per_run: Sequence[RunFigures]
    """The first row is of all tools together."""
    tools: Sequence[ToolFigures]
    groups: Sequence[GroupFigures]


class Difference(msgspec.Struct, frozen=True):
    """One figure before and after, for each 1,000 runs."""

    before: float
    after: float
    low: float | None
    """The interval of after minus before; ``None`` where there are too few runs for one."""
    high: float | None

    @property
    def is_more(self) -> bool:
        """Whether it grew by more than noise."""
        return self.low is not None and self.low > 0

    @property
    def is_less(self) -> bool:
        """Whether it shrank by more than noise."""
        return self.high is not None and self.high < 0

    @property
    def is_told(self) -> bool:
        """Whether there were enough runs to tell."""
        return self.low is not None


class ToolChange(msgspec.Struct, frozen=True):
    """One tool before and after; empty names: all tools together."""

    namespace: str
    tool: str
    kind: str
    direction: Direction
    """``new`` and ``gone`` say whether it is called, ``grown`` and ``shrunk`` speak of repeats or
    their seconds beyond noise."""
    calls_before: int
    calls_after: int
    repeats: Difference
    seconds: Difference
    """Of the repeats with the same result."""


class GroupChange(msgspec.Struct, frozen=True):
    """One identity before and after."""

    namespace: str
    tool: str
    kind: str
    version: str | None
    input_hash: str
    direction: Direction
    repeats_before: int
    repeats_after: int
    runs: Difference
    """In how many of 1,000 runs it is called."""

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the share of runs that call it differs by more than noise."""
        return self.runs.is_more or self.runs.is_less


class Comparison(msgspec.Struct, frozen=True):
    """What changed between two analyses."""

    runs_before: int
    runs_after: int
    total: ToolChange
    tools: tuple[ToolChange, ...]
    """Of all tools of either, most different repeats first."""
    groups: tuple[GroupChange, ...]
    """Groups with a repeat that are new, gone, grown or shrunk; most different first."""


def compare(before: Measured, after: Measured) -> Comparison:
    """Return what changed from ``before`` to ``after``."""
    return Comparison(
        runs_before=before.runs,
        runs_after=after.runs,
        total=_tool_change(("", "", ""), before, after, compared=1),
        tools=tuple(_tools(before, after)),
        groups=tuple(_groups(before, after)),
    )


def _tools(before: Measured, after: Measured) -> list[ToolChange]:
    names = {(tool.namespace, tool.tool, tool.kind) for tool in (*before.tools, *after.tools)}
    changes = [_tool_change(name, before, after, compared=len(names)) for name in sorted(names)]
    changes.sort(key=lambda change: -abs(change.repeats.after - change.repeats.before))
    return changes


def _tool_change(
    name: tuple[str, str, str], before: Measured, after: Measured, *, compared: int
) -> ToolChange:
    calls = [_calls_of(name, one) for one in (before, after)]
    rows = [_row_of(name, one) for one in (before, after)]
    repeats = _difference(rows[0].repeats, rows[1].repeats, compared)
    seconds = _difference(rows[0].repeat_seconds, rows[1].repeat_seconds, compared)
    return ToolChange(
        *name,
        _tool_direction(calls, repeats, seconds),
        calls[0],
        calls[1],
        repeats,
        seconds,
    )


def _tool_direction(calls: Sequence[int], repeats: Difference, seconds: Difference) -> Direction:
    if not calls[0] or not calls[1]:
        return Direction.NEW if calls[1] else Direction.GONE if calls[0] else Direction.SAME
    if repeats.is_more or (seconds.is_more and not repeats.is_less):
        return Direction.GROWN
    return Direction.SHRUNK if repeats.is_less or seconds.is_less else Direction.SAME


def _calls_of(name: tuple[str, str, str], measured: Measured) -> int:
    return sum(
        tool.calls
        for tool in measured.tools
        if not any(name) or (tool.namespace, tool.tool, tool.kind) == name
    )


def _row_of(name: tuple[str, str, str], measured: Measured) -> RunFigures:
    for row in measured.per_run:
        if (row.namespace, row.tool, row.kind) == name:
            return row
    end = 0.0 if measured.runs >= MIN_RUNS else None
    nothing = Projection(0.0, end, end, measured.runs)
    return RunFigures(*name, nothing, nothing, None)


def _difference(before: Projection, after: Projection, compared: int) -> Difference:
    """Return the difference of two independent means, as Student's t and Welch have it."""
    margins = [_margin(one) for one in (before, after)]
    if margins[0] is None or margins[1] is None:
        return Difference(before.mean, after.mean, None, None)
    margin = math.hypot(margins[0], margins[1]) * _wider(compared)
    changed = after.mean - before.mean
    return Difference(before.mean, after.mean, changed - margin, changed + margin)


def _margin(projection: Projection) -> float | None:
    return None if projection.high is None else projection.high - projection.mean


def _wider(compared: int) -> float:
    """Return by how much an interval is wider when ``compared`` of them shall all hold.

    The level is shared (Bonferroni); the points are those of Student's t with the degrees of
    freedom of a projection.
    """
    if compared <= 1:
        return 1.0
    import scipy.special  # noqa: PLC0415 - a quarter of a second, and often not needed

    level = 1 - CONFIDENCE
    points = scipy.special.stdtrit(_BATCHES_DEGREES, [1 - level / 2 / compared, 1 - level / 2])
    return float(points[0] / points[1])


_GroupKey = tuple[str, str, str, str | None, str, int]


def _groups(before: Measured, after: Measured) -> list[GroupChange]:
    was, now = _by_key(before.groups), _by_key(after.groups)
    keys = was.keys() | now.keys()
    changes = [
        change
        for key in sorted(keys, key=lambda key: tuple(map(str, key)))
        for change in _group_change(key, was, now, (before.runs, after.runs), len(keys))
    ]
    changes.sort(key=lambda c: (-abs(c.repeats_after - c.repeats_before), c.input_hash))
    return changes


def _by_key(groups: Sequence[GroupFigures]) -> dict[_GroupKey, tuple[int, int]]:
    """Return repeats and traces of each identity; groups of single traces are added up."""
    found: dict[_GroupKey, tuple[int, int]] = {}
    for group in groups:
        key = (
            group.namespace,
            group.tool,
            group.kind,
            group.version,
            group.input_hash,
            group.hash_v,
        )
        repeats, traces = found.get(key, (0, 0))
        found[key] = (repeats + group.repeats, traces + group.traces)
    return found


def _group_change(
    key: _GroupKey,
    was: Mapping[_GroupKey, tuple[int, int]],
    now: Mapping[_GroupKey, tuple[int, int]],
    runs: tuple[int, int],
    compared: int,
) -> Iterator[GroupChange]:
    nothing = (0, 0)
    repeats_before, traces_before = was.get(key, nothing)
    repeats_after, traces_after = now.get(key, nothing)
    difference = _share_difference(
        # What does not repeat may have been called once, in one run.
        (traces_before if key in was else min(1, runs[0]), runs[0]),
        (traces_after if key in now else min(1, runs[1]), runs[1]),
        compared,
    )
    direction = Direction.SAME
    if key not in was or key not in now:
        direction = Direction.NEW if key in now else Direction.GONE
    elif difference.is_more:
        direction = Direction.GROWN
    elif difference.is_less:
        direction = Direction.SHRUNK
    if direction is not Direction.SAME:
        yield GroupChange(*key[:5], direction, repeats_before, repeats_after, difference)


def _share_difference(before: tuple[int, int], after: tuple[int, int], compared: int) -> Difference:
    """Return the difference of two shares of runs, for each 1,000, by Newcombe's method 10 (1998).

    It joins the score intervals of Wilson of the two shares.
    """
    shares = [1000 * part / whole if whole else 0.0 for part, whole in (before, after)]
    if min(before[1], after[1]) < MIN_RUNS:
        return Difference(shares[0], shares[1], None, None)
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(compared, 1))
    (low_1, p_1, high_1), (low_2, p_2, high_2) = (_wilson(*one, z) for one in (before, after))
    low = p_2 - p_1 - math.hypot(p_2 - low_2, high_1 - p_1)
    high = p_2 - p_1 + math.hypot(high_2 - p_2, p_1 - low_1)
    return Difference(shares[0], shares[1], 1000 * low, 1000 * high)


def _wilson(part: int, whole: int, z: float) -> tuple[float, float, float]:
    share = part / whole
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(share * (1 - share) / whole + (z / (2 * whole)) ** 2) / (1 + z * z / whole)
    return max(0.0, middle - half), share, min(1.0, middle + half)
