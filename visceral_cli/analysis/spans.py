"""Which spans lie inside of which calls, and which of the others have no span below them."""

from __future__ import annotations

from typing import Any

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from visceral_cli.analysis.columns import NONE, CallColumns, Keys
from visceral_cli.analysis.history import Codes, Flags, Times
from visceral_cli.store.database import run_file


class SpanTree(msgspec.Struct, frozen=True):
    """The calls in the trees of spans, and beside them the leaf spans that are no calls."""

    caller: Codes
    """By ``call_key``: the nearest call whose span lies above; `NONE` where there is none."""
    leaf: Flags
    """By ``call_key``: no span lies below."""
    other_run: Codes
    """One element per leaf span that is no call: its trace ..."""
    other_start_ns: Times
    other_end_ns: Times
    other_caller: Codes
    """... and the nearest call above it."""

    def within(self, chosen: Flags) -> Flags:
        """Return which calls lie inside of a chosen call, at any depth."""
        inner = np.flatnonzero(self.caller >= 0)
        caller = self.caller[inner]
        inside = np.zeros(len(chosen), np.bool_)
        found = chosen[caller]
        while not np.array_equal(found, inside[inner]):
            inside[inner] = found
            found = (chosen | inside)[caller]
        return inside


def read_spans(store: duckdb.DuckDBPyConnection, calls: CallColumns) -> SpanTree:
    """Return the trees of the spans of all traces that have a call."""
    others = _other_spans(store, calls)
    span_key, parent_key = others.pop("span_key"), others.pop("parent_key")
    parents = pa.chunked_array([parent_key, calls.parent_key]).unique()
    leaf = ~_among(span_key, parents)
    call_leaf = ~_among(calls.span_key, parents)
    caller, other_caller = _callers(calls, call_leaf, span_key, parent_key)
    del span_key, parent_key, parents
    pa.default_memory_pool().release_unused()
    return SpanTree(
        caller=caller,
        leaf=call_leaf,
        other_run=_places(others.pop("run_key")[leaf], calls.run_keys),
        other_start_ns=others.pop("start_ns")[leaf],
        other_end_ns=others.pop("end_ns")[leaf],
        other_caller=other_caller[leaf],
    )


def _other_spans(store: duckdb.DuckDBPyConnection, calls: CallColumns) -> dict[str, NDArray[Any]]:
    store.register("_run", pa.table({"run_key": calls.run_keys}))
    store.register("_call_span", pa.table({"span_key": calls.span_key}))
    run_file(store, "visceral_cli.analysis", "spans.sql")
    columns = store.execute("SELECT * FROM _other_span()").fetchnumpy()
    store.unregister("_run")
    store.unregister("_call_span")
    return columns


def _callers(
    calls: CallColumns, call_leaf: Flags, span_key: Keys, parent_key: Keys
) -> tuple[Codes, Codes]:
    """Return the nearest call above each call and above each other span, level by level."""
    of_call = np.full(len(calls), NONE, np.int32)
    of_other = np.full(len(span_key), NONE, np.int32)
    above = np.flatnonzero(~call_leaf).astype(np.int32)  # the calls that own this level ...
    keys = calls.span_key[above]  # ... and the spans at its top
    while len(keys):
        keys, first = np.unique(keys, return_index=True)
        above = above[first]
        _adopt(of_call, calls.parent_key, keys, above)
        adopted = _adopt(of_other, parent_key, keys, above)
        keys, above = span_key[adopted], of_other[adopted]
    return _without_circles(of_call), of_other


def _without_circles(caller: Codes) -> Codes:
    """Let calls that damaged parents put inside of themselves be inside of nothing."""
    inner = np.flatnonzero(caller >= 0)
    above = np.append(caller, NONE)
    for _ in range(len(inner).bit_length()):
        above = above[above]  # twice as far up; NONE stays NONE
    caller[inner[above[inner] >= 0]] = NONE
    return caller


def _adopt(caller: Codes, parent_key: Keys, keys: Keys, above: Codes) -> Codes:
    """Note the callers of the rows whose parents are ``keys``; return the rows, each once ever."""
    place = _places(parent_key, keys)
    rows = np.flatnonzero((place >= 0) & (caller == NONE)).astype(np.int32)
    caller[rows] = above[place[rows]]
    return rows


def _places(keys: Keys, wanted: Keys) -> Codes:
    """Return the place of each key among those that are wanted, `NONE` where it is not."""
    places: Codes = (
        pc.index_in(pa.array(keys), value_set=pa.array(wanted)).fill_null(NONE).to_numpy()
    )
    return places


def _among(keys: Keys, wanted: pa.Array) -> Flags:
    found: Flags = pc.is_in(pa.array(keys), value_set=wanted).to_numpy(zero_copy_only=False)
    return found
