"""Do the rules of several namespaces agree? A client that knows no namespace would mix them up.

The SDK uses the first rule that names tool and identity. Where an identity was called in several
namespaces, its results there must have been compared, and none that came within the freshness of
another may have differed; then its rules get the most careful terms among them. Otherwise none of
them is granted. Results differ, for example, where two services ask two databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import duckdb
import msgspec
import pyarrow as pa

from visceral_cli.contract.rule import Rule, Sharing
from visceral_cli.rules.propose import Proposal
from visceral_cli.rules.refusal import Refusal, RefusalKind, most_repeats_first
from visceral_cli.store.database import run_file

_Identity = tuple[str, str]
"""Tool and input hash, which holds the version; the hash version is that of all rules."""


class _Pair(msgspec.Struct, frozen=True):
    """Consecutive executions of one identity in two namespaces."""

    one: str
    other: str
    same: int
    near: int
    """Those no further apart than the freshness ..."""
    differing: int
    """... and those of them with different results."""


def agree_between_namespaces(store: duckdb.DuckDBPyConnection, proposal: Proposal) -> Proposal:
    """Return the proposal without the rules that contradict each other between namespaces."""
    several = "SELECT count(DISTINCT namespace) > 1 FROM tool_call"
    if not proposal.rules or not store.execute(several).fetchall()[0][0]:
        return proposal
    by_identity: dict[_Identity, list[Rule]] = {}
    for rule in proposal.rules:
        by_identity.setdefault(_identity(rule), []).append(rule)
    pairs = _pairs(store, by_identity)
    granted: dict[str, Rule] = {}
    refusals: list[Refusal] = []
    for identity, rules in by_identity.items():
        found = pairs.get(identity, [])
        why = _why_not(rules, found)
        if why is None:
            granted |= {rule.decision_id: rule for rule in _alike(rules, found)}
        else:
            refusals += (_refusal(rule, why) for rule in rules)
    return msgspec.structs.replace(
        proposal,
        rules=tuple(
            granted[rule.decision_id] for rule in proposal.rules if rule.decision_id in granted
        ),
        refusals=most_repeats_first([*proposal.refusals, *refusals]),
    )


def _identity(rule: Rule) -> _Identity:
    return rule.match.tool_name, rule.match.input_hash or ""


def _why_not(rules: Sequence[Rule], pairs: Sequence[_Pair]) -> str | None:
    """Return why the rules of one identity may not stand together; ``None`` if they may."""
    if all(rule.match.is_limited for rule in rules):
        return None  # no client uses them that does not look at the namespace
    if any(rule.match.is_limited for rule in rules):
        return f"results are shared {' and '.join(map(_shared, rules))}"
    for pair in pairs:
        if pair.differing:
            return (
                f"{pair.differing:,} of {pair.near:,} results in {_shown(pair.one)} and "
                f"{_shown(pair.other)}, no further apart than the freshness, differ"
            )
    alone = _not_compared([rule.match.namespace for rule in rules], pairs)
    if alone:
        others = (_shown(rule.match.namespace) for rule in rules[1:])
        return (
            f"no result in {_shown(rules[0].match.namespace)} was found equal to the next one in "
            f"{' or '.join(others)}"
        )
    return None


def _shared(rule: Rule) -> str:
    by = f"within one {rule.match.scope}" if rule.match.is_limited else "by all"
    return f"{by} in {_shown(rule.match.namespace)}"


def _not_compared(namespaces: Sequence[str], pairs: Iterable[_Pair]) -> bool:
    """Whether equal results do not link all of these namespaces with each other."""
    linked = {namespaces[0]}
    links = [{pair.one, pair.other} for pair in pairs if pair.same]
    for _ in namespaces:
        for link in links:
            if link & linked and link <= set(namespaces):
                linked |= link
    return not linked.issuperset(namespaces)


def _alike(rules: Sequence[Rule], pairs: Iterable[_Pair]) -> Iterable[Rule]:
    """Yield the rules with the shortest freshness among them, and the widest reach of writes."""
    if len(rules) == 1 or all(rule.match.is_limited for rule in rules):
        yield from rules
        return
    shortest = min(rule.action.freshness_seconds or 0.0 for rule in rules)
    namespaces = {rule.match.namespace for rule in rules}
    compared = sum(pair.same for pair in pairs if {pair.one, pair.other} <= namespaces)
    for rule in rules:
        others = sorted(namespaces - {rule.match.namespace})
        told = {"agrees_with": others, "compared_between": compared}
        yield replace(
            rule,
            action=replace(rule.action, freshness_seconds=shortest, writers=_widest(rules)),
            evidence=dict(rule.evidence or {}) | told,
        )


def _widest(rules: Sequence[Rule]) -> Sharing | None:
    """Return how far writes reach for all of these rules together."""
    reach = {rule.action.writers for rule in rules}
    if None in reach and Sharing.ALL not in reach:
        return None  # as far as results are shared
    order = tuple(Sharing)
    return max((one for one in reach if one is not None), key=order.index)


def _refusal(rule: Rule, why: str) -> Refusal:
    repeats = (rule.evidence or {}).get("repeats", 0)
    return Refusal(
        RefusalKind.NAMESPACES_DIFFER,
        rule.match.namespace,
        rule.match.tool_name,
        rule.match.input_hash,
        f"{why}, and clients of the SDK know no namespace",
        "analyse the traces of each apart; or, if they share one source, with --namespace none",
        int(repeats),
    )


def _shown(namespace: str) -> str:
    return namespace or "no namespace"


def _pairs(
    store: duckdb.DuckDBPyConnection, by_identity: dict[_Identity, list[Rule]]
) -> dict[_Identity, list[_Pair]]:
    first = [rules[0].match for rules in by_identity.values()]
    shortest = [
        min(rule.action.freshness_seconds or 0.0 for rule in rules)
        for rules in by_identity.values()
    ]
    columns = {
        "tool": pa.array([match.tool_name for match in first], pa.string()),
        "input_hash": pa.array([match.input_hash for match in first], pa.string()),
        "hash_v": pa.array([match.hash_v for match in first], pa.int32()),
        "freshness_ns": pa.array([int(seconds * 1e9) for seconds in shortest], pa.int64()),
    }
    store.register("_namespace_rule", pa.table(columns))
    run_file(store, "visceral_cli.rules", "namespaces.sql")
    rows = store.execute("SELECT * FROM _namespace_pair ORDER BY ALL").fetchall()
    store.unregister("_namespace_rule")
    found: dict[_Identity, list[_Pair]] = {}
    for tool, input_hash, *pair in rows:
        found.setdefault((tool, input_hash), []).append(_Pair(*pair))
    return found
