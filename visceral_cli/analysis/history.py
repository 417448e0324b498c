"""The recorded history a freshness bound is computed from: calls of one tool, and writers.

Times are integer nanoseconds since any one epoch. Identities, results and runs are small whole
numbers that stand for hashes and ids; -1 stands for "none".
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from visceral_cli.contract.narrowing import voids

Codes = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER_NS = np.iinfo(np.int64).min
"""Earlier than any time."""


def count_distinct(codes: Codes) -> int:
    """Return how many different codes there are; of a few thousand, sorting tells soonest."""
    ordered = np.sort(codes)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + bool(len(ordered))


class ToolCalls(msgspec.Struct, frozen=True):
    """The calls of one tool of one namespace, one row each, in order of (start, end, span id).

    Left out beforehand: failed calls, calls without times, and calls that a cache answered.
    """

    start_ns: Times
    end_ns: Times
    identity: Codes
    """-1: unknown; such calls say nothing and are ignored."""
    run: Codes
    content: Codes
    """The result; -1: unknown. Such a call may be served but proves nothing."""
    host: Codes | None = None
    """The host or service whose clock the times are from, where known."""
    declared_freshness_seconds: float | None = None
    """The author's upper limit on the freshness; zero or less means that nothing may be served."""
    question: Codes | None = None
    """What was asked, where results are not shared by all who ask it and ``identity`` therefore
    also says who did; ``None``: just the identity."""
    tool: str | None = None
    """The name of the tool, by which writers declare what they void; ``None``: all void it."""

    def __post_init__(self) -> None:
        """Refuse columns of unequal length and rows out of order."""
        columns = (
            *(self.end_ns, self.identity, self.run, self.content),
            *(self.host, self.question),
        )
        if any(len(column) != len(self.start_ns) for column in columns if column is not None):
            raise ValueError("the columns differ in length")
        if bool(np.any(self.start_ns[1:] < self.start_ns[:-1])):
            raise ValueError("the calls are not in order of their start")


class Declared(msgspec.Struct, frozen=True):
    """What writers declare to void, one element per writer in the order they were given."""

    run: Codes
    start_ns: Times
    end_ns: Times
    code: Codes
    """A place in ``texts``; -1: nothing is declared."""
    texts: tuple[str, ...]
    known: dict[frozenset[int], Writers] = msgspec.field(default_factory=dict)
    """Those already asked for, by the codes that void."""

    def of_tool(self, tool: str) -> Writers:
        """Return the writers that void results of a tool."""
        naming = frozenset(code for code, text in enumerate(self.texts) if voids(text, tool))
        if naming not in self.known:
            those = np.append([code in naming for code in range(len(self.texts))], True)[self.code]
            self.known[naming] = find_writers(
                self.run[those], self.start_ns[those], self.end_ns[those]
            )
        return self.known[naming]


class Writers(msgspec.Struct, frozen=True):
    """All calls of writing tools, made ready by ``find_writers``; in order of (run, start)."""

    start_ns: Times
    """The starts in order of time alone."""
    run: Codes
    key: Places
    """run * (writers + 1) + rank of the start among ``start_ns``, from 1; ascending."""
    latest_end_ns: Times
    """The latest end among this writer and those of its run that started before."""
    declared: Declared | None = None
    """``None``: no writer says that it voids less than everything."""

    def of_tool(self, tool: str | None) -> Writers:
        """Return those that void results of a tool by what they declare; all without a name."""
        return self if self.declared is None or tool is None else self.declared.of_tool(tool)


class WriterEnds(msgspec.Struct, frozen=True):
    """For each row of ``ToolCalls``, when the last write ended that voids for it.

    `NEVER_NS` where there is none.
    """

    by_start_ns: Times
    """Of the writes that had begun when the call did ..."""
    by_end_ns: Times
    """... and of those that had when it ended."""


def find_writers(
    run: Codes,
    start_ns: Times,
    end_ns: Times,
    *,
    declared: Codes | None = None,
    texts: tuple[str, ...] = (),
) -> Writers:
    """Return the writers, given in any order, whatever their outcome was.

    ``declared``: what each declares to void, a place in ``texts`` or -1; ``None``: nothing at all.
    """
    narrowed = None
    if declared is not None and (declared >= 0).any():
        narrowed = Declared(run, start_ns, end_ns, declared, texts)
    count = len(run)
    by_time = np.argsort(start_ns, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[by_time] = np.arange(1, count + 1)
    key = run.astype(np.int64) * (count + 1) + rank
    order = np.argsort(key)
    ends = np.maximum(start_ns, end_ns)[order]
    # Ends are compared by rank: a running maximum over (run, rank) starts anew with each run.
    sorted_ends = np.sort(ends)
    floor = run[order].astype(np.int64) * (count + 1)
    latest = np.maximum.accumulate(floor + np.searchsorted(sorted_ends, ends)) - floor
    return Writers(start_ns[by_time], run[order], key[order], sorted_ends[latest], narrowed)


def latest_writer_end(writers: Writers, run: Codes, at_ns: Times) -> Times:
    """Return, per row, the latest end of a writer of ``run`` that started by ``at_ns``.

    ``NEVER_NS`` where there is none. A writer that starts at that very moment counts.
    """
    latest = np.full(len(run), NEVER_NS)
    if not len(writers.run) or not len(run):
        return latest
    writes = np.zeros(max(int(run.max()), int(writers.run.max())) + 1, dtype=np.bool_)
    writes[writers.run] = True
    row = np.flatnonzero(writes[run])  # often few
    run = run[row]
    started = np.searchsorted(writers.start_ns, at_ns[row], side="right")
    key = run.astype(np.int64) * (len(writers.run) + 1) + started
    place = np.searchsorted(writers.key, key, side="right") - 1
    known = (place >= 0) & (writers.run[place] == run)
    latest[row[known]] = writers.latest_end_ns[place[known]]
    return latest


def writer_ends(calls: ToolCalls, writers: Writers | WriterEnds | None) -> WriterEnds | None:
    """Return what voids for each of the calls; ``None`` where nothing ever does."""
    if writers is None or isinstance(writers, WriterEnds):
        return writers
    writers = writers.of_tool(calls.tool)
    if not len(writers.run):
        return None
    # Asked in order of time, which searches faster.
    return WriterEnds(
        by_start_ns=latest_writer_end(writers, calls.run, calls.start_ns),
        by_end_ns=latest_writer_end(writers, calls.run, np.maximum(calls.start_ns, calls.end_ns)),
    )
