"""The calls of a few groups, one by one, for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import numpy as np

from visceral_cli.analysis.columns import NANO, CallColumns, Numbers
from visceral_cli.analysis.figures import Verdict
from visceral_cli.analysis.groups import Groups
from visceral_cli.analysis.histories import rows_by_code
from visceral_cli.analysis.names import CallName, call_names
from visceral_cli.analysis.serving import Serving
from visceral_cli.analysis.verdicts import VERDICTS, CallVerdicts
from visceral_cli.report.explain.difference import Difference, difference_of_texts
from visceral_cli.report.page.detail import (
    CALLS_OF_A_GROUP,
    GROUPS,
    TRACES_OF_A_GROUP,
    WRITERS_OF_A_GROUP,
    CallMark,
    GroupTimeline,
    Mark,
    WriterMark,
)


def group_timelines(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    verdicts: CallVerdicts,
    serving: Serving,
    groups: Groups,
    *,
    show_values: bool,
) -> tuple[GroupTimeline, ...]:
    """Return the first groups with their calls in order of time."""
    identities = calls.identity[groups.first_row[:GROUPS]]
    rows = np.flatnonzero(np.isin(calls.identity, identities) & calls.has_start)
    ordered = rows_by_code(calls.identity, rows)
    starts = np.searchsorted(calls.identity[ordered], identities)
    ends = np.searchsorted(calls.identity[ordered], identities, side="right")
    lanes = [ordered[first:end] for first, end in zip(starts, ends, strict=True)]
    served = np.zeros(len(calls), np.bool_)
    served[serving.served] = True
    drawing = _Drawing(store, calls, verdicts, served, show_values=show_values)
    return tuple(drawing.timeline(place, lane) for place, lane in enumerate(lanes) if len(lane))


class _Drawing:
    """Turns rows into marks."""

    def __init__(
        self,
        store: duckdb.DuckDBPyConnection,
        calls: CallColumns,
        verdicts: CallVerdicts,
        would_serve: np.typing.NDArray[np.bool_],
        *,
        show_values: bool,
    ) -> None:
        self._store, self._calls, self._verdicts = store, calls, verdicts
        self._would_serve, self._show_values = would_serve, show_values

    def timeline(self, place: int, lane: Numbers) -> GroupTimeline:
        """Return one group; ``lane`` are its calls in order of time."""
        calls = self._calls
        rows = self._first_calls(lane)
        first_ns, last_ns = int(calls.start_ns[rows[0]]), int(calls.start_ns[rows[-1]])
        traces = {run: nth for nth, run in enumerate(dict.fromkeys(calls.run[rows].tolist()))}
        writers = self._writers(traces, first_ns, last_ns)
        pair = self._changed_pair(lane)
        begins = self._begins(np.concatenate((rows, writers)))
        names = call_names(self._store, np.concatenate((rows, writers, pair)))
        return GroupTimeline(
            place=place,
            calls=self._marks(rows, traces, names, begins),
            calls_in_all=len(lane),
            writers=tuple(
                WriterMark(
                    traces[int(calls.run[row])],
                    (int(calls.start_ns[row]) - begins[int(calls.run[row])]) / NANO,
                    names[row].tool,
                )
                for row in writers.tolist()
            ),
            changed_span_ids=_span_ids(pair, names),
            difference=self._difference(pair),
        )

    def _first_calls(self, lane: Numbers) -> Numbers:
        """Return the first calls, of so many traces as can be drawn below each other."""
        rows = lane[:CALLS_OF_A_GROUP]
        shown = list(dict.fromkeys(self._calls.run[rows].tolist()))[:TRACES_OF_A_GROUP]
        kept: Numbers = rows[np.isin(self._calls.run[rows], shown)]
        return kept

    def _begins(self, rows: Numbers) -> Mapping[int, int]:
        """Return by trace the first start among these calls."""
        begins: dict[int, int] = {}
        runs, starts = self._calls.run[rows].tolist(), self._calls.start_ns[rows].tolist()
        for run, start_ns in zip(runs, starts, strict=True):
            begins[run] = min(start_ns, begins.get(run, start_ns))
        return begins

    def _marks(
        self,
        rows: Numbers,
        traces: Mapping[int, int],
        names: Mapping[int, CallName],
        begins: Mapping[int, int],
    ) -> tuple[CallMark, ...]:
        calls, results = self._calls, dict[int, int]()
        first_ns = int(calls.start_ns[rows[0]])
        matched = self._matched(rows[calls.verified[rows]])
        found = []
        for row in rows.tolist():
            content = int(calls.content[row])
            if content >= 0:
                results.setdefault(content, len(results) + 1)
            found.append(
                CallMark(
                    trace=traces[int(calls.run[row])],
                    trace_id=names[row].trace_id,
                    span_id=names[row].span_id,
                    after_seconds=(int(calls.start_ns[row]) - first_ns) / NANO,
                    in_trace_seconds=(int(calls.start_ns[row]) - begins[int(calls.run[row])])
                    / NANO,
                    seconds=int(calls.duration_of(np.array([row]))[0]) / NANO,
                    mark=self._mark(row, matched),
                    verdict=VERDICTS[self._verdicts.verdict[row]].value,
                    result=results.get(content),
                    would_serve=bool(self._would_serve[row]),
                )
            )
        return tuple(found)

    def _matched(self, rows: Numbers) -> set[int]:
        """Return which of these verify samples matched."""
        if not len(rows):
            return set()
        found = self._store.execute(
            "SELECT call_key FROM tool_call WHERE list_contains($rows, call_key) AND verify_match",
            {"rows": rows.tolist()},
        ).fetchall()
        return {call_key for (call_key,) in found}

    def _mark(self, row: int, matched: set[int]) -> Mark:
        calls = self._calls
        if calls.failed[row]:
            return Mark.FAILED
        if not calls.ran[row]:
            return Mark.SERVED
        if not calls.verified[row]:
            return Mark.RAN
        return Mark.MATCHED if row in matched else Mark.MISMATCHED

    def _writers(self, traces: Mapping[int, int], first_ns: int, last_ns: int) -> Numbers:
        calls = self._calls
        wrote = calls.writer & calls.ran & calls.has_start
        wrote &= (calls.start_ns >= first_ns) & (calls.start_ns <= last_ns)
        rows = np.flatnonzero(wrote)
        return rows[np.isin(calls.run[rows], list(traces))][:WRITERS_OF_A_GROUP]

    def _changed_pair(self, lane: Numbers) -> Numbers:
        """Return the first call whose result changed and its source, else no call."""
        changed = lane[self._verdicts.is_(Verdict.CHANGED)[lane]]
        if not len(changed):
            return np.zeros(0, np.int64)
        return np.array([int(self._verdicts.source[changed[0]]), int(changed[0])])

    def _difference(self, pair: Numbers) -> Difference | None:
        if not len(pair):
            return None
        texts = dict(
            self._store.execute(
                "SELECT call_key, text FROM tool_call JOIN result_text USING (content_hash) "
                "WHERE call_key IN (?, ?)",
                pair.tolist(),
            ).fetchall()
        )
        first, second = (texts.get(row) for row in pair.tolist())
        return difference_of_texts(first, second, show_values=self._show_values)


def _span_ids(pair: Numbers, names: Mapping[int, CallName]) -> tuple[str, str] | None:
    ids: Sequence[str] = [names[row].span_id for row in pair.tolist()]
    return (ids[0], ids[1]) if ids else None
