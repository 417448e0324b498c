"""Which arguments matter, over all tools: what to propose, and which declarations are refuted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import duckdb
import msgspec

from visceral_cli.analysis.argument_values import ArgumentValues, argument_values, define_views
from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.declared_vary import (
    UnkeyedArgument,
    check_declared_vary,
    declared_vary,
)
from visceral_cli.analysis.figures import Finding, FindingKind, VaryFigures
from visceral_cli.analysis.history import Writers
from visceral_cli.analysis.scopes import Who, who_of
from visceral_cli.analysis.tools import ToolFacts, ToolName
from visceral_cli.analysis.vary import MIN_CALLS, MIN_DISTINCT
from visceral_cli.analysis.vary_proof import propose_vary
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import Settings


class ArgumentJudgement(msgspec.Struct, frozen=True):
    """What the traces say of the arguments of all tools."""

    proposals: tuple[VaryFigures, ...] = ()
    """Most further reusable calls first."""
    refuted: tuple[UnkeyedArgument, ...] = ()

    def findings(self) -> Iterator[Finding]:
        """Yield what was found, as findings."""
        for wrong in self.refuted:
            yield wrong.finding
        for proposal in self.proposals:
            yield _finding(proposal)


def _finding(found: VaryFigures) -> Finding:
    examples = [*found.counter_examples, *found.witnesses]
    traces = [id_ for one in examples for id_ in (one.earlier_trace_id, one.later_trace_id)]
    spans = [id_ for one in examples for id_ in (one.earlier_span_id, one.later_span_id)]
    return Finding(
        kind=FindingKind.SMALLER_KEY,
        namespace=found.namespace,
        tool=found.tool,
        message=in_words(found),
        calls=found.more_reusable if found.proven else found.calls,
        trace_ids=tuple(dict.fromkeys(traces)),
        span_ids=tuple(dict.fromkeys(spans)),
    )


def in_words(found: VaryFigures) -> str:
    """Return a proposal as one sentence."""
    vary = f"vary = [{', '.join(json.dumps(name) for name in found.vary)}]"
    for_one = "" if found.within == "all" else f" of one {found.within}"
    differing = "none" if not found.differing else f"{found.differing:,}"
    pairs = (
        f"{found.pairs:,} pairs{for_one} differ only in {', '.join(found.left_out)}, "
        f"{differing} in the result"
    )
    if not found.proven:
        return f"{vary} may be enough, but it is not proven ({found.missing}); {pairs}"
    said = f"{vary} would make {found.more_reusable:,} more calls reusable; {pairs}"
    if found.needs_review:
        names = ", ".join(found.needs_review)
        said += f"; needs review: {names} may tell who asks"
    return said


def judge_arguments(
    store: duckdb.DuckDBPyConnection, calls: CallColumns, writers: Writers, settings: Settings
) -> ArgumentJudgement:
    """Search the arguments of tools without a declared ``vary``, and test the declared ones.

    Nothing is found in a store that keeps no texts of arguments, and nothing is looked for where
    ``settings.find_vary`` says no.
    """
    if settings.find_vary is False or not _keeps_arguments(store):
        return ArgumentJudgement()
    define_views(store)
    who = who_of(calls) if settings.answers_depend_on_who else None
    declared = declared_vary(store, settings.extract.tools)
    refuted: list[UnkeyedArgument] = []

    def undeclared() -> Iterator[ArgumentValues]:
        for arguments in _tools(store, calls, declared, by_trace=settings.scope == "trace"):
            if arguments.facts.name not in declared:
                yield arguments
                continue
            wrong = check_declared_vary(store, _of_one_user(arguments, who), writers)
            if wrong is not None:
                refuted.append(wrong)

    found = propose_vary(store, undeclared(), who, writers, settings.freshness)
    found.sort(key=lambda one: (-one.more_reusable, -one.pairs, one.namespace, one.tool, one.kind))
    return ArgumentJudgement(tuple(found), tuple(refuted))


def _of_one_user(arguments: ArgumentValues, who: Who | None) -> ArgumentValues:
    """Keep users apart: what differs between them, they may themselves explain."""
    if who is None or not (who.user[arguments.rows] >= 0).any():
        return arguments
    return arguments.only_within(who.of(arguments.rows).within(Sharing.USER))


def _keeps_arguments(store: duckdb.DuckDBPyConnection) -> bool:
    return bool(store.execute("SELECT 1 FROM argument_text LIMIT 1").fetchall())


def _tools(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    declared: set[ToolName],
    *,
    by_trace: bool,
) -> Iterator[ArgumentValues]:
    def least(facts: ToolFacts) -> tuple[int, int]:
        return (2, 2) if facts.name in declared else (MIN_CALLS, MIN_DISTINCT)

    yield from argument_values(store, calls, by_trace=by_trace, least=least)
