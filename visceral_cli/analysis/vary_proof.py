"""Chosen arguments, proven: how long results stay right for calls that differ in the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import duckdb
import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.argument_values import ArgumentValues, codes_of
from visceral_cli.analysis.candidates import measure_curve
from visceral_cli.analysis.figures import Example, VaryFigures
from visceral_cli.analysis.freshness import share_confidence
from visceral_cli.analysis.history import Codes, Places, ToolCalls, Writers
from visceral_cli.analysis.lanes import lay_out
from visceral_cli.analysis.missing import what_is_missing
from visceral_cli.analysis.names import name_table
from visceral_cli.analysis.replay import replay
from visceral_cli.analysis.scopes import Who
from visceral_cli.analysis.stale_curve import Climb, CurvePoint, StaleCurve
from visceral_cli.analysis.vary import Choice, Pairs, choose_arguments, find_pairs, quarter
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import FreshnessSettings

_EXAMPLES = 3
_WHO = re.compile(
    r"tenant|user|account|session|customer|principal|org|owner|login|auth|token", re.IGNORECASE
)


class _Chosen(msgspec.Struct, frozen=True):
    """A choice and the evidence for it, without the values of the arguments."""

    figures: VaryFigures
    curve: StaleCurve
    reduced: ToolCalls
    """All calls of the tool, with the reduced identity."""
    full: Codes
    """Their identity by all arguments."""


def propose_vary(
    store: duckdb.DuckDBPyConnection,
    tools: Iterable[ArgumentValues],
    who: Who | None,
    writers: Writers | None,
    settings: FreshnessSettings,
) -> list[VaryFigures]:
    """Return what is proposed for each tool for which a set of arguments qualifies.

    Where none does for all who ask, one may within a user; ``who``: of all calls, ``None``: that
    does not matter. As with freshness, the confidence is shared over all tools that could be
    tested.
    """
    chosen = []
    for arguments in tools:
        for within, compared in _by_who(arguments, who):
            choice = choose_arguments(compared, writers, settings.max_stale_rate)
            if choice is not None:
                found = _measured(store, compared, choice, writers, settings)
                figures = replace(found.figures, within=within)
                chosen.append(replace(found, figures=figures))
                break
    level, climbs = share_confidence([one.curve for one in chosen], settings)
    return [
        _concluded(one, found, level, writers, settings)
        for one, found in zip(chosen, climbs, strict=True)
    ]


def _by_who(arguments: ArgumentValues, who: Who | None) -> Iterator[tuple[str, ArgumentValues]]:
    yield "all", arguments
    if who is not None and (who.user[arguments.rows] >= 0).any():
        yield "user", arguments.only_within(who.of(arguments.rows).within(Sharing.USER))


def looks_like_who(name: str) -> bool:
    """Whether an argument might tell who asks, so that a person has to look before it is left out.

    The only use of a name: it never makes an argument be left out.
    """
    return _WHO.search(name) is not None


def _measured(
    store: duckdb.DuckDBPyConnection,
    arguments: ArgumentValues,
    choice: Choice,
    writers: Writers | None,
    settings: FreshnessSettings,
) -> _Chosen:
    key = arguments.key(choice.kept)
    pairs = find_pairs(arguments, key, writers)
    reduced = replace(arguments.calls, identity=codes_of(key))
    first = quarter(arguments)
    rest = arguments.part(first, len(arguments.which))
    rest_calls = replace(rest.calls, identity=codes_of(key[first:]))
    same, other = _examples(store, arguments, pairs)
    name = arguments.facts.name
    figures = VaryFigures(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        vary=choice.kept,
        left_out=choice.dropped,
        proven=False,
        needs_review=tuple(each for each in choice.dropped if looks_like_who(each)),
        pairs=len(pairs.later),
        differing=pairs.differing,
        calls=len(arguments.which),
        more_reusable=0,
        freshness_seconds=None,
        stale_rate_at_most=None,
        serves=0,
        stale=0,
        effective_observations=0.0,
        missing=None,
        witnesses=same,
        counter_examples=other,
    )
    curve = measure_curve(rest_calls, writers, settings, unlike=rest.which)
    full = codes_of(arguments.key(arguments.names))
    return _Chosen(figures, curve, reduced, full)


def _concluded(
    one: _Chosen,
    found: Climb,
    level: float,
    writers: Writers | None,
    settings: FreshnessSettings,
) -> VaryFigures:
    point = found.accepted
    if point is None:
        lack = what_is_missing(one.curve, level, settings)
        missing = "; ".join(each.message for each in lack.missing)
        figures = replace(one.figures, missing=missing)
        return figures if lack.point is None else _with_point(figures, lack.point, level)
    freshness_ns = min(point.freshness_ns, point.largest_age_ns)
    return replace(
        _with_point(one.figures, point, level),
        proven=True,
        freshness_seconds=freshness_ns / 1e9,
        more_reusable=_more_reusable(one, writers, freshness_ns),
    )


def _with_point(figures: VaryFigures, point: CurvePoint, level: float) -> VaryFigures:
    return replace(
        figures,
        stale_rate_at_most=point.bound_at(level),
        serves=point.counted_serves,
        stale=point.counted_stale,
        effective_observations=point.counted_observations,
    )


def _more_reusable(one: _Chosen, writers: Writers | None, freshness_ns: int) -> int:
    """Return how many more calls a store would answer, at this freshness, with the reduced key."""
    reduced = replay(lay_out(one.reduced, writers), freshness_ns)
    full = replay(lay_out(replace(one.reduced, identity=one.full), writers), freshness_ns)
    return len(reduced.call) - len(full.call)


def _examples(
    store: duckdb.DuckDBPyConnection, arguments: ArgumentValues, pairs: Pairs
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return a few pairs with equal results, and a few with different ones."""
    same = np.flatnonzero(~pairs.differs)[:_EXAMPLES]
    other = np.flatnonzero(pairs.differs)[:_EXAMPLES]
    return (
        examples_of(store, arguments.rows, pairs.earlier[same], pairs.later[same]),
        examples_of(store, arguments.rows, pairs.earlier[other], pairs.later[other]),
    )


def examples_of(
    store: duckdb.DuckDBPyConnection, rows: Places, earlier: Places, later: Places
) -> tuple[Example, ...]:
    """Return pairs of calls by the ids of their spans."""
    if not len(earlier):
        return ()
    told = name_table(store, np.concatenate((rows[earlier], rows[later]))).to_pylist()
    return tuple(
        Example(one["trace_id"], one["span_id"], two["trace_id"], two["span_id"])
        for one, two in zip(told[: len(earlier)], told[len(earlier) :], strict=True)
    )
