"""The top-level arguments of each tool as columns of codes: names are kept, values never are.

Needs a store that keeps argument texts. One tool is read at a time, so that memory grows with the
distinct arguments of the largest tool only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import replace
from numpy.typing import NDArray

from visceral_cli.analysis.columns import CallColumns, Numbers
from visceral_cli.analysis.histories import ToolHistory, histories
from visceral_cli.analysis.history import Codes, Flags, Places, ToolCalls
from visceral_cli.analysis.tools import ToolFacts
from visceral_cli.store.database import run_file

Keys = NDArray[np.uint64]

_MAX_NAMES = 100
"""Arguments with more names than this are a table with keys for names, not a parameter list."""
_BATCH_ROWS = 65_536


class ArgumentValues(msgspec.Struct, frozen=True):
    """The calls of one tool whose arguments are known and named, in order of time."""

    facts: ToolFacts
    calls: ToolCalls
    """Their identity is the one of the analysis."""
    rows: Places
    """The ``call_key`` of each call."""
    names: tuple[str, ...]
    """All argument names, ascending."""
    values: Codes
    """By name and distinct arguments: the value as a code from 1, 0 where it is missing."""
    which: Codes
    """By call, its place among the distinct arguments."""
    apart: Keys
    """By call; calls with different ones never share a result."""

    def value(self, name: str) -> Codes:
        """Return the value of one argument, by call."""
        found: Codes = self.values[self.names.index(name)][self.which]
        return found

    def key(self, kept: tuple[str, ...]) -> Keys:
        """Return, by call, a number that is equal where all kept arguments are."""
        distinct = np.zeros(self.values.shape[1], np.uint64)
        for name in kept:
            place = self.names.index(name)
            distinct += _mixed(self.values[place].astype(np.uint64) + np.uint64(place << 32))
        return distinct[self.which] + _mixed(self.apart)

    def only_within(self, within: Numbers) -> ArgumentValues:
        """Return the same where calls share a result only if ``within`` is equal, too."""
        return replace(self, apart=_mixed(self.apart) + within.astype(np.uint64))

    def part(self, first: int, end: int) -> ArgumentValues:
        """Return the calls from ``first`` to before ``end``."""
        chosen, calls = slice(first, end), self.calls
        return replace(
            self,
            calls=replace(
                calls,
                start_ns=calls.start_ns[chosen],
                end_ns=calls.end_ns[chosen],
                identity=calls.identity[chosen],
                run=calls.run[chosen],
                content=calls.content[chosen],
                host=None if calls.host is None else calls.host[chosen],
            ),
            rows=self.rows[chosen],
            which=self.which[chosen],
            apart=self.apart[chosen],
        )


def define_views(store: duckdb.DuckDBPyConnection) -> None:
    """Define what this module reads, and ``_declared_vary``."""
    store.register("_wanted_arguments", _wanted(np.zeros(0, np.uint64)))
    run_file(store, "visceral_cli.analysis", "argument_values.sql")
    store.unregister("_wanted_arguments")


def codes_of(keys: Keys) -> Codes:
    """Return a small code for each key; equal for equal ones."""
    _, codes = np.unique(keys, return_inverse=True)
    return codes.astype(np.int32)


def _mixed(keys: Keys) -> Keys:
    """Return well spread numbers (the finalizer of SplitMix64), so that sums of them differ."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Keys = keys ^ (keys >> np.uint64(31))
    return mixed


def argument_values(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    *,
    by_trace: bool,
    least: Callable[[ToolFacts], tuple[int, int]],
) -> Iterator[ArgumentValues]:
    """Yield the tools that are no writers and have enough calls and distinct arguments.

    ``least`` returns how many of both a tool needs to be looked at. ``by_trace``: results are not
    shared between traces. Needs ``define_views``.
    """
    arguments, apart = keys_of_calls(store, len(calls), by_trace=by_trace)
    for history in histories(calls):
        min_calls, min_distinct = least(history.facts)
        known = arguments[history.rows] != 0
        if np.count_nonzero(known) < min_calls:
            continue
        place = np.flatnonzero(known)
        keys, which = np.unique(arguments[history.rows[place]], return_inverse=True)
        if len(keys) < min_distinct:
            continue
        read = _read_values(store, keys)
        if read is not None:
            yield _columns(history, place, which, apart, *read)


def keys_of_calls(
    store: duckdb.DuckDBPyConnection, calls: int, *, by_trace: bool
) -> tuple[Keys, Keys]:
    """Return, by row, the key of the arguments, 0: unknown, and of what may share results."""
    arguments, apart = np.zeros(calls, np.uint64), np.zeros(calls, np.uint64)
    selected = store.sql("SELECT * FROM _call_arguments($by_trace)", params={"by_trace": by_trace})
    for batch in selected.to_arrow_reader(_BATCH_ROWS):
        rows = batch.column("call_key").to_numpy()
        arguments[rows] = batch.column("arguments_key").to_numpy()
        apart[rows] = batch.column("apart_key").to_numpy()
    return arguments, apart


def _wanted(keys: Keys) -> pa.Table:
    return pa.table({"arguments_key": keys, "place": np.arange(len(keys))})


def argument_hashes(
    store: duckdb.DuckDBPyConnection, keys: Keys
) -> tuple[dict[str, Keys], Flags] | None:
    """Return the value of each argument as a hash, 0 where it is missing, and what has names.

    ``keys`` are those of distinct arguments; ``None`` with too many names. Needs ``define_views``.
    """
    hashes: dict[str, Keys] = {}
    named = np.zeros(len(keys), np.bool_)
    store.register("_wanted_arguments", _wanted(keys))
    try:
        selected = store.sql("SELECT * FROM _argument_value()")
        for batch in selected.to_arrow_reader(_BATCH_ROWS):
            names = batch.column("name").dictionary_encode()
            place = batch.column("place").to_numpy()
            value = batch.column("value_key").to_numpy(zero_copy_only=False)
            code = names.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            named[place] = True
            for nth, name in enumerate(names.dictionary.to_pylist()):
                if len(hashes) >= _MAX_NAMES and name not in hashes:
                    return None
                of_name = code == nth
                column = hashes.setdefault(name, np.zeros(len(keys), np.uint64))
                column[place[of_name]] = np.maximum(value[of_name].astype(np.uint64), 1)
    finally:
        store.unregister("_wanted_arguments")
    return {name: hashes[name] for name in sorted(hashes)}, named


def _read_values(
    store: duckdb.DuckDBPyConnection, keys: Keys
) -> tuple[tuple[str, ...], Codes, Flags] | None:
    """Return names, values as codes, and which arguments have names."""
    read = argument_hashes(store, keys)
    if read is None:
        return None
    hashes, named = read
    values = np.zeros((len(hashes), len(keys)), np.int32)
    for nth, column in enumerate(hashes.values()):
        found, codes = np.unique(column, return_inverse=True)
        values[nth] = codes if found[0] == 0 else codes + 1
    return tuple(hashes), values, named


def _columns(
    history: ToolHistory,
    place: Places,
    which: Places,
    apart: Keys,
    names: tuple[str, ...],
    values: Codes,
    named: Flags,
) -> ArgumentValues:
    place, which = place[named[which]], which[named[which]]
    calls, rows = history.calls, history.rows[place]
    return ArgumentValues(
        facts=history.facts,
        calls=replace(
            calls,
            start_ns=calls.start_ns[place],
            end_ns=calls.end_ns[place],
            identity=calls.identity[place],
            run=calls.run[place],
            content=calls.content[place],
            host=None if calls.host is None else calls.host[place],
        ),
        rows=rows,
        names=names,
        values=values,
        which=which.astype(np.int32),
        apart=apart[rows],
    )
