"""What a rule is worth in a cache that only knows a time to live: ``plain_cache`` in its evidence.

A runtime of ours voids what was stored when a writer runs, and the freshness of a rule is proven
under that condition. The caches of agent frameworks void nothing. For them the same proof is made
once more with no writer known, and what else they need is kept with it: how long calls take, as
they count from the end of a call, and which arguments are keyed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import msgspec
import numpy as np
import pyarrow as pa

from visceral_cli.analysis import binomial
from visceral_cli.analysis.columns import NANO, CallColumns
from visceral_cli.analysis.figures import InvalidationFigures, SharingFigures, Verdict
from visceral_cli.analysis.freshness import freshness_bounds
from visceral_cli.analysis.groups import Groups
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.analysis.stale_curve import allowed_error
from visceral_cli.analysis.tools import ToolName
from visceral_cli.analysis.verdicts import CallVerdicts
from visceral_cli.contract.narrowing import voids
from visceral_cli.contract.rule import Rule, plain_number
from visceral_cli.rules.evidence import Veto
from visceral_cli.rules.gather import evidence_of_tools
from visceral_cli.rules.propose import Proposal, RulePolicy, propose_rules
from visceral_cli.rules.refusal import Refusal
from visceral_cli.rules.vetoes import with_limits
from visceral_cli.settings import NO_DECLARATION, Settings, ToolDeclaration
from visceral_cli.store.database import run_file

_MEMBER = "plain_cache"
_Tool = tuple[str, str]
"""Namespace and name."""


class PlainCache(msgspec.Struct, frozen=True):
    """What holds of a rule where no writer voids anything."""

    freshness_seconds: float
    """Counted from the beginning of the call; 0 where ``missing`` says why."""
    longest_call_seconds: float
    any_arguments: bool
    """Whether it holds for all arguments of the tool, those never seen included."""
    version: str | None
    vary: tuple[str, ...] | None
    """The arguments that are keyed; ``None``: all."""
    cleared_by: tuple[str, ...] = ()
    """Writers after which results change, as the traces show or the writer declares."""
    compared_without: tuple[str, ...] = ()
    missing: str | None = None


def plain_cache_of(rule: Rule) -> PlainCache | None:
    """Return what the rule's evidence says; ``None`` where it says nothing that can be used."""
    evidence = rule.evidence or {}
    found = evidence.get(_MEMBER)
    if not isinstance(found, dict):
        return None
    missing, vary = found.get("missing"), found.get("vary")
    freshness = _number(found.get("freshness_seconds"))
    longest = _number(found.get("longest_call_seconds"))
    if missing is None and (freshness is None or longest is None):
        return None
    if vary is not None and not _texts(vary):
        return None
    version = evidence.get("version")
    return PlainCache(
        freshness_seconds=0.0 if freshness is None or missing is not None else freshness,
        longest_call_seconds=longest or 0.0,
        any_arguments=found.get("any_arguments") is True,
        version=version if isinstance(version, str) else None,
        vary=None if vary is None else _texts(vary),
        cleared_by=_texts(found.get("cleared_by")),
        compared_without=_texts(evidence.get("results_compared_without")),
        missing=None if missing is None else str(missing),
    )


def propose_without_writers(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    tools: Sequence[ToolHistory],
    groups: Groups,
    vetoes: Mapping[ToolName, Sequence[Veto]],
    sharing: Mapping[ToolName, SharingFigures],
    settings: Settings,
) -> Proposal:
    """Return what would be proposed if no writer were known."""
    bounds = freshness_bounds([tool.calls for tool in tools], None, settings.freshness)
    evidence = evidence_of_tools(store, calls, tools, bounds, groups, include_candidates=False)
    policy = RulePolicy(settings.verify_rate, settings.include_empty_results)
    return propose_rules(with_limits(evidence, vetoes, sharing, settings.extract.tools), policy)


def with_plain_caches(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    verdicts: CallVerdicts,
    rules: Sequence[Rule],
    without_writers: Proposal,
    invalidations: Iterable[InvalidationFigures],
    settings: Settings,
) -> tuple[Rule, ...]:
    """Return the rules, those for all callers with ``plain_cache`` in their evidence.

    ``without_writers`` is what is proposed when no writer is known.
    """
    asked = [place for place, rule in enumerate(rules) if not rule.match.is_limited]
    vary = _declared_vary(store, [rules[place] for place in asked], settings.extract.tools)
    of_tools = _Tools(
        longest=_longest_calls(calls),
        cleared_by=_cleared_by(calls, invalidations),
        changed=_changed_after_writes(calls, verdicts, rules, settings),
        refusals={},
    )
    for refusal in without_writers.refusals:
        of_tools.refusals.setdefault((refusal.namespace, refusal.tool), []).append(refusal)
    proven = {rule.decision_id: rule for rule in without_writers.rules}
    done = list(rules)
    for nth, place in enumerate(asked):
        rule = rules[place]
        said = _in_plain_cache(rule, proven.get(rule.decision_id), of_tools, vary.get(nth, set()))
        done[place] = replace(rule, evidence=dict(rule.evidence or {}) | {_MEMBER: said})
    return tuple(done)


class _Tools(msgspec.Struct, frozen=True):
    """What is known of the tools, by namespace and name."""

    longest: Mapping[_Tool, float]
    cleared_by: Mapping[_Tool, set[str]]
    changed: Mapping[_Tool, str]
    refusals: dict[_Tool, list[Refusal]]


def _in_plain_cache(
    rule: Rule, found: Rule | None, of_tools: _Tools, vary: set[tuple[str, ...] | None]
) -> dict[str, Any]:
    """Return the member of the evidence; ``found`` is the same rule where no writer is known."""
    tool = (rule.match.namespace, rule.match.tool_name)
    refusals = of_tools.refusals.get(tool, [])
    said: dict[str, Any] = {
        "longest_call_seconds": plain_number(round(of_tools.longest.get(tool, 0.0), 6))
    }
    if of_tools.cleared_by.get(tool):
        said["cleared_by"] = sorted(of_tools.cleared_by[tool])
    elsewhere = (rule.evidence or {}).get("writers_elsewhere")
    missing = None
    if len(vary) > 1:
        missing = "its calls declare several vary"
    elif isinstance(elsewhere, dict) and elsewhere.get("harmless") is not True:
        missing = "its results are not proven to outlive the writes of other runs"
    elif tool in of_tools.changed:
        missing = of_tools.changed[tool]
    elif found is None:
        messages = [
            one.message for one in refusals if one.input_hash in (None, rule.match.input_hash)
        ]
        missing = "; ".join(messages) or "nothing is proven"
    elif found.match.is_limited:
        missing = f"results may pass within one {found.match.scope} only"
    if missing is not None or found is None:
        return said | {"missing": missing}
    keyed = next(iter(vary), None)
    any_arguments = (found.evidence or {}).get("proven_for") == "tool" and not refusals
    said |= {
        "freshness_seconds": plain_number(found.action.freshness_seconds or 0.0),
        "any_arguments": any_arguments,
    }
    return said if keyed is None else said | {"vary": list(keyed)}


def _changed_after_writes(
    calls: CallColumns, verdicts: CallVerdicts, rules: Sequence[Rule], settings: Settings
) -> dict[_Tool, str]:
    """Return, by tool, what is said of results that a write of the same run has made others."""
    freshness: dict[_Tool, float] = {}
    for rule in rules:
        tool = (rule.match.namespace, rule.match.tool_name)
        freshness[tool] = max(freshness.get(tool, 0.0), rule.action.freshness_seconds or 0.0)
    rows = np.flatnonzero(verdicts.is_(Verdict.AFTER_WRITER) & (verdicts.source >= 0))
    source = verdicts.source[rows]
    age = calls.start_ns[rows] - calls.start_ns[source]
    limit = [freshness.get((one.name.namespace, one.name.tool), 0.0) for one in calls.tools]
    rows = rows[age <= (np.array(limit) * NANO)[calls.tool[rows]]]
    source = verdicts.source[rows]
    known = (calls.content[rows] >= 0) & (calls.content[source] >= 0)
    differs = known & (calls.content[rows] != calls.content[source])
    pairs = np.bincount(calls.tool[rows[known]], minlength=len(calls.tools))
    changed = np.bincount(calls.tool[rows[differs]], minlength=len(calls.tools))
    found: dict[_Tool, str] = {}
    for code in np.flatnonzero(changed).tolist():
        several, others = int(pairs[code]), int(changed[code])
        at_least = binomial.lower(others, several, allowed_error(settings.freshness))
        if at_least > settings.freshness.max_stale_rate:
            name = calls.tools[code].name
            said = f"{others:,} of {several:,} results after a write of the same run had changed"
            found[name.namespace, name.tool] = said
    return found


def _declared_vary(
    store: duckdb.DuckDBPyConnection,
    rules: Sequence[Rule],
    declarations: Mapping[str, ToolDeclaration],
) -> dict[int, set[tuple[str, ...] | None]]:
    """Return, by place, which arguments the calls of each rule are keyed on."""
    matches = [rule.match for rule in rules]
    columns = {
        "place": pa.array(range(len(rules)), pa.int32()),
        "namespace": pa.array([match.namespace for match in matches], pa.string()),
        "tool": pa.array([match.tool_name for match in matches], pa.string()),
        "input_hash": pa.array([match.input_hash for match in matches], pa.string()),
        "hash_v": pa.array([match.hash_v for match in matches], pa.int32()),
    }
    store.register("_plain_rule", pa.table(columns))
    run_file(store, "visceral_cli.rules", "plain_cache.sql")
    found = store.execute("SELECT place, vary, as_recorded FROM _plain_vary").fetchall()
    store.unregister("_plain_rule")
    keyed: dict[int, set[tuple[str, ...] | None]] = {}
    for place, vary, as_recorded in found:
        names: tuple[str, ...] | None
        if vary is not None:
            names = tuple(vary.split(","))
        elif as_recorded:
            names = None
        else:
            names = declarations.get(rules[place].match.tool_name, NO_DECLARATION).vary
        keyed.setdefault(place, set()).add(None if names is None else tuple(sorted(set(names))))
    return keyed


def _longest_calls(calls: CallColumns) -> dict[_Tool, float]:
    """Return, by namespace and tool, the seconds that its longest call took."""
    rows = np.flatnonzero(calls.ran & ~calls.failed)
    longest = np.zeros(len(calls.tools), np.int64)
    np.maximum.at(longest, calls.tool[rows], calls.duration_of(rows))
    found: dict[_Tool, float] = {}
    for facts, taken in zip(calls.tools, longest.tolist(), strict=True):
        tool = (facts.name.namespace, facts.name.tool)
        found[tool] = max(found.get(tool, 0.0), taken / NANO)
    return found


def _cleared_by(
    calls: CallColumns, invalidations: Iterable[InvalidationFigures]
) -> dict[_Tool, set[str]]:
    """Return, by namespace and tool, the writers that are known to change its results."""
    found: dict[_Tool, set[str]] = {}
    for one in invalidations:
        found.setdefault((one.namespace, one.tool), set()).add(one.writer)
    rows = np.flatnonzero(calls.invalidates >= 0)
    declared = np.stack([calls.tool[rows], calls.invalidates[rows]], axis=1)
    for code, text in np.unique(declared, axis=0).tolist():
        writer = calls.tools[code].name
        for facts in calls.tools:
            name = facts.name
            if name.namespace == writer.namespace and voids(
                calls.invalidates_texts[text], name.tool
            ):
                found.setdefault((name.namespace, name.tool), set()).add(writer.tool)
    return found


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    return None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
