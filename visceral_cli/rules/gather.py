"""What the freshness analysis found of one tool → the evidence that rules are proposed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import duckdb
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.columns import CallColumns, first_rows
from visceral_cli.analysis.freshness import Bound, NoBound, Scope
from visceral_cli.analysis.groups import Groups, group_figures
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.analysis.history import Codes
from visceral_cli.analysis.missing import Shortfall
from visceral_cli.analysis.names import name_table
from visceral_cli.analysis.stability import Instability, InstabilityKind
from visceral_cli.analysis.tools import ToolFacts
from visceral_cli.rules.evidence import (
    BoundEvidence,
    IdentityCalls,
    IdentityServes,
    Missing,
    ToolEvidence,
    identities_by_tool,
)
from visceral_cli.rules.refusal import RefusalKind

KIND_OF_SHORTFALL: Mapping[Shortfall, RefusalKind] = {
    Shortfall.DECLARED_NEVER: RefusalKind.DECLARED_NEVER,
    Shortfall.NO_REPEAT: RefusalKind.NO_REPEATS,
    Shortfall.RUNS: RefusalKind.TOO_FEW_RUNS,
    Shortfall.RESULTS: RefusalKind.TOO_FEW_RESULTS,
    Shortfall.SPAN: RefusalKind.TOO_SHORT,
    Shortfall.OBSERVATIONS: RefusalKind.TOO_FEW_OBSERVATIONS,
    Shortfall.STALE: RefusalKind.TOO_OFTEN_STALE,
    Shortfall.SHARED_CONFIDENCE: RefusalKind.SHARED_CONFIDENCE,
}

KIND_OF_INSTABILITY: Mapping[InstabilityKind, RefusalKind] = {
    InstabilityKind.ALWAYS_NEW: RefusalKind.NEW_EVERY_TIME,
    InstabilityKind.CHANGES_AT_ONCE: RefusalKind.CHANGES_IN_SECONDS,
}


def evidence_of_tools(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    tools: Sequence[ToolHistory],
    bounds: Sequence[Bound | NoBound],
    groups: Groups,
    *,
    include_candidates: bool,
) -> Iterator[ToolEvidence]:
    """Yield the evidence of every tool, writers included; ``bounds[i]`` belongs to ``tools[i]``.

    Identities are looked up only where rules, or candidates that are wanted, may come of them.
    """
    found = {tool.code: (tool, bound) for tool, bound in zip(tools, bounds, strict=True)}
    named = [
        code
        for code, (tool, bound) in found.items()
        if include_candidates or (tool.facts.may_be_served and isinstance(bound, Bound))
    ]
    tool_of_group = calls.tool[groups.first_row]
    repeats = np.bincount(tool_of_group, groups.repeats, minlength=len(calls.tools))
    of_named = groups.only(np.isin(tool_of_group, named))
    identities = identities_by_tool(group_figures(store, of_named))
    first = first_rows(calls.identity, calls.identities)
    for code, facts in enumerate(calls.tools):
        count = int(repeats[code])
        if code not in found:
            yield ToolEvidence(facts, None, None, count, (), {})
            continue
        tool, bound = found[code]

        def hashes_of(codes: Codes, first_identity: int = tool.first_identity) -> list[str]:
            rows = first[codes + first_identity]
            hashes: list[str] = name_table(store, rows).column("input_hash").to_pylist()
            return hashes

        yield gather_evidence(
            facts,
            bound,
            count,
            identities.get(facts.name, ()),
            hashes_of if code in named else None,
        )


def gather_evidence(
    facts: ToolFacts,
    found: Bound | NoBound,
    repeats: int,
    identities: Sequence[IdentityCalls],
    hashes_of: Callable[[Codes], Sequence[str]] | None,
) -> ToolEvidence:
    """Return the evidence of one tool.

    ``repeats`` are those of the whole tool, ``identities`` those of it that repeated;
    ``hashes_of`` returns the input hashes of identities as ``found`` numbers them, which may name
    one hash more than once (one for each trace). Without it no identity is named.
    """
    return ToolEvidence(
        facts=facts,
        bound=bound_evidence(found),
        missing=None if isinstance(found, Bound) else _missing(found),
        repeats=repeats,
        identities=identities,
        serves={} if hashes_of is None else _serves(found, hashes_of),
    )


def bound_evidence(found: Bound | NoBound) -> BoundEvidence | None:
    """Return the comparisons behind a bound, or at the candidate that comes closest to one."""
    point = found.point
    if point is None:
        return None
    nearest = BoundEvidence(
        # Nothing is said beyond the largest age that was compared.
        freshness_seconds=min(point.freshness_ns, point.largest_age_ns) / 1e9,
        any_identity=False,
        stale_rate_at_most=point.bound_at(found.level),
        confidence=1 - found.level,
        effective_observations=point.counted_observations,
        serves=point.counted_serves,
        stale=point.counted_stale,
        stored_results=point.counted_results,
        runs=point.runs,
        span_seconds=found.curve.span_seconds,
        largest_age_seconds=point.largest_age_ns / 1e9 if point.serves else None,
    )
    if isinstance(found, NoBound):
        return replace(nearest, smallest_passing_stale_rate=found.passes_at)
    return replace(
        nearest,
        freshness_seconds=found.freshness_seconds,
        any_identity=found.scope is Scope.TOOL,
        stale_rate_at_most=found.stale_rate_bound,
        shared_change_bound=found.shared_change_rate,
        warnings=tuple(_warnings(found)),
    )


def _warnings(bound: Bound) -> list[str]:
    warnings = []
    if bound.old_half.worse:
        warnings.append(
            f"{bound.old_half.stale} of {bound.old_half.serves} serves older than half the "
            "freshness were stale: with fewer quick repeats a larger share would be"
        )
    warnings += _warnings_of_changes(bound)
    if bound.clocks_differ:
        warnings.append("times of several hosts were compared to within seconds")
    if bound.instability is not None:
        warnings.append(_in_words(bound.instability))
    return warnings


def _warnings_of_changes(bound: Bound) -> Iterator[str]:
    """Yield what the bound does not cover, where more may be stale than is tolerated."""
    tolerated, together, late = bound.tolerated_rate, bound.changes.shared, bound.changes.late
    if bound.shared_change_rate > tolerated:
        at_most = _percent(bound.shared_change_rate)
        if together is None:
            yield (
                f"if all results changed at once, too seldom for {_days(bound.curve.span_seconds)} "
                f"of traces to show it, up to {at_most} of the serves would be stale"
            )
        else:
            yield (
                f"results of different arguments changed together, {_moments(together.moments)} "
                f"and {_percent(together.share)} of those that were compared then: up to "
                f"{at_most} of the serves may be stale"
            )
    if late is not None and (bound.late_stale_rate or 0) > tolerated:
        yield (
            f"results changed {late.factor:.1f} times as often in the last quarter of the calls as "
            f"in all of them: if that goes on, up to {_percent(bound.late_stale_rate or 0)} of the "
            "serves will be stale"
        )


def _percent(rate: float) -> str:
    """Return a share, rounded up: what is at most so much is said to be no less."""
    return f"{math.ceil(rate * 1000 - 1e-9) / 10:g}%"


def _days(seconds: float) -> str:
    days = seconds / 86400
    return f"{days:.1f} d" if days >= 1 else f"{seconds / 3600:.1f} h"


def _moments(count: int) -> str:
    return "at one moment" if count == 1 else f"at {count} moments"


def _in_words(instability: Instability) -> str:
    return (
        f"{instability.differing} of {instability.pairs} results at most a minute after an equal "
        "call were others"
    )


def instabilities(
    tools: Sequence[ToolHistory], bounds: Sequence[Bound | NoBound]
) -> dict[int, str]:
    """Return, by tool code, what is said of a tool whose results differ though nothing changed."""
    return {
        tool.code: _in_words(bound.instability)
        for tool, bound in zip(tools, bounds, strict=True)
        if bound.instability is not None
    }


def _missing(found: NoBound) -> Missing:
    unstable = found.instability
    if unstable is not None:
        return Missing(KIND_OF_INSTABILITY[unstable.kind], _in_words(unstable))
    message = "; ".join(missing.message for missing in found.missing)
    return Missing(KIND_OF_SHORTFALL[found.missing[0].kind], message)


def _serves(
    found: Bound | NoBound, hashes_of: Callable[[Codes], Sequence[str]]
) -> dict[str, IdentityServes]:
    of = found.identities
    if of is None:
        return {}
    columns = (of.serves, of.stale, of.volatile, of.in_scope)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    serves: dict[str, IdentityServes] = {}
    for name, row in zip(hashes_of(of.identity), rows, strict=True):
        serves[name] = _added(serves.get(name), IdentityServes(*row))
    return serves


def _added(other: IdentityServes | None, one: IdentityServes) -> IdentityServes:
    if other is None:
        return one
    volatile = one.volatile or other.volatile
    return IdentityServes(
        serves=one.serves + other.serves,
        stale=one.stale + other.stale,
        volatile=volatile,
        in_scope=(one.in_scope or other.in_scope) and not volatile,
    )
