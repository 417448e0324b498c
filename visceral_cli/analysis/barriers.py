"""Which writes a stored result must not outlive: those of the call's own run, and of other runs.

A write of another run voids within the scope of the rule: between the calls that share a result, a
write by any of them ends it. Where the scope asks for a user or a session and a writer names none,
it might be anybody's, and counts for all of the namespace. A writer that declares what it
invalidates voids the results of these tools only, and theirs in all runs of the namespace; one
inside of a declared run (``node(..., run=True)``) voids nothing in other declared runs.
That is what the runtime of this package does; the Visceral SDK hears of its own run alone, so what
is stored, served or judged here is never staler than what either of them serves.

The proof of a freshness takes the opposite care: there only writes of the own run void, so that
results which writes of other runs have changed speak against it (`freshness`, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from visceral_cli.analysis.columns import NONE, CallColumns, Numbers
from visceral_cli.analysis.history import (
    NEVER_NS,
    Codes,
    Flags,
    Places,
    Times,
    WriterEnds,
    Writers,
    find_writers,
    latest_writer_end,
)
from visceral_cli.analysis.scopes import Who
from visceral_cli.analysis.writers import FOREVER_NS, write_times
from visceral_cli.contract.narrowing import voids
from visceral_cli.contract.rule import Sharing

REACHES = tuple(Sharing)
"""How far writes of other runs reach, by the code that stands for it in columns: as far as results
are shared. Within `Sharing.RUN` they do not reach at all, unless they name the tool."""

OWN_RUN = REACHES.index(Sharing.RUN)


class Barriers(msgspec.Struct, frozen=True):
    """Every execution of a writer, failed or not, ready to be asked what it voids."""

    calls: CallColumns
    who: Who | None
    """``None``: nothing is asked beyond the own run."""
    rows: Places
    """Of the writers."""
    start_ns: Times
    end_ns: Times
    _within: dict[Sharing, tuple[Numbers, Flags]] = msgspec.field(default_factory=dict)
    _found: dict[object, Writers] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, calls: CallColumns, who: Who | None, *, without: Flags | None = None) -> Barriers:
        """Return the barriers; ``without``: calls that are taken not to have run.

        A write without times happened while its run lasted, as far as other calls of it tell.
        """
        rows, start_ns, end_ns = write_times(calls, without=without)
        lost = np.flatnonzero((start_ns == NEVER_NS) | (end_ns == FOREVER_NS))
        if len(lost):
            first_ns, last_ns = _lasted(calls)
            run = calls.run[rows[lost]]
            start_ns[lost] = np.maximum(start_ns[lost], first_ns[run])
            end_ns[lost] = np.minimum(end_ns[lost], last_ns[run])
        return cls(calls, who, rows, start_ns, end_ns)

    def latest_end(self, rows: Places, at_ns: Times, reach: Codes) -> Times:
        """Return when the last write ended that began by ``at_ns`` and voids for each of ``rows``.

        ``reach``: for each row a place in `REACHES`. `NEVER_NS` where there is none; a write that
        begins at that very moment counts.
        """
        latest = np.full(len(rows), NEVER_NS)
        if not len(self.rows):
            return latest
        kind = self.calls.tool[rows].astype(np.int64) * len(REACHES) + reach
        order = np.argsort(kind, kind="stable")
        kinds, first = np.unique(kind[order], return_index=True)
        for one, chosen in zip(kinds.tolist(), np.split(order, first[1:]), strict=bool(len(kinds))):
            tool, scope = divmod(one, len(REACHES))
            latest[chosen] = self._of_tool(tool, REACHES[scope], rows[chosen], at_ns[chosen])
        return latest

    def of_history(self, rows: Places, reach: Sharing) -> WriterEnds:
        """Return what `lanes.lay_out` asks for each of ``rows``."""
        code = np.full(len(rows), REACHES.index(reach), np.int32)
        start_ns, end_ns = self.calls.start_ns[rows], self.calls.end_ns[rows]
        return WriterEnds(
            by_start_ns=self.latest_end(rows, start_ns, code),
            by_end_ns=self.latest_end(rows, np.maximum(start_ns, end_ns), code),
        )

    def _of_tool(self, tool: int, scope: Sharing, rows: Places, at_ns: Times) -> Times:
        latest = np.full(len(rows), NEVER_NS)
        run, declared = self.calls.run[rows], self.calls.declared_run[rows]
        for writers, code, heard in self._asked(tool, scope, rows, run, declared):
            chosen = np.flatnonzero(heard)
            if len(chosen) and len(writers.run):
                ends = latest_writer_end(writers, code[chosen], at_ns[chosen])
                latest[chosen] = np.maximum(latest[chosen], ends)
        return latest

    def _asked(
        self, tool: int, scope: Sharing, rows: Places, run: Codes, declared: Codes
    ) -> Iterator[tuple[Writers, Codes, Flags]]:
        """Yield writers by some code, the code of each row, and which rows hear of them."""
        all_hear = np.ones(len(rows), np.bool_)
        outside = declared == NONE
        yield self._writers(tool, "run", declared=False), run, all_hear
        if self._has_declared_runs:
            yield self._writers(tool, "run", declared=True), run, outside
            yield self._writers(tool, "declared", declared=True), declared, ~outside
        anyone = np.zeros(len(rows), np.int32)
        if self.calls.invalidates_texts:
            yield self._writers(tool, "naming", declared=False), anyone, all_hear
            yield self._writers(tool, "naming", declared=True), anyone, outside
        if scope is Sharing.RUN:
            return
        within, known = self._scope(scope)
        here, asks = within[rows].astype(np.int32), known[rows]
        for is_declared, hears in ((False, asks), (True, asks & outside)):
            if is_declared and not self._has_declared_runs:
                return
            yield self._writers(tool, scope, declared=is_declared), here, hears
            yield self._writers(tool, "anyone", scope, declared=is_declared), anyone, hears

    @property
    def _has_declared_runs(self) -> bool:
        return bool((self.calls.declared_run[self.rows] >= 0).any())

    def _scope(self, scope: Sharing) -> tuple[Numbers, Flags]:
        assert self.who is not None
        if scope not in self._within:
            self._within[scope] = (self.who.within(scope), self.who.known(scope))
        return self._within[scope]

    def _writers(
        self, tool: int, by: str, scope: Sharing | None = None, *, declared: bool
    ) -> Writers:
        """Return the writers that void results of the tool, in declared runs or outside of them.

        ``by``: ``run``, ``declared`` (its run), ``naming`` (those that name the tool), a scope, or
        ``anyone``: those of which ``scope`` asks what they do not say. The last three are of the
        tool's namespace.
        """
        name = self.calls.tools[tool].name
        everywhere = by in ("run", "declared")
        texts = self.calls.invalidates_texts
        naming = tuple(voids(text, name.tool) for text in texts)
        key = (by, scope, declared, naming, None if everywhere else name.namespace)
        if key not in self._found:
            rows = self.rows
            chosen = (self.calls.declared_run[rows] >= 0) == declared
            chosen &= np.array([*naming, True])[self.calls.invalidates[rows]]
            if not everywhere:
                chosen &= self._in_namespace(name.namespace)[self.calls.tool[rows]]
            code = np.zeros(len(rows), np.int32)
            if by == "run":
                code = self.calls.run[rows]
            elif by == "declared":
                code = self.calls.declared_run[rows]
            elif by == "naming":
                chosen &= self.calls.invalidates[rows] >= 0
            elif by == "anyone":
                assert scope is not None
                chosen &= ~self._scope(scope)[1][rows]
            else:
                within, known = self._scope(Sharing(by))
                code = within[rows].astype(np.int32)
                chosen &= known[rows]
            self._found[key] = find_writers(
                code[chosen], self.start_ns[chosen], self.end_ns[chosen]
            )
        return self._found[key]

    def _in_namespace(self, namespace: str) -> Flags:
        return np.array([facts.name.namespace == namespace for facts in self.calls.tools], np.bool_)


def _lasted(calls: CallColumns) -> tuple[Times, Times]:
    """Return when the first call of each run began and the last ended; ever where none tells."""
    timed = np.flatnonzero(calls.timed)
    first_ns = np.full(calls.runs, FOREVER_NS)
    np.minimum.at(first_ns, calls.run[timed], calls.start_ns[timed])
    last_ns = np.full(calls.runs, NEVER_NS)
    np.maximum.at(last_ns, calls.run[timed], calls.end_ns[timed])
    unknown = last_ns == NEVER_NS
    first_ns[unknown], last_ns[unknown] = NEVER_NS, FOREVER_NS
    return first_ns, last_ns
