"""Who asks what and when: the tool calls of many runs, without their results.

A run starts at any moment of its days, makes a geometric number of calls one after the other, with
lognormal gaps, and asks either what it has asked before or something drawn by popularity (Zipf).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
"""Nanoseconds; 0 is where the traces begin."""
Codes = npt.NDArray[np.int64]

SECOND = 1_000_000_000
DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True)
class Shape:
    """How agents ask."""

    mean_calls: float = 8.0
    identities: int = 200
    zipf: float = 0.9
    repeat_share: float = 0.3
    """Of the calls after the first of a run: those that ask what the run has asked before."""
    gap_median_seconds: float = 8.0
    gap_sigma: float = 1.0
    duration_median_seconds: float = 0.4
    duration_sigma: float = 0.5
    burst_mean: float = 1.0
    """How many times in a row a question is asked, on average, ..."""
    burst_gap_seconds: float = 2.0
    """... with this median gap."""
    share_of_one: float | None = None
    """The share of the questions that are the same one; the rest is drawn as ever."""
    life_days: float | None = None
    """How long a question is asked, on average, until a new one takes its place."""
    writer_share: float = 0.0
    """Runs in which a writer changes something that the run asks about."""

    @property
    def popularity(self) -> npt.NDArray[np.float64]:
        """Return the share of each place among the questions that are drawn."""
        weight = 1.0 / np.arange(1, self.identities + 1) ** self.zipf
        shares: npt.NDArray[np.float64] = weight / weight.sum()
        if self.share_of_one is not None:
            rest = shares[1:] / shares[1:].sum() * (1 - self.share_of_one)
            shares = np.concatenate(([self.share_of_one], rest))
        return shares


ORDINARY = Shape()


@dataclass(frozen=True, slots=True)
class Writes:
    """The calls of writers; each changes one identity when it ends."""

    start: Times
    end: Times
    identity: Codes
    run: Codes

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Workload:
    """Calls in order of time; one element per call."""

    start: Times
    end: Times
    identity: Codes
    run: Codes
    identities: int
    """Identities are numbered from 0 to before this."""
    runs: int
    from_time: int
    to_time: int
    """Runs start between these."""
    writes: Writes

    def __len__(self) -> int:
        return len(self.start)

    def renamed(self, first: int) -> Workload:
        """Return the same calls, with identities from ``first`` on."""
        writes = replace(self.writes, identity=self.writes.identity + first)
        return replace(
            self,
            identity=self.identity + first,
            identities=self.identities + first,
            writes=writes,
        )


def make_workload(
    shape: Shape, runs: int, *, from_time: int, to_time: int, rng: np.random.Generator
) -> Workload:
    """Return the calls of ``runs`` runs."""
    calls = rng.geometric(1 / shape.mean_calls, runs)
    run = np.repeat(np.arange(runs), calls)
    first = np.cumsum(calls) - calls
    place = np.arange(len(run)) - first[run]
    began = rng.integers(from_time, to_time, runs)
    asked, gap_median = _questions(shape, place, first[run], rng)
    gap = gap_median * np.exp(shape.gap_sigma * rng.standard_normal(len(run)))
    duration = shape.duration_median_seconds * np.exp(
        shape.duration_sigma * rng.standard_normal(len(run))
    )
    step = (gap + duration) * SECOND
    gone = np.cumsum(step) - step
    start = began[run] + (gone - gone[first][run]).astype(np.int64)
    end = start + np.maximum(1, (duration * SECOND).astype(np.int64))
    if shape.life_days is None:
        identity, identities = asked, shape.identities
    else:
        identity, identities = _replaced(shape, asked, start, (from_time, to_time), rng)
    writes = _writes(shape, end, identity, calls, first, rng)
    order = np.lexsort((place, run, start))
    return Workload(
        start[order],
        end[order],
        identity[order],
        run[order],
        identities,
        runs,
        from_time,
        to_time,
        writes,
    )


def _questions(
    shape: Shape, place: Codes, first: Codes, rng: np.random.Generator
) -> tuple[Codes, npt.NDArray[np.float64]]:
    """Return what each call asks, as a place in the popularity, and the gap's median after it."""
    count = len(place)
    asked = rng.choice(shape.identities, count, p=shape.popularity)
    again = (place > 0) & (rng.random(count) < shape.repeat_share)
    of = first + (rng.random(count) * place).astype(np.int64)
    gap = np.full(count, shape.gap_median_seconds)
    if shape.burst_mean > 1:
        in_burst = (place > 0) & (rng.random(count) < 1 - 1 / shape.burst_mean)
        again |= in_burst
        of[in_burst] = np.flatnonzero(in_burst) - 1
        gap[of[in_burst]] = shape.burst_gap_seconds
    for nth in range(1, int(place.max(initial=0)) + 1):
        here = np.flatnonzero(again & (place == nth))
        asked[here] = asked[of[here]]
    return asked, gap


def _replaced(
    shape: Shape, asked: Codes, start: Times, between: tuple[int, int], rng: np.random.Generator
) -> tuple[Codes, int]:
    """Let a new identity take the place of an old one at random moments."""
    assert shape.life_days is not None
    lives = (between[1] - between[0]) / (shape.life_days * DAY)
    place = np.repeat(np.arange(shape.identities), rng.poisson(lives, shape.identities))
    at = rng.integers(*between, len(place))
    return count_until(place, at, asked, start), shape.identities + len(place)


def count_until(of: Codes, at: Times, asked: Codes, when: Times) -> Codes:
    """Return a number that is another one after each event of what is asked, and for others.

    Events are of ``of``, at the moments ``at``; each moment of ``when`` counts those up to it.
    """
    known = np.concatenate((of, asked))
    is_event = np.concatenate((np.ones(len(of), np.bool_), np.zeros(len(asked), np.bool_)))
    order = np.lexsort((~is_event, np.concatenate((at, when)), known))
    is_event = is_event[order]
    number = np.empty(len(known), np.int64)
    number[order] = np.cumsum(is_event) + known[order]
    return number[len(of) :]


def _writes(
    shape: Shape,
    end: Times,
    identity: Codes,
    calls: Codes,
    first: Codes,
    rng: np.random.Generator,
) -> Writes:
    """Let some runs write, after one of their calls, what one of their calls asks about."""
    run = np.flatnonzero(rng.random(len(calls)) < shape.writer_share)
    after = first[run] + (rng.random(len(run)) * calls[run]).astype(np.int64)
    about = first[run] + (rng.random(len(run)) * calls[run]).astype(np.int64)
    start = end[after] + SECOND // 10
    return Writes(start, start + SECOND // 10, identity[about], run)
