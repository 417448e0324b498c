"""All calls of a store as columns of numbers, one pass over ``tool_call``.

Texts become small codes in order of first appearance, so that whatever follows is arithmetic on
arrays; names are looked up again only for the rows that are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from visceral_cli.analysis.history import Codes, Flags, Places
from visceral_cli.analysis.names import name_table
from visceral_cli.analysis.tools import Attested, ToolFacts, ToolName, tool_facts
from visceral_cli.settings import Settings
from visceral_cli.store.database import run_file

Numbers = NDArray[np.int64]
Keys = NDArray[np.uint64]
_Key = TypeVar("_Key", np.int64, np.uint64)

NONE = -1
"""No identity, result, source or cost: in columns where every other value is 0 or more."""

NANO = 1_000_000_000
"""Times are counted in nanoseconds and money in nanodollars: sums of them are exact, so they do
not depend on the order."""

_BATCH_ROWS = 65_536


class CallColumns(msgspec.Struct, frozen=True):
    """Every call in row order: position i is ``call_key`` i.

    Rows are in order of (start, end); rows without a start come last.
    """

    tools: tuple[ToolFacts, ...]
    """By tool code, in order of first appearance."""
    tool: Codes
    run: Codes
    """Code of the trace."""
    run_keys: Keys
    """By code of the trace, the hash of its id."""
    service: Codes
    user: Codes
    """`NONE` where it is not known, as ``session``."""
    session: Codes
    identity: Codes
    """Code of namespace, tool, kind, version, hash version and input hash (scope ``trace``: and
    trace); `NONE` without one. The identities of one tool are neighbours."""
    identity_starts: Numbers
    """The first identity code of each tool, and in the end the number of identities."""
    start_ns: Numbers
    """0 where unknown, as ``end_ns``."""
    end_ns: Numbers
    has_start: Flags
    has_end: Flags
    content: Codes
    """Code of the result; `NONE` where it is not known."""
    failed: Flags
    empty_result: Flags
    ran: Flags
    """Really executed: not answered from a stored result by the runtime."""
    verified: Flags
    """Answered from a stored result and really executed as well ..."""
    matched: Flags
    """... with an equal result."""
    writer: Flags
    invalidates: Codes
    """What a writer declares to void, a place in ``invalidates_texts``; `NONE`: nothing."""
    invalidates_texts: tuple[str, ...]
    declared_run: Codes
    """Code of the run that the program declared around the call; `NONE` without one."""
    served_start_ns: Numbers
    """When the execution began whose stored result answered the call; 0 where it is not known."""
    cost_nanousd: Numbers
    """`NONE` where nothing is known."""
    span_key: Keys
    """Equal for calls of one span."""
    parent_key: Keys
    """The span key of the parent span, 0 for a root."""

    @property
    def runs(self) -> int:
        """The number of traces."""
        return len(self.run_keys)

    @property
    def identities(self) -> int:
        """The number of identities."""
        return int(self.identity_starts[-1])

    @property
    def timed(self) -> Flags:
        """Whether start and end are known, and in order."""
        return self.has_start & self.has_end & (self.end_ns >= self.start_ns)

    @property
    def duration_ns(self) -> Numbers:
        """End minus start, 0 where unknown."""
        lasts = self.end_ns - self.start_ns
        lasts[~(self.has_start & self.has_end & (lasts > 0))] = 0
        return lasts

    def duration_of(self, rows: Places) -> Numbers:
        """Return end minus start of these calls, 0 where unknown."""
        lasts = self.end_ns[rows] - self.start_ns[rows]
        return np.where(self.has_start[rows] & self.has_end[rows] & (lasts > 0), lasts, 0)

    def cost_usd(self, rows: Places) -> float | None:
        """Return the known cost of these calls; ``None`` where none of them has one."""
        known = self.cost_nanousd[rows]
        known = known[known >= 0]
        if not len(known) and (len(rows) or not (self.cost_nanousd >= 0).any()):
            return None
        return int(known.sum()) / NANO

    def __len__(self) -> int:
        return len(self.tool)


def read_calls(store: duckdb.DuckDBPyConnection, settings: Settings) -> CallColumns:
    """Return all calls of the store, with what spans and settings say of their tools."""
    run_file(store, "visceral_cli.analysis", "columns.sql")
    read = _read_columns(store, by_trace=settings.scope == "trace")
    tool, tool_keys = _coded_few(read.pop("tool_key"))
    with ThreadPoolExecutor(1) as beside:  # sorting and the store need two cores at once
        names = beside.submit(name_table, store, first_rows(tool, len(tool_keys)))
        contents = beside.submit(_coded, read.pop("content_key"))
        run, run_keys = _coded(read.pop("run_key"))
        service, _ = _coded_few(read.pop("service_key"))
        user, session = _ranked(read.pop("user_key")), _ranked(read.pop("session_key"))
        identity, _ = _coded(read.pop("identity_key"))
        identity, identity_starts = _by_tool(identity, tool, len(tool_keys))
        content, _ = contents.result()
        tools = _tools(tool, names.result(), read, settings)
    declared_run = _seldom(read.pop("declared_run_key"))[0]
    invalidates, invalidates_keys = _seldom(read.pop("invalidates_key"))
    writers = np.array([facts.writer for facts in tools], np.bool_)
    return CallColumns(
        tools=tools,
        tool=tool,
        run=run,
        run_keys=run_keys,
        identity=identity,
        identity_starts=identity_starts,
        service=service,
        user=user,
        session=session,
        writer=writers[tool],
        invalidates=invalidates,
        invalidates_texts=_declared_texts(store, invalidates_keys),
        declared_run=declared_run,
        served_start_ns=read["served_start_ns"],
        cost_nanousd=_costs(read.pop("cost_usd"), tool, tools),
        start_ns=read["start_ns"],
        end_ns=read["end_ns"],
        has_start=read["has_start"],
        has_end=read["has_end"],
        content=content,
        failed=read["failed"],
        empty_result=read["empty_result"],
        ran=read["ran"],
        verified=read["verified"],
        matched=read["matched"],
        span_key=read["span_key"],
        parent_key=read["parent_key"],
    )


def first_rows(codes: Codes, count: int) -> Numbers:
    """Return for each of the codes 0 .. ``count`` - 1 the first row that has it."""
    first = np.full(count, len(codes), np.int64)
    known = np.flatnonzero(codes >= 0)[::-1]
    first[codes[known]] = known
    return first


_TYPES: Mapping[str, DTypeLike] = {
    "tool_key": np.uint64,
    "run_key": np.uint64,
    "service_key": np.uint64,
    "span_key": np.uint64,
    "parent_key": np.uint64,
    "identity_key": np.uint64,
    "content_key": np.uint64,
    "start_ns": np.int64,
    "end_ns": np.int64,
    "has_start": np.bool_,
    "has_end": np.bool_,
    "failed": np.bool_,
    "empty_result": np.bool_,
    "ran": np.bool_,
    "verified": np.bool_,
    "matched": np.bool_,
}

_SELDOM: Mapping[str, tuple[DTypeLike, float]] = {
    "readonly": (np.int8, NONE),
    "replay_safe": (np.int8, NONE),
    "freshness_override": (np.float64, np.nan),
    "invalidates_key": (np.uint64, 0),
    "declared_run_key": (np.uint64, 0),
    "user_key": (np.uint64, 0),
    "session_key": (np.uint64, 0),
    "served_start_ns": (np.int64, 0),
    "cost_usd": (np.float64, np.nan),
}
"""Columns that many stores tell nothing in, and what stands for nothing."""


def _read_columns(store: duckdb.DuckDBPyConnection, *, by_trace: bool) -> dict[str, NDArray[Any]]:
    """Read batch by batch into arrays of the final length: a store keeps no order of its own."""
    (count,) = store.execute("SELECT count(*) FROM tool_call").fetchall()[0]
    columns: dict[str, NDArray[Any]] = {
        name: np.empty(count, kind) for name, kind in _TYPES.items()
    }
    seldom: dict[str, NDArray[Any]] = {}
    selected = store.sql("SELECT * FROM _call_column($by_trace)", params={"by_trace": by_trace})
    for batch in selected.to_arrow_reader(_BATCH_ROWS):
        rows = batch.column("call_key").to_numpy()
        for name, column in columns.items():
            column[rows] = batch.column(name).to_numpy(zero_copy_only=False)
        for name, (kind, nothing) in _SELDOM.items():
            told = batch.column(name)
            if told.null_count < len(told):
                if name not in seldom:
                    seldom[name] = np.full(count, nothing, kind)
                seldom[name][rows] = told.fill_null(nothing).to_numpy()
    for name, (kind, nothing) in _SELDOM.items():
        columns[name] = seldom.get(name, _all_alike(nothing, kind, count))
    pa.default_memory_pool().release_unused()
    return columns


def _all_alike(value: float, kind: DTypeLike, count: int) -> NDArray[Any]:
    """Return a column of one value, which takes no memory and cannot be written."""
    return np.broadcast_to(np.array(value, kind), count)


def _coded(keys: Keys) -> tuple[Codes, Keys]:
    """Return codes in order of first appearance, `NONE` for the key 0, and the key of each code.

    By sorting: a table of a million keys would take ten times the memory.
    """
    if not len(keys):
        return np.zeros(0, np.int32), keys
    order = np.argsort(keys).astype(np.int32)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    known, lengths = ordered[starts], np.diff(starts, append=len(keys))
    del ordered
    first = np.minimum.reduceat(order, starts)
    if known[0] == 0:
        first[0] = len(keys)  # behind all others
    by_first = np.argsort(first)
    codes_of = np.empty(len(known), np.int32)
    codes_of[by_first] = np.arange(len(known))
    if known[0] == 0:
        codes_of[0] = NONE
        by_first = by_first[:-1]
    codes = np.empty(len(keys), np.int32)
    codes[order] = np.repeat(codes_of, lengths)
    return codes, known[by_first]


def _coded_few(keys: Keys) -> tuple[Codes, Keys]:
    """Return what `_coded` does, of a column without 0 that has few different keys: by a table."""
    coded = pa.array(keys).dictionary_encode()
    return coded.indices.to_numpy(), coded.dictionary.to_numpy()


def _seldom(keys: Keys) -> tuple[Codes, Keys]:
    """Return codes as `_coded` does, of a column that most stores have nothing in."""
    if keys.any():
        return _coded(keys)
    return _all_alike(NONE, np.int32, len(keys)), keys[:0]


def _ranked(keys: Keys) -> Codes:
    """Return codes in order of the keys, `NONE` for the key 0."""
    if not keys.any():
        return _all_alike(NONE, np.int32, len(keys))
    codes, known = ranked(keys)
    return codes - np.int32(known[0] == 0)


def ranked(keys: NDArray[_Key]) -> tuple[Codes, NDArray[_Key]]:
    """Return the rank of each key among the different ones, and these in order.

    As `numpy.unique` does, in little more than half its memory.
    """
    order = np.argsort(keys)
    ordered = keys[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    codes = np.empty(len(keys), np.int32)
    codes[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    return codes, ordered[new]


def _declared_texts(store: duckdb.DuckDBPyConnection, keys: Keys) -> tuple[str, ...]:
    """Return what writers declare to void, in the order of the keys that stand for it."""
    if not len(keys):
        return ()
    found = store.execute("SELECT DISTINCT key, text FROM _declared_invalidates").fetchall()
    texts = dict(found)
    return tuple(texts[key] for key in keys.tolist())


def _by_tool(identity: Codes, tool: Codes, tools: int) -> tuple[Codes, Numbers]:
    """Return the identity codes ordered by tool first, and where those of each tool begin."""
    count = int(identity.max(initial=NONE)) + 1
    tool_of = tool[first_rows(identity, count)].astype(np.int64)
    order = np.sort(tool_of * count + np.arange(count)) % max(count, 1)
    renamed = np.empty(count + 1, np.int32)
    renamed[order] = np.arange(count)
    renamed[NONE] = NONE
    starts = np.concatenate(([0], np.cumsum(np.bincount(tool_of, minlength=tools))))
    return renamed[identity], starts


def _tools(
    tool: Codes, names: pa.Table, read: dict[str, NDArray[Any]], settings: Settings
) -> tuple[ToolFacts, ...]:
    """Return the facts of every tool; takes the columns of what spans attest out of ``read``.

    ``names``: a row of `name_table` per tool.
    """
    readonly = _attested_flags(tool, len(names), read.pop("readonly"))
    replay_safe = _attested_flags(tool, len(names), read.pop("replay_safe"))
    freshness = _smallest(tool, len(names), read.pop("freshness_override"))
    return tuple(
        tool_facts(
            ToolName(**name),
            Attested(readonly[code], replay_safe[code], freshness[code]),
            settings.extract.tools,
            settings.prices,
        )
        for code, name in enumerate(names.select(["namespace", "tool", "kind"]).to_pylist())
    )


def _attested_flags(tool: Codes, tools: int, told: NDArray[np.int8]) -> list[bool | None]:
    """Return what all spans of each tool say: False beats True beats nothing."""
    denied = np.bincount(tool[told == 0], minlength=tools) > 0
    attested = np.bincount(tool[told == 1], minlength=tools) > 0
    return [
        False if no else (True if yes else None) for no, yes in zip(denied, attested, strict=True)
    ]


def _smallest(tool: Codes, tools: int, told: NDArray[np.float64]) -> list[float | None]:
    smallest = np.full(tools, np.inf)
    known = ~np.isnan(told)
    np.minimum.at(smallest, tool[known], told[known])
    return [None if bound == np.inf else float(bound) for bound in smallest]


def _costs(cost_usd: NDArray[np.float64], tool: Codes, tools: Sequence[ToolFacts]) -> Numbers:
    """Return the cost of each call: its own, else the price of its tool."""
    prices = np.array([np.nan if t.price_usd is None else t.price_usd for t in tools], np.float64)
    cost = np.where(cost_usd >= 0, cost_usd, prices[tool])
    known = np.isfinite(cost)
    if not known.any():
        return _all_alike(NONE, np.int64, len(cost))
    return np.where(known, np.rint(np.where(known, cost, 0) * NANO), NONE).astype(np.int64)
