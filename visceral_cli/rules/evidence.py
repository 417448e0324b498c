"""What a rule rests on: the comparisons of its tool, and the calls of its identity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from visceral_cli.analysis.figures import (
    ElsewhereFigures,
    GroupFigures,
    InvalidationFigures,
    SharingFigures,
)
from visceral_cli.analysis.tools import ToolFacts, ToolName
from visceral_cli.contract.identity import InputHash
from visceral_cli.contract.rule import plain_number
from visceral_cli.rules.refusal import RefusalKind


class BoundEvidence(msgspec.Struct, frozen=True):
    """The comparisons behind one freshness of one tool."""

    freshness_seconds: float
    any_identity: bool
    """Whether it speaks for any arguments, or only for the identities that were compared."""
    stale_rate_at_most: float
    """With ``confidence`` at most this share of the serves is stale."""
    confidence: float
    effective_observations: float
    """Stored results, each one observation; fewer in effect where a few of them dominate."""
    serves: int
    """Serves that were counted."""
    stale: int
    """Stale ones among them."""
    stored_results: int
    """Stored results that the counted serves came from."""
    runs: int
    """Runs in which a call would have been served."""
    span_seconds: float
    """The length of the traces, first start to last."""
    largest_age_seconds: float | None
    """The largest age at which a stored result was compared."""
    shared_change_bound: float | None = None
    """The same bound, if identities change at once: all of them, or as many as were seen to."""
    smallest_passing_stale_rate: float | None = None
    """The smallest tolerated stale rate that would pass today; of use where nothing is proven."""
    warnings: tuple[str, ...] = ()
    """Such as that old results are worse than the average."""


class IdentityCalls(msgspec.Struct, frozen=True):
    """The calls of one identity that repeated."""

    input_hash: InputHash
    hash_v: int
    calls: int
    repeats: int
    same_result: int
    changed: int
    empty_result: bool
    version: str | None = None
    """The declared version, which is part of the identity."""


class IdentityServes(msgspec.Struct, frozen=True):
    """What one identity contributed to the comparisons at the freshness of its tool."""

    serves: int
    stale: int
    volatile: bool
    """Too many of its serves were stale: no rule names it."""
    in_scope: bool
    """At least one of its serves was counted, and it is not volatile."""


class Missing(msgspec.Struct, frozen=True):
    """What keeps a tool's freshness from being proven."""

    kind: RefusalKind
    message: str
    """With both numbers, such as ``298 clean observations, needs 299``."""


class Veto(msgspec.Struct, frozen=True):
    """Something that forbids rules for a tool, whatever freshness is proven."""

    kind: RefusalKind
    message: str
    next_step: str


class ToolEvidence(msgspec.Struct, frozen=True):
    """All that is known of one tool of one namespace."""

    facts: ToolFacts
    bound: BoundEvidence | None
    """The proven freshness, or the one nearest to a proof; ``None``: nothing was compared."""
    missing: Missing | None
    """``None`` exactly when the freshness of ``bound`` is proven."""
    repeats: int
    """Of all its identities."""
    identities: Sequence[IdentityCalls]
    """Those that repeated, where rules or candidates may come of them; else none."""
    serves: Mapping[str, IdentityServes]
    """By input hash, for the identities with a serve at the freshness of ``bound``."""
    vetoes: Sequence[Veto] = ()
    sharing: SharingFigures | None = None
    """Within which scope all of this was found."""
    ignored: tuple[str, ...] = ()
    """What results were compared without, as JSON paths."""
    elsewhere: ElsewhereFigures | None = None
    """What writes of other runs do; ``None``: none is in reach."""
    invalidations: tuple[InvalidationFigures, ...] = ()
    """The writers after which its results change."""


def identities_by_tool(groups: Iterable[GroupFigures]) -> dict[ToolName, list[IdentityCalls]]:
    """Return the identities that repeated, by tool, in order of their hash.

    Groups of several traces that share an identity are added up.
    """
    found: dict[ToolName, dict[tuple[str, int], list[GroupFigures]]] = {}
    for group in groups:
        if group.repeats:
            of_tool = found.setdefault(ToolName(group.namespace, group.tool, group.kind), {})
            of_tool.setdefault((group.input_hash, group.hash_v), []).append(group)
    return {
        name: [_added_up(parts) for _, parts in sorted(of_tool.items())]
        for name, of_tool in found.items()
    }


def _added_up(groups: list[GroupFigures]) -> IdentityCalls:
    return IdentityCalls(
        input_hash=InputHash(groups[0].input_hash),
        hash_v=groups[0].hash_v,
        calls=sum(group.calls for group in groups),
        repeats=sum(group.repeats for group in groups),
        same_result=sum(group.same_result for group in groups),
        changed=sum(group.changed for group in groups),
        empty_result=any(group.empty_result for group in groups),
        version=groups[0].version,
    )


def evidence_to_json(
    identity: IdentityCalls,
    serves: IdentityServes | None,
    bound: BoundEvidence,
    *,
    missing: str | None = None,
    sharing: SharingFigures | None = None,
    ignored: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the evidence of one rule as JSON values, the identity's own figures first.

    ``served`` are the identity's own serves in the replay, ``serves`` those of the whole tool that
    were counted. Fractions are rounded to six decimals; what there is nothing to say about is left
    out. ``scope_pairs`` are calls in a row that only the scope lets share a result, at most an hour
    apart. ``saved_calls`` and ``saved_seconds`` come later, by `with_saving`.
    """
    figures: dict[str, Any] = {
        "version": identity.version,
        "calls": identity.calls,
        "repeats": identity.repeats,
        "same_result": identity.same_result,
        "changed": identity.changed,
        "served": None if serves is None else serves.serves,
        "served_stale": None if serves is None else serves.stale,
        "proven_for": "tool" if bound.any_identity else "identities",
        "stale_rate_at_most": bound.stale_rate_at_most,
        "confidence": bound.confidence,
        "effective_observations": bound.effective_observations,
        "serves": bound.serves,
        "stale": bound.stale,
        "stored_results": bound.stored_results,
        "runs": bound.runs,
        "span_seconds": bound.span_seconds,
        "largest_age_seconds": bound.largest_age_seconds,
        "shared_change_bound": bound.shared_change_bound,
        "warnings": list(bound.warnings) or None,
        "results_compared_without": list(ignored) or None,
        **_scope_figures(sharing),
        "missing": missing,
    }
    return {name: rounded(value) for name, value in figures.items() if value is not None}


def _scope_figures(sharing: SharingFigures | None) -> dict[str, Any]:
    """Return what speaks for the scope: the comparisons across the step that leads into it."""
    if sharing is None:
        return {}
    figures: dict[str, Any] = {"scope_found": sharing.why}
    for step in sharing.steps:
        if step.within == sharing.scope:
            figures["scope_pairs"] = step.pairs
            figures["scope_pairs_differing"] = step.differing
            figures["scope_stale_rate_at_most"] = step.stale_rate_at_most
    return figures


def with_saving(evidence: dict[str, Any], calls: int, seconds: float) -> dict[str, Any]:
    """Return the evidence with what the rule would have saved on the calls it rests on."""
    return evidence | {"saved_calls": calls, "saved_seconds": rounded(seconds)}


def rounded(value: Any) -> Any:
    """Return fractions to six decimals, whole numbers as integers, and others as they are."""
    return plain_number(round(value, 6)) if isinstance(value, float) else value
