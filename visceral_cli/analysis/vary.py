"""Which arguments decide the result: the smallest set for which equal ones gave equal results.

An argument that every call makes anew, a request id or a time, keeps equal questions apart. It is
found here because results do not depend on it, never because of its name: the first quarter of the
calls chooses a set, and the rest has to prove it (``vary_proof``). Pairs that really differ in a
left-out argument are counted; the share of rows that must go for a dependency to hold exactly (g3,
Kivinen and Mannila 1995) would be 0 for any set with a unique argument in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.argument_values import ArgumentValues, Keys
from visceral_cli.analysis.history import Flags, Places, Writers, latest_writer_end

MIN_DISTINCT = 30
"""Fewer values of an argument are too few to show that it does not matter."""
MIN_PAIRS = 30
MIN_CALLS = 4 * (MIN_PAIRS + 1)
"""With fewer calls the first quarter has no such number of pairs."""
_PARTS = 4
_MAX_SEARCHED = 10
_MAX_SAMPLE = 50_000
_NEAR_NS = 3600 * 1_000_000_000


class Pairs(msgspec.Struct, frozen=True):
    """Consecutive calls with equal kept arguments that can be compared; places of calls."""

    earlier: Places
    later: Places
    differs: Flags
    """Whether the results differ."""

    @property
    def differing(self) -> int:
        """Return how many pairs differ in the result."""
        return int(np.count_nonzero(self.differs))


class Choice(msgspec.Struct, frozen=True):
    """A set of arguments that might decide the result."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    pairs: int
    """Compared pairs that differ in a dropped argument."""
    differing: int
    """Those of them with different results."""


def find_pairs(
    arguments: ArgumentValues, key: Keys, writers: Writers | None, *, within_ns: int = _NEAR_NS
) -> Pairs:
    """Return consecutive calls of one key whose arguments differ, at most an hour apart.

    In order of time. Both results are known, and no writer of the later call's run came between.
    """
    calls = arguments.calls
    known = np.flatnonzero(calls.content >= 0)
    order = known[np.argsort(key[known], kind="stable")]
    earlier, later = order[:-1], order[1:]
    fit = (key[earlier] == key[later]) & (arguments.which[earlier] != arguments.which[later])
    fit &= calls.start_ns[later] - calls.start_ns[earlier] <= within_ns
    earlier, later = earlier[fit], later[fit]
    if writers is not None:
        writers = writers.of_tool(calls.tool)
    if writers is not None and len(writers.run):
        written = latest_writer_end(writers, calls.run[later], calls.start_ns[later])
        untouched = written < calls.start_ns[earlier]
        earlier, later = earlier[untouched], later[untouched]
    in_time = np.argsort(later)
    earlier, later = earlier[in_time], later[in_time]
    return Pairs(earlier, later, calls.content[earlier] != calls.content[later])


def quarter(arguments: ArgumentValues) -> int:
    """Return how many of the calls choose; the rest proves."""
    return len(arguments.which) // _PARTS


def choose_arguments(
    arguments: ArgumentValues, writers: Writers | None, max_stale_rate: float
) -> Choice | None:
    """Return the smallest set that qualifies in the first quarter and may in the rest.

    ``None`` where every set is refuted, or where results are so nearly constant that nothing can
    be told.
    """
    end = quarter(arguments)
    sample = arguments.part(max(0, end - _MAX_SAMPLE), end)
    choice = _smallest(sample, writers, max_stale_rate)
    if choice is None:
        return None
    rest = arguments.part(end, len(arguments.which))
    everything = find_pairs(rest, rest.key(()), writers)
    if 0 < everything.differing <= max_stale_rate * len(everything.later):
        return None
    pairs = find_pairs(rest, rest.key(choice.kept), writers)
    return choice if _are_varied(rest, pairs, choice.dropped) else None


def _smallest(
    sample: ArgumentValues, writers: Writers | None, max_stale_rate: float
) -> Choice | None:
    for sets in _candidates(sample):
        found = []
        for kept in sets:
            pairs = find_pairs(sample, sample.key(kept), writers)
            dropped = tuple(name for name in sample.names if name not in kept)
            few = pairs.differing <= max_stale_rate * len(pairs.later)
            if len(pairs.later) >= MIN_PAIRS and few and _are_varied(sample, pairs, dropped):
                found.append(Choice(kept, dropped, len(pairs.later), pairs.differing))
        if found:
            return max(found, key=lambda choice: (choice.pairs, choice.kept))
    return None


def _candidates(sample: ArgumentValues) -> Iterator[Iterator[tuple[str, ...]]]:
    """Yield the sets of names to keep, all of one size at a time, without the set of all names."""
    distinct = {name: len(np.unique(sample.value(name))) for name in sample.names}
    free = sorted(
        (name for name in sample.names if distinct[name] >= MIN_DISTINCT),
        key=lambda name: (distinct[name], name),
    )
    fixed = [name for name in sample.names if name not in free]
    searched = free[:_MAX_SEARCHED]  # the most distinct of too many are dropped together
    for size in range(len(searched) + (len(free) > len(searched))):
        yield (
            tuple(sorted([*fixed, *chosen])) for chosen in itertools.combinations(searched, size)
        )


def _are_varied(arguments: ArgumentValues, pairs: Pairs, dropped: tuple[str, ...]) -> bool:
    """Whether each dropped argument took enough values in pairs that differ in it."""
    for name in dropped:
        value = arguments.value(name)
        later = value[pairs.later]
        counts = np.bincount(later[value[pairs.earlier] != later])
        if binomial.effective(counts) < MIN_DISTINCT:
            return False
    return True
