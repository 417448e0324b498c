"""The serves of one replay, compared: stored result against the real one.

One stored result is one observation, however many calls it served: what made one of its serves
stale makes the later ones stale as well. Serves are counted in **cells**: those of one stored
result in one block of the history.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.history import Codes, Flags, Places, Times, count_distinct
from visceral_cli.analysis.lanes import Lanes
from visceral_cli.analysis.proof import upper_bound
from visceral_cli.analysis.replay import replay


class Cells(msgspec.Struct, frozen=True):
    """One element per cell, in order of lane and time."""

    serves: Places
    stale: Places
    lane: Codes
    asked: Codes
    """The question: the lane, or one number for all lanes in which the same was asked."""
    block: Places
    result: Places
    """The first cell of each stored result that served."""


class Compared(msgspec.Struct, frozen=True):
    """The serves of one freshness whose real result is known, in order of lane and time."""

    lanes: Lanes
    call: Places
    source: Places
    stale: Flags
    cells: Cells

    @property
    def ages_ns(self) -> Times:
        """Return the age of each served result."""
        ages: Times = self.lanes.start_ns[self.call] - self.lanes.start_ns[self.source]
        return ages


class Tally(msgspec.Struct, frozen=True):
    """Serves, counted."""

    serves: int
    stale: int
    results: int
    """Stored results that served."""
    observations: float
    """Effective number of these."""

    @property
    def stale_observations(self) -> float:
        """Return how many of the observations were stale, in effect."""
        return self.observations * self.stale / self.serves if self.serves else 0.0


def compare(
    lanes: Lanes, freshness_ns: int, blocks: Places, *, unlike: Codes | None = None
) -> Compared:
    """Replay with this freshness and compare what can be compared.

    ``blocks``: the block of each row of ``ToolCalls``, from 0. ``unlike``: a code of each row;
    only serves whose call and source have different ones are counted.
    """
    serves = replay(lanes, freshness_ns)
    call, source = serves.call, serves.source
    if unlike is not None:
        other = np.flatnonzero(unlike[lanes.row[call]] != unlike[lanes.row[source]])
        call, source = call[other], source[other]
    if lanes.unknown:
        known = np.flatnonzero(lanes.content[call] >= 0)
        call, source = call[known], source[known]
    if lanes.changing:
        stale = lanes.content[call] != lanes.content[source]
    else:
        stale = np.zeros(len(call), dtype=np.bool_)
    return Compared(lanes, call, source, stale, _cells(lanes, call, source, stale, blocks))


def only(compared: Compared, chosen: Flags, blocks: Places) -> Compared:
    """Return some of the serves, such as those with a write between; ``blocks`` as in `compare`."""
    lanes = compared.lanes
    call, source, stale = compared.call[chosen], compared.source[chosen], compared.stale[chosen]
    return Compared(lanes, call, source, stale, _cells(lanes, call, source, stale, blocks))


def _cells(lanes: Lanes, call: Places, source: Places, stale: Flags, blocks: Places) -> Cells:
    if not len(call):
        none = lanes.lane[call]
        return Cells(call, call, none, none, call, call)
    begins = np.ones(len(call), dtype=np.bool_)
    begins[1:] = source[1:] != source[:-1]
    if not stale.any():
        first = np.flatnonzero(begins)
        result, stale_serves = np.arange(len(first)), np.zeros(len(first), dtype=np.int64)
    else:
        block = blocks[lanes.row[call]]
        begins_block = begins.copy()
        begins_block[1:] |= block[1:] != block[:-1]
        first = np.flatnonzero(begins_block)
        result = np.flatnonzero(begins[first])
        stale_serves = np.add.reduceat(stale, first, dtype=np.int64)
    edges = np.append(first, len(call))
    lane = lanes.lane[call[first]]
    return Cells(
        serves=edges[1:] - edges[:-1],
        stale=stale_serves,
        lane=lane,
        asked=lane if lanes.question is None else lanes.question[lane],
        block=blocks[lanes.row[call[first]]],
        result=result,
    )


def last_ages_ns(compared: Compared) -> Times:
    """Return, for each stored result that served, the largest age it was compared at."""
    cells, starts = compared.cells, compared.lanes.start_ns
    if not len(cells.serves):
        return cells.serves
    last = np.cumsum(cells.serves)[np.append(cells.result[1:], len(cells.serves)) - 1] - 1
    ages: Times = starts[compared.call[last]] - starts[compared.source[last]]
    return ages


def runs_served(compared: Compared) -> int:
    """Return how many runs had a serve."""
    return count_distinct(compared.lanes.run[compared.call])


def tally(cells: Cells, counted: Flags | None = None) -> Tally:
    """Count the serves of all cells, or of those marked."""
    if not len(cells.serves):
        return Tally(0, 0, 0, 0.0)
    serves, stale = cells.serves, cells.stale
    if counted is not None:
        serves, stale = serves * counted, stale * counted
    per_result = np.add.reduceat(serves, cells.result)
    return Tally(
        serves=int(serves.sum()),
        stale=int(stale.sum()),
        results=int(np.count_nonzero(per_result)),
        observations=binomial.effective(per_result),
    )


class Cut(msgspec.Struct, frozen=True):
    """Which cells count where some serves were stale, and which identities have shown to change."""

    counted: Flags
    volatile: Codes
    """Lanes; ascending."""


def cut(cells: Cells, rate: float, delta: float) -> Cut:
    """Count the cells after the first block, of questions not yet known to be volatile.

    A question is volatile once its stale serves prove, at confidence 1 - delta, that more than
    ``rate`` of its serves are stale, whoever they were for: a rule names questions and not users.
    Where no serve was stale, all cells count.
    """
    stale = cells.stale > 0
    changing = np.unique(cells.asked[stale])
    if not len(changing):
        return Cut(np.ones(len(cells.serves), dtype=np.bool_), changing)
    counted = cells.block > 0
    nth = np.minimum(np.searchsorted(changing, cells.asked), len(changing) - 1)
    those = np.flatnonzero(changing[nth] == cells.asked)
    width = int(cells.block[those].max()) + 1
    slot, size = nth[those] * width + cells.block[those], len(changing) * width

    def up_to_each_block(counts: Places) -> Places:
        of_block = np.bincount(slot, weights=counts[those], minlength=size)
        return of_block.reshape(-1, width).cumsum(axis=1).astype(np.int64)

    volatile = binomial.exceeds(
        up_to_each_block(cells.stale), up_to_each_block(cells.serves), rate, delta
    )
    before = np.zeros_like(volatile)
    before[:, 1:] = volatile[:, :-1]
    counted[those] &= ~before.ravel()[slot]
    lanes = cells.lane[those][volatile[:, -1][nth[those]]]
    return Cut(counted, np.unique(lanes))


def counted_tally(cells: Cells, rate: float, delta: float) -> Tally:
    """Count the serves that count: all, or those of the cut where any was stale."""
    everything = tally(cells)
    return tally(cells, cut(cells, rate, delta).counted) if everything.stale else everything


def passing_rate(cells: Cells, above: float, delta: float, *, anytime: bool = False) -> float:
    """Return the smallest tolerated rate, from ``above`` on, at which these serves pass; else 1.

    A larger rate leaves fewer identities out, so the bound is taken anew until the rate holds.
    """
    rate = above
    for _ in range(20):
        counts = counted_tally(cells, rate, delta)
        observed = counts.observations
        bound = upper_bound(counts.stale_observations, observed, delta, anytime=anytime)
        # Whole observations, as ``needed`` asks for.
        bound = max(bound, upper_bound(0, math.floor(observed), delta, anytime=anytime))
        if bound <= rate:
            return rate
        rate = bound
    return 1.0
