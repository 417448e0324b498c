"""What the stages found → the parts of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import duckdb

from visceral_cli.analysis.figures import ToolFigures
from visceral_cli.analysis.freshness import Bound, NoBound, questions_of
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.report.report import (
    BoundFigures,
    CurveFigures,
    DamagePlace,
    Inputs,
    ToolCurve,
    Totals,
)
from visceral_cli.rules.gather import bound_evidence


def inputs_of(store: duckdb.DuckDBPyConnection, names: Sequence[str], orphan_spans: int) -> Inputs:
    """Return what was read, by the store's own count."""
    records, first_ns, last_ns = _row(
        store, "SELECT count(*), min(start_ns), max(start_ns) FROM _span_record"
    )
    spans, traces = _row(store, "SELECT count(*), count(DISTINCT hash(trace_id)) FROM span")
    calls = store.execute(
        "SELECT convention, identity_missing, content_missing, count(*), count(start_ns) "
        "FROM tool_call GROUP BY ALL"
    ).fetchall()
    files, size, logs, skipped = _row(
        store,
        "SELECT count(*), sum(bytes), sum(log_records), sum(skipped) FROM input_file",
    )
    damage = tuple(
        DamagePlace(*row)
        for row in store.execute(
            "SELECT path, kind, line, byte, what, places FROM damage JOIN input_file "
            "USING (file_id) ORDER BY file_id, line NULLS LAST, byte NULLS LAST, kind, what"
        ).fetchall()
    )
    return Inputs(
        names=tuple(names),
        files=files,
        input_bytes=int(size or 0),
        formats=_most_first(
            store.execute("SELECT format, count(*) FROM input_file GROUP BY ALL").fetchall()
        ),
        span_records=records,
        spans=spans,
        traces=traces,
        log_records=int(logs or 0),
        skipped_records=int(skipped or 0),
        orphan_spans=orphan_spans,
        tool_calls=sum(count for *_, count, _ in calls),
        conventions=_most_first((told, count) for told, _, _, count, _ in calls),
        damaged=sum(place.places for place in damage),
        damage=damage,
        without_identity=_most_first((why, count) for _, why, _, count, _ in calls),
        without_content=_most_first((why, count) for _, _, why, count, _ in calls),
        without_times=sum(count - timed for *_, count, timed in calls),
        first_start_ns=first_ns,
        last_start_ns=last_ns,
    )


def totals_of(tools: Sequence[ToolFigures], cost_usd: float | None) -> Totals:
    """Return the sums over all tools."""
    return Totals(
        tools=len(tools),
        repeats=sum(tool.repeats for tool in tools),
        same_result=sum(tool.same_result for tool in tools),
        in_flight=sum(tool.in_flight for tool in tools),
        retries=sum(tool.retries for tool in tools),
        after_writer=sum(tool.after_writer for tool in tools),
        tool_seconds=sum(tool.tool_seconds for tool in tools),
        repeat_seconds=sum(tool.repeat_seconds for tool in tools),
        cost_usd=cost_usd,
    )


def bound_figures(
    tools: Sequence[ToolHistory], bounds: Sequence[Bound | NoBound]
) -> tuple[BoundFigures, ...]:
    """Return what is proven of each tool, or how far it is from it."""
    return tuple(_bound(tool, found) for tool, found in zip(tools, bounds, strict=True))


def curve_figures(
    tools: Sequence[ToolHistory], bounds: Sequence[Bound | NoBound]
) -> tuple[ToolCurve, ...]:
    """Return the stale curve of each tool."""
    return tuple(
        ToolCurve(
            tool.facts.name.namespace,
            tool.facts.name.tool,
            tool.facts.name.kind,
            tuple(
                CurveFigures(
                    freshness_seconds=point.freshness_seconds,
                    serves=point.serves,
                    stale=point.stale,
                    saved_seconds=point.saved_ns / 1e9,
                    effective_observations=point.observations,
                    stale_rate_at_most=point.stale_rate_bound,
                    failed_guards=tuple(guard.value for guard in point.failed_guards),
                )
                for point in found.curve.points
            ),
        )
        for tool, found in zip(tools, bounds, strict=True)
    )


def _bound(tool: ToolHistory, found: Bound | NoBound) -> BoundFigures:
    evidence = bound_evidence(found)
    proven = isinstance(found, Bound)
    identities = found.identities
    name = tool.facts.name
    return BoundFigures(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        proven=proven,
        freshness_seconds=None if evidence is None else evidence.freshness_seconds,
        scope="tool" if evidence is not None and evidence.any_identity else "identities",
        stale_rate_at_most=None if evidence is None else evidence.stale_rate_at_most,
        confidence=1 - found.level,
        effective_observations=0.0 if evidence is None else evidence.effective_observations,
        serves=0 if evidence is None else evidence.serves,
        stale=0 if evidence is None else evidence.stale,
        stored_results=0 if evidence is None else evidence.stored_results,
        runs=found.curve.runs if evidence is None else evidence.runs,
        span_seconds=found.curve.span_seconds,
        largest_age_seconds=None if evidence is None else evidence.largest_age_seconds,
        shared_change_bound=None if evidence is None else evidence.shared_change_bound,
        smallest_passing_stale_rate=None
        if evidence is None
        else evidence.smallest_passing_stale_rate,
        missing=None
        if isinstance(found, Bound)
        else "; ".join(missing.message for missing in found.missing),
        warnings=() if evidence is None else evidence.warnings,
        identities=0 if identities is None else len(questions_of(tool.calls, identities.included)),
        excluded_identities=0
        if identities is None
        else len(questions_of(tool.calls, identities.excluded)),
    )


def _row(store: duckdb.DuckDBPyConnection, query: str) -> tuple[int, ...]:
    row: tuple[int, ...] = store.execute(query).fetchall()[0]
    return row


def _most_first(counts: Iterable[tuple[str | None, int]]) -> dict[str, int]:
    """Return the counts of each name added up, most first; those without a name left out."""
    added: Counter[str] = Counter()
    for name, count in counts:
        if name is not None:
            added[name] += count
    return dict(sorted(added.items(), key=lambda row: (-row[1], row[0])))
