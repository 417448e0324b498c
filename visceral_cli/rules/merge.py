"""One rule where several namespaces agree: the SDK's document knows no namespace.

Its client uses the first rule that names tool and identity, whoever calls. What the rules of
several namespaces grant alike is therefore written as one rule, which names them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from visceral_cli.contract.rule import Rule, RuleKind, RuleStatus

_SUMS = ("calls", "repeats", "same_result", "changed", "served", "served_stale")
_MORE_SUMS = ("saved_calls", "saved_seconds")
_PLAIN_CACHE = "plain_cache"


def merged(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules in their order, those that grant the same to one identity as one.

    The one takes the name and the place of the first. Rules that grant different things, or not
    to all who ask, and candidates stay as they are.
    """
    rules = list(rules)
    alike: dict[object, list[Rule]] = {}
    for rule in rules:
        if _may_meet(rule):
            alike.setdefault(_grant(rule), []).append(rule)
    done: list[Rule] = []
    for rule in rules:
        group = alike.get(_grant(rule), [rule]) if _may_meet(rule) else [rule]
        if len(group) == 1:
            done.append(rule)
        elif rule is group[0]:
            done.append(_one(group))
    return done


def in_each_namespace(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules, a merged one once for each of its namespaces."""
    return [
        replace(rule, match=replace(rule.match, namespace=namespace, namespaces=()))
        for rule in rules
        for namespace in rule.match.proven_in
    ]


def without(rules: Iterable[Rule], withdrawn: Set[str]) -> list[Rule]:
    """Return the rules but those withdrawn, and those that are written as one with such a rule."""
    rules = list(rules)
    gone = {_grant(rule) for rule in rules if rule.decision_id in withdrawn and _may_meet(rule)}
    return [
        rule
        for rule in rules
        if rule.decision_id not in withdrawn and not (_may_meet(rule) and _grant(rule) in gone)
    ]


def _may_meet(rule: Rule) -> bool:
    return (
        rule.kind is RuleKind.REUSE_IDENTITY
        and rule.status is RuleStatus.ACTIVE
        and not rule.match.is_limited
    )


def _grant(rule: Rule) -> object:
    match = replace(rule.match, namespace="", namespaces=(), scope=None)
    return match, rule.guard, rule.action


def _one(group: Sequence[Rule]) -> Rule:
    first = group[0]
    places = sorted({namespace for rule in group for namespace in rule.match.proven_in})
    # A rule without a namespace already holds wherever it is asked.
    match = replace(first.match, namespace="", namespaces=() if "" in places else tuple(places))
    evidence = [dict(rule.evidence) for rule in group if rule.evidence is not None]
    if len(evidence) < len(group):
        return replace(first, match=match)
    by_namespace = {rule.match.namespace: dict(rule.evidence or {}) for rule in group}
    return replace(
        first, match=match, evidence=_together(evidence) | {"by_namespace": by_namespace}
    )


def _together(evidence: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the weakest evidence, with counts added up and what is not shared by all left out."""
    rates = [_number(one.get("stale_rate_at_most")) for one in evidence]
    weakest = dict(evidence[rates.index(max(rates))])
    weakest.pop("agrees_with", None)
    weakest.pop("argument_names", None)
    for name in (*_SUMS, *_MORE_SUMS):
        if all(name in one for one in evidence):
            weakest[name] = sum(_number(one[name]) for one in evidence)
    # What is proven for any arguments in each is not thereby proven between them.
    weakest["proven_for"] = "identities"
    plain = [one.get(_PLAIN_CACHE) for one in evidence]
    weakest.pop(_PLAIN_CACHE, None)
    if all(isinstance(one, dict) for one in plain):
        weakest[_PLAIN_CACHE] = _plain_cache([one for one in plain if isinstance(one, dict)])
    return weakest


def _plain_cache(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    together: dict[str, Any] = {
        "longest_call_seconds": max(_number(one.get("longest_call_seconds")) for one in parts)
    }
    cleared_by = sorted({each for one in parts for each in one.get("cleared_by", ())})
    if cleared_by:
        together["cleared_by"] = cleared_by
    missing = sorted({one["missing"] for one in parts if "missing" in one})
    if not missing and any(one.get("vary") != parts[0].get("vary") for one in parts):
        missing = ["its calls declare several vary"]
    if missing:
        return together | {"missing": "; ".join(missing)}
    shortest = min(_number(one.get("freshness_seconds")) for one in parts)
    together |= {"freshness_seconds": shortest, "any_arguments": False}
    return together | {name: parts[0][name] for name in ("vary",) if name in parts[0]}


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) else 0
