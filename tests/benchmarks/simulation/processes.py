"""The laws by which results change, and what follows from each: how likely is a result stale?

A law gives the results that the traces record, and for a result stored at one moment and served at
another the chance that the tool would answer otherwise by then. That chance is exact, given the
law; for writers, which act when runs do, it is 0 or 1, by what they wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simulation.workload import DAY, ORDINARY, Codes, Shape, Times, Workload, count_until

Chances = npt.NDArray[np.float64]


class Law(Protocol):
    """How the results of one tool change."""

    def results(self, traces: Workload, rng: np.random.Generator) -> Codes:
        """Return the result of each call: for one identity equal numbers are equal results."""

    def stale(self, later: Workload, identity: Codes, stored: Times, served: Times) -> Chances:
        """Return how likely results stored at the moments ``stored`` are stale when served."""


@dataclass(frozen=True, slots=True)
class OwnChanges:
    """Each identity changes by itself, at random moments, at its own rate."""

    rate: Chances
    """Changes a day, by identity."""
    flips: bool = False
    """Whether there are only two results, which take turns."""
    faster_from: int | None = None
    """From this moment on ..."""
    factor: float = 1.0
    """... changes come so many times as fast."""

    def results(self, traces: Workload, rng: np.random.Generator) -> Codes:
        """Draw the changes."""
        until = int(traces.start.max(initial=0)) + 1
        since = until if self.faster_from is None else self.faster_from
        parts = [(0, since, 1.0), (since, until, self.factor)]
        of, at = [], []
        for first, end, factor in parts:
            changes = rng.poisson(self.rate[: traces.identities] * factor * (end - first) / DAY)
            of.append(np.repeat(np.arange(traces.identities), changes))
            at.append(rng.integers(first, max(end, first + 1), int(changes.sum())))
        version = count_until(np.concatenate(of), np.concatenate(at), traces.identity, traces.start)
        return version % 2 if self.flips else version

    def stale(self, later: Workload, identity: Codes, stored: Times, served: Times) -> Chances:
        """After this many expected changes, was there any, or an odd number of them?"""
        del later
        expected = self.rate[identity] * self.factor * (served - stored) / DAY
        chance: Chances = -np.expm1(-2 * expected) / 2 if self.flips else -np.expm1(-expected)
        return chance


@dataclass(frozen=True, slots=True)
class OddResults:
    """Nothing changes, but some results are odd ones, each unlike all others."""

    differing: float
    """The share of pairs of results of one identity that differ."""

    def results(self, traces: Workload, rng: np.random.Generator) -> Codes:
        """Draw the odd results."""
        odd = rng.random(len(traces)) < 1 - (1 - self.differing) ** 0.5
        return np.where(odd, 1 + np.arange(len(traces)), 0)

    def stale(self, later: Workload, identity: Codes, stored: Times, served: Times) -> Chances:
        """At any age, the same."""
        del later, identity, stored
        return np.full(len(served), self.differing)


@dataclass(frozen=True, slots=True)
class DailyForAll:
    """Everything changes at the same hour of every day."""

    hour: float = 3.0

    def _day(self, moments: Times) -> Codes:
        return (moments - round(self.hour / 24 * DAY)) // DAY

    def results(self, traces: Workload, rng: np.random.Generator) -> Codes:
        """Number the days."""
        del rng
        return self._day(traces.start)

    def stale(self, later: Workload, identity: Codes, stored: Times, served: Times) -> Chances:
        """Lies that hour between?"""
        del later, identity
        return (self._day(stored) != self._day(served)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class AllAtOnce:
    """Everything changes at the same moments, which are random."""

    rate: float
    """Changes a day."""

    def results(self, traces: Workload, rng: np.random.Generator) -> Codes:
        """Draw the moments."""
        until = int(traces.start.max(initial=0)) + 1
        at = np.sort(rng.integers(0, until, rng.poisson(self.rate * until / DAY)))
        return np.searchsorted(at, traces.start, side="right").astype(np.int64)

    def stale(self, later: Workload, identity: Codes, stored: Times, served: Times) -> Chances:
        """Was there any such moment?"""
        del later, identity
        chance: Chances = -np.expm1(-self.rate * (served - stored) / DAY)
        return chance


@dataclass(frozen=True, slots=True)
class Written:
    """What is written changes, and nothing else does."""

    def results(self, traces: Workload, rng: np.random.Generator) -> Codes:
        """Number what was written."""
        del rng
        writes = traces.writes
        return count_until(writes.identity, writes.end, traces.identity, traces.start)

    def stale(self, later: Workload, identity: Codes, stored: Times, served: Times) -> Chances:
        """Was it written between?"""
        writes = later.writes
        then = count_until(writes.identity, writes.end, identity, stored)
        now = count_until(writes.identity, writes.end, identity, served)
        return (then != now).astype(np.float64)


class Danger(StrEnum):
    """What a bound takes for granted; by words of the warning that belongs to it."""

    TOGETHER = "together|at once"
    """Identities do not change at the same moments."""
    LATE = "last quarter"
    """They will change as much as they did."""

    def is_told(self, warnings: Iterable[str]) -> bool:
        """Return whether any of the warnings is the one that belongs to this."""
        return any(words in warning for warning in warnings for words in self.value.split("|"))


@dataclass(frozen=True, slots=True)
class Process:
    """One way in which the world behaves."""

    name: str
    law: Callable[[np.random.Generator, int], Law]
    """Makes the law of so many identities."""
    shape: Shape = ORDINARY
    writers_are_seen: bool = False
    later_runs: int = 3_000
    """Runs after the traces that a rule is held against. Where the chances are 0 or 1, more."""
    danger: Danger | None = None
    """What no trace may show; ``None``: identities change independently of each other, and at the
    end as before, so that the promise is to hold."""


_LAST_QUARTER = round(7 * 0.75 * DAY)


def _constant(_rng: np.random.Generator, identities: int) -> Law:
    return OwnChanges(np.zeros(identities))


def _daily(_rng: np.random.Generator, identities: int) -> Law:
    return OwnChanges(np.ones(identities))


def _lognormal(rng: np.random.Generator, identities: int) -> Law:
    return OwnChanges(0.1 * np.exp(2 * rng.standard_normal(identities)))


def _some_fast(rng: np.random.Generator, identities: int) -> Law:
    return OwnChanges(np.where(rng.random(identities) < 0.15, 24.0, 0.02))


def _popular_fast(_rng: np.random.Generator, identities: int) -> Law:
    popularity = ORDINARY.popularity
    assert len(popularity) == identities
    return OwnChanges(5 * popularity / popularity[0])


def _flip(_rng: np.random.Generator, identities: int) -> Law:
    return OwnChanges(np.ones(identities), flips=True)


def _jump(_rng: np.random.Generator, identities: int) -> Law:
    return OwnChanges(np.ones(identities), faster_from=_LAST_QUARTER, factor=10.0)


def _odd(_rng: np.random.Generator, _identities: int) -> Law:
    return OddResults(0.006)


def _nightly(_rng: np.random.Generator, _identities: int) -> Law:
    return DailyForAll()


def _all_daily(_rng: np.random.Generator, _identities: int) -> Law:
    return AllAtOnce(1.0)


def _all_in_six_days(_rng: np.random.Generator, _identities: int) -> Law:
    return AllAtOnce(1 / 6)


def _written(_rng: np.random.Generator, _identities: int) -> Law:
    return Written()


PROCESSES: tuple[Process, ...] = (
    Process("constant", _constant),
    Process("1 a day per identity", _daily),
    Process("lognormal rates", _lognormal),
    Process("fast for 15% of identities", _some_fast),
    Process("faster for the more popular", _popular_fast),
    Process("flip between two values", _flip),
    Process("differ at any age, 0.6%", _odd),
    Process("all together daily", _nightly, danger=Danger.TOGETHER),
    Process("all together at random, 1 a day", _all_daily, danger=Danger.TOGETHER),
    Process("all together at random, 1 in six days", _all_in_six_days, danger=Danger.TOGETHER),
    Process("unseen writers in 3% of runs", _written, Shape(writer_share=0.03), later_runs=12_000),
    Process(
        "visible writers in half of the runs",
        _written,
        Shape(writer_share=0.5),
        writers_are_seen=True,
        later_runs=12_000,
    ),
    Process("bursts with gaps of 2 s", _daily, Shape(burst_mean=4.0)),
    Process("80% of calls on one identity", _daily, Shape(share_of_one=0.8)),
    Process("ten times faster in the last quarter", _jump, danger=Danger.LATE),
    Process("fresh identities", _lognormal, Shape(life_days=0.05)),
)
"""All that are simulated. Rates are changes a day."""
