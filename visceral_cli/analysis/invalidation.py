"""Which writers change which results, learned from a value that both were called with.

"Clear ``get_order`` when ``update_order`` has the same ``order_id``" needs two things: results
change after such writes more often than otherwise, and hardly ever after writes of other values.
Writes count whatever trace they are in, also where results are not shared across traces: what
another run writes changes the world for all. A result that was read beside the writer may be from
before or after the write, so no pair begins with it, nor with one read beside any writer of its own
run. Until such a proposal is taken up, by a writer that declares ``invalidates``, a write voids
everything in reach (`barriers`).
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import msgspec
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.argument_values import (
    Keys,
    argument_hashes,
    define_views,
    keys_of_calls,
)
from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.figures import Finding, FindingKind, InvalidationFigures
from visceral_cli.analysis.history import (
    Codes,
    Flags,
    Places,
    Writers,
    find_writers,
    latest_writer_end,
)
from visceral_cli.analysis.stale_curve import allowed_error
from visceral_cli.analysis.tools import ToolFacts, ToolName
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import FreshnessSettings, Settings

_NEAR_NS = 3600 * 1_000_000_000
_MIN_CHANGES = 5
"""Changes after a matching write that it takes before anything is said."""


class _Writes(msgspec.Struct, frozen=True):
    """The executions of one writer whose arguments are known."""

    facts: ToolFacts
    rows: Places
    values: dict[str, Keys]
    """By argument, the value as a hash; 0: missing."""


class _Pairs(msgspec.Struct, frozen=True):
    """Consecutive calls of one identity of one tool."""

    facts: ToolFacts
    earlier: Places
    later: Places
    """Rows of the columns."""
    changed: Flags
    values: dict[str, Keys]
    """By argument, the value of both calls as a hash."""


def learn_invalidations(
    store: duckdb.DuckDBPyConnection, calls: CallColumns, settings: Settings
) -> list[InvalidationFigures]:
    """Return which writers clear which results, most changed results first.

    Nothing is learned in a store that keeps no texts of arguments.
    """
    if (
        settings.find_vary is False
        or not store.execute("SELECT 1 FROM argument_text LIMIT 1").fetchall()
    ):
        return []
    define_views(store)
    keys, _ = keys_of_calls(store, len(calls), by_trace=False)
    writes = list(_writes(store, calls, keys))
    if not writes:
        return []
    everyone = writers_of(calls)
    found = [
        best
        for pairs in _pairs(store, calls, keys, everyone)
        for wrote in writes
        if wrote.facts.name.namespace == pairs.facts.name.namespace
        for best in [_best(calls, pairs, wrote, settings.freshness)]
        if best is not None
    ]
    return sorted(
        found, key=lambda one: (-one.matching_changed, one.namespace, one.tool, one.writer)
    )


def findings_of(found: list[InvalidationFigures]) -> Iterator[Finding]:
    """Yield what was learned, as findings."""
    for one in found:
        yield Finding(
            kind=FindingKind.CLEARED_BY_WRITER,
            namespace=one.namespace,
            tool=one.tool,
            message=in_words(one),
            calls=one.matching,
        )


def tools_changed(found: list[InvalidationFigures]) -> frozenset[ToolName]:
    """Return the tools whose results change after some writer, whether proven or not."""
    return frozenset(ToolName(one.namespace, one.tool, one.kind) for one in found)


def in_words(found: InvalidationFigures) -> str:
    """Return what was learned as one sentence."""
    same = found.argument
    if found.writer_argument != found.argument:
        same = f"{found.writer_argument} equal to its {found.argument}"
    said = (
        f"clear it when {found.writer} has the same {same}: {found.matching_changed:,} of "
        f"{found.matching:,} results changed over such a write, {found.other_changed:,} of "
        f"{found.other:,} over writes of other values"
    )
    if found.proven:
        return f"{said} (at most {found.other_rate_at_most:.2%})"
    return f"{said}: too many or too few to clear no more than that"


def _writes(store: duckdb.DuckDBPyConnection, calls: CallColumns, keys: Keys) -> Iterator[_Writes]:
    known = np.flatnonzero(calls.writer & calls.ran & calls.timed & (keys != 0))
    for code in np.unique(calls.tool[known]).tolist():
        rows = known[calls.tool[known] == code]
        values = _values(store, keys[rows])
        if values:
            yield _Writes(calls.tools[code], rows, values)


def _pairs(
    store: duckdb.DuckDBPyConnection, calls: CallColumns, keys: Keys, writers: Writers
) -> Iterator[_Pairs]:
    known = calls.timed & calls.ran & ~calls.failed & ~calls.writer & (keys != 0)
    rows = np.flatnonzero(known & (calls.identity >= 0) & (calls.content >= 0))
    rows = rows[np.argsort(calls.identity[rows], kind="stable")]
    earlier, later = rows[:-1], rows[1:]
    near = calls.identity[earlier] == calls.identity[later]
    near &= calls.start_ns[later] - calls.start_ns[earlier] <= _NEAR_NS
    earlier, later = earlier[near], later[near]
    beside = latest_writer_end(writers, calls.run[earlier], calls.end_ns[earlier])
    alone = beside < calls.start_ns[earlier]
    earlier, later = earlier[alone], later[alone]
    changed = calls.content[earlier] != calls.content[later]
    tool = calls.tool[later]
    for code in np.flatnonzero(np.bincount(tool[changed]) >= _MIN_CHANGES).tolist():
        place = np.flatnonzero(tool == code)
        values = _values(store, keys[later[place]])
        if values:
            yield _Pairs(calls.tools[code], earlier[place], later[place], changed[place], values)


def _values(store: duckdb.DuckDBPyConnection, keys: Keys) -> dict[str, Keys]:
    distinct, which = np.unique(keys, return_inverse=True)
    read = argument_hashes(store, distinct)
    return {} if read is None else {name: column[which] for name, column in read[0].items()}


def _best(
    calls: CallColumns, pairs: _Pairs, wrote: _Writes, settings: FreshnessSettings
) -> InvalidationFigures | None:
    """Return the shared value after which most results change, if results do change after it."""
    everything = np.zeros(len(wrote.rows), np.int32)
    pairs = _not_begun_beside(calls, pairs, wrote)
    last = _last_write_end(
        calls, wrote.rows, everything, pairs, np.zeros(len(pairs.later), np.int32)
    )
    between = last >= calls.start_ns[pairs.earlier]
    if np.count_nonzero(pairs.changed & between) < _MIN_CHANGES:
        return None
    candidates = [
        found
        for argument in pairs.values
        for writer_argument in wrote.values
        if _meet(pairs.values[argument], wrote.values[writer_argument])
        for found in [_measured(calls, pairs, wrote, (argument, writer_argument), last, settings)]
        if found is not None
    ]
    return max(
        candidates,
        key=lambda one: (
            one.proven,
            one.changed_rate_at_least,
            one.argument == one.writer_argument,
            one.argument,
            one.writer_argument,
        ),
        default=None,
    )


def _not_begun_beside(calls: CallColumns, pairs: _Pairs, wrote: _Writes) -> _Pairs:
    """Return the pairs whose first call ran beside no write of this writer."""
    anywhere = np.zeros(len(wrote.rows), np.int32)
    writers = find_writers(anywhere, calls.start_ns[wrote.rows], calls.end_ns[wrote.rows])
    ends = latest_writer_end(
        writers, np.zeros(len(pairs.earlier), np.int32), calls.end_ns[pairs.earlier]
    )
    alone = ends < calls.start_ns[pairs.earlier]
    if alone.all():
        return pairs
    return _Pairs(
        pairs.facts,
        pairs.earlier[alone],
        pairs.later[alone],
        pairs.changed[alone],
        {name: column[alone] for name, column in pairs.values.items()},
    )


def _meet(of_reads: Keys, of_writes: Keys) -> bool:
    """Whether the two arguments share values, and more than one: a constant ties nothing."""
    shared = np.intersect1d(of_reads, of_writes)
    return int(np.count_nonzero(shared)) > 1


def _last_write_end(
    calls: CallColumns, rows: Places, of_write: Codes, pairs: _Pairs, of_pair: Codes
) -> Places:
    """Return, per pair, when the last write of its code ended that began before the later call."""
    writers = find_writers(of_write, calls.start_ns[rows], calls.end_ns[rows])
    return latest_writer_end(writers, of_pair, calls.start_ns[pairs.later])


def _measured(
    calls: CallColumns,
    pairs: _Pairs,
    wrote: _Writes,
    arguments: tuple[str, str],
    last: Places,
    settings: FreshnessSettings,
) -> InvalidationFigures | None:
    of_pair, of_write = pairs.values[arguments[0]], wrote.values[arguments[1]]
    given = np.flatnonzero(of_write != 0)
    both = np.concatenate((of_write[given], of_pair))
    codes = np.unique(both, return_inverse=True)[1].astype(np.int32)
    same = _last_write_end(
        calls, wrote.rows[given], codes[: len(given)], pairs, codes[len(given) :]
    )
    earlier = calls.start_ns[pairs.earlier]
    matching = same >= earlier
    other = (last >= earlier) & ~matching
    delta = allowed_error(settings)
    changed = int(np.count_nonzero(matching & pairs.changed))
    at_least = binomial.lower(*_observed(pairs.changed, matching, same), delta)
    quiet = int(np.count_nonzero(~matching))
    calm = binomial.upper(int(np.count_nonzero(pairs.changed & ~matching)), quiet, delta)
    if changed < _MIN_CHANGES or (quiet and at_least <= calm):
        return None
    at_most = binomial.upper(*_observed(pairs.changed, other, last), delta)
    name = pairs.facts.name
    return InvalidationFigures(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        argument=arguments[0],
        writer=wrote.facts.name.tool,
        writer_argument=arguments[1],
        matching=int(np.count_nonzero(matching)),
        matching_changed=changed,
        changed_rate_at_least=at_least,
        other=int(np.count_nonzero(other)),
        other_changed=int(np.count_nonzero(other & pairs.changed)),
        other_rate_at_most=at_most,
        proven=at_most <= settings.max_stale_rate,
    )


def _observed(changed: Flags, chosen: Flags, write: Places) -> tuple[float, float]:
    """Return how many of the chosen pairs changed, and how many there are, in effect.

    One write is one observation, however many pairs it lies in.
    """
    if not chosen.any():
        return 0.0, 0.0
    observations = binomial.effective(np.unique(write[chosen], return_counts=True)[1])
    share = float(np.count_nonzero(changed & chosen)) / float(np.count_nonzero(chosen))
    return observations * share, observations
