"""The traces with most to save, span by span, for the page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import duckdb
import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.columns import NANO, CallColumns, Numbers, first_rows
from visceral_cli.analysis.critical_path import critical_path
from visceral_cli.analysis.figures import Verdict
from visceral_cli.analysis.history import Places
from visceral_cli.analysis.names import call_names
from visceral_cli.analysis.serving import Serving
from visceral_cli.analysis.verdicts import VERDICTS, CallVerdicts
from visceral_cli.report.page.detail import (
    SPANS_OF_A_TRACE,
    TRACES,
    Bar,
    SpanBar,
    Waterfall,
)

_SPANS = """
SELECT trace_id, span_id, parent_span_id, name, start_ns, end_ns
FROM span
WHERE list_contains($traces, trace_id) AND end_ns >= start_ns
ORDER BY trace_id, start_ns, end_ns DESC, span_id
"""
_CALLS = """
SELECT call_key, trace_id, span_id FROM tool_call
WHERE list_contains($traces, trace_id)
ORDER BY call_key
"""


class _Span(msgspec.Struct, frozen=True):
    span_id: str
    parent_span_id: str | None
    name: str
    start_ns: int
    end_ns: int


def waterfalls(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    verdicts: CallVerdicts,
    serving: Serving,
) -> tuple[Waterfall, ...]:
    """Return the traces with most avoidable time, most first.

    Avoidable is what the proposed rules would have answered; where that is nothing, the repeats
    with the same result.
    """
    rows = serving.served
    if not len(rows):
        rows = np.flatnonzero(verdicts.is_(Verdict.REUSABLE))
    runs = _worst_runs(calls, rows)
    if not len(runs):
        return ()
    firsts = first_rows(calls.run, calls.runs)[runs]
    names = call_names(store, firsts)
    trace_ids = [names[row].trace_id for row in firsts.tolist()]
    spans, keys = _spans(store, trace_ids), _call_keys(store, trace_ids)
    drawing = _Drawing(store, verdicts, _bars(calls, verdicts, serving))
    found = []
    for run, trace_id in zip(runs.tolist(), trace_ids, strict=True):
        if spans[trace_id]:
            saved = rows[calls.run[rows] == run]
            saved_seconds = int(calls.duration_of(saved).sum()) / NANO
            drawn = drawing.waterfall(trace_id, spans[trace_id], keys[trace_id])
            found.append(replace(drawn, saved_calls=len(saved), saved_seconds=saved_seconds))
    return tuple(found)


def _worst_runs(calls: CallColumns, rows: Places) -> Numbers:
    saved_ns = np.zeros(calls.runs, np.int64)
    np.add.at(saved_ns, calls.run[rows], calls.duration_of(rows))
    order = np.argsort(-saved_ns, kind="stable")[:TRACES]
    worst: Numbers = order[saved_ns[order] > 0]
    return worst


def _spans(
    store: duckdb.DuckDBPyConnection, trace_ids: Sequence[str]
) -> Mapping[str, Sequence[_Span]]:
    found: defaultdict[str, list[_Span]] = defaultdict(list)
    for trace_id, *fields in store.execute(_SPANS, {"traces": trace_ids}).fetchall():
        found[trace_id].append(_Span(*fields))
    return found


def _call_keys(
    store: duckdb.DuckDBPyConnection, trace_ids: Sequence[str]
) -> Mapping[str, Mapping[str, int]]:
    """Return by trace and span the first call that the span tells of."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for call_key, trace_id, span_id in store.execute(_CALLS, {"traces": trace_ids}).fetchall():
        found[trace_id].setdefault(span_id, call_key)
    return found


_BARS = tuple(Bar)


def _bars(calls: CallColumns, verdicts: CallVerdicts, serving: Serving) -> Places:
    """Return by call the place of its `Bar`."""
    bars = np.full(len(calls), _BARS.index(Bar.CALL))
    bars[verdicts.is_(Verdict.REUSABLE)] = _BARS.index(Bar.REPEAT)
    bars[calls.writer] = _BARS.index(Bar.WRITER)
    bars[serving.absorbed] = _BARS.index(Bar.ABSORBED)
    bars[serving.served] = _BARS.index(Bar.WOULD_SERVE)
    return bars


class _Drawing:
    """Turns the spans of a trace into bars."""

    def __init__(
        self, store: duckdb.DuckDBPyConnection, verdicts: CallVerdicts, bars: Places
    ) -> None:
        self._store, self._verdicts, self._bars = store, verdicts, bars

    def waterfall(
        self, trace_id: str, spans: Sequence[_Span], call_keys: Mapping[str, int]
    ) -> Waterfall:
        """Return one trace; what it would have saved is left open."""
        place = {span.span_id: nth for nth, span in enumerate(spans)}
        parents = [place.get(span.parent_span_id or "", -1) for span in spans]
        parents = [-1 if above == nth else above for nth, above in enumerate(parents)]
        starts, ends = [span.start_ns for span in spans], [span.end_ns for span in spans]
        begin_ns = min(starts)

        path: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        for stretch in critical_path(starts, ends, parents):
            from_seconds = (stretch.from_ns - begin_ns) / NANO
            path[stretch.span].append((from_seconds, (stretch.until_ns - begin_ns) / NANO))
        shown = self._chosen(spans, call_keys, path)
        keys = [call_keys.get(spans[nth].span_id) for nth in shown]
        known = np.array([key for key in keys if key is not None], np.int64)
        names = call_names(self._store, known)
        return Waterfall(
            trace_id=trace_id,
            seconds=(max(ends) - begin_ns) / NANO,
            spans_in_all=len(spans),
            calls=len(call_keys),
            saved_calls=0,
            saved_seconds=0.0,
            spans=tuple(
                SpanBar(
                    name=spans[nth].name if key is None else names[key].tool,
                    span_id=spans[nth].span_id,
                    depth=_depth(nth, parents),
                    after_seconds=(starts[nth] - begin_ns) / NANO,
                    seconds=(ends[nth] - starts[nth]) / NANO,
                    bar=self._bar(key),
                    verdict=None if key is None else VERDICTS[self._verdicts.verdict[key]].value,
                    critical=tuple(path[nth]),
                )
                for nth, key in zip(shown, keys, strict=True)
            ),
        )

    def _bar(self, call_key: int | None) -> Bar:
        return Bar.OTHER if call_key is None else _BARS[self._bars[call_key]]

    def _chosen(
        self,
        spans: Sequence[_Span],
        call_keys: Mapping[str, int],
        path: Mapping[int, Sequence[tuple[float, float]]],
    ) -> list[int]:
        """Return the spans that are drawn, in order of time: those with most to say, then long."""

        def rank(nth: int) -> tuple[int, int, int]:
            span = spans[nth]
            bar = self._bar(call_keys.get(span.span_id))
            if bar is Bar.OTHER:
                matters = 2 if path.get(nth) else 3
            else:
                matters = 1 if bar is Bar.CALL else 0
            return matters, span.start_ns - span.end_ns, nth

        return sorted(sorted(range(len(spans)), key=rank)[:SPANS_OF_A_TRACE])


def _depth(nth: int, parents: Sequence[int]) -> int:
    depth, above = 0, parents[nth]
    while above >= 0 and depth < len(parents):
        depth, above = depth + 1, parents[above]
    return depth
