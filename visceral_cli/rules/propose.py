"""A tool and its evidence → rules, or the reasons for refusing them.

The SDK client matches by input hash, so a tool whose freshness is proven gets one rule for each of
its identities that repeated. A tool that nobody declared read-only and replay-safe gets none,
whatever was proven; what was seen is then kept as candidates, which no client serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Operation,
    Rule,
    RuleKind,
    RuleStatus,
    Sharing,
    decision_id,
)
from visceral_cli.rules.evidence import (
    BoundEvidence,
    IdentityCalls,
    ToolEvidence,
    evidence_to_json,
    with_saving,
)
from visceral_cli.rules.refusal import Refusal, most_repeats_first
from visceral_cli.rules.refuse import choose_identities, refuse_tool
from visceral_cli.rules.writes import reach_of_writes, writes_to_json

__all__ = ["Proposal", "Refusal", "RulePolicy", "add_savings", "propose_rules"]


class RulePolicy(msgspec.Struct, frozen=True):
    """What a proposed rule may be."""

    verify_rate: float = 0.05
    """The share of served calls that a rule verifies."""
    include_empty_results: bool = False
    include_candidates: bool = False
    """Whether what was seen but is not proven becomes candidates."""


class Proposal(msgspec.Struct, frozen=True):
    """What came of all tools, in order of namespace, tool and input hash."""

    rules: tuple[Rule, ...]
    candidates: tuple[Rule, ...]
    """Of status candidate, with a guard that no client accepts."""
    refusals: tuple[Refusal, ...]
    """Most repeats first."""


def propose_rules(tools: Iterable[ToolEvidence], policy: RulePolicy) -> Proposal:
    """Return the rules that the evidence proves, and why there are no others."""
    rules: list[Rule] = []
    candidates: list[Rule] = []
    refusals: list[Refusal] = []
    for tool in tools:
        of_tool = list(refuse_tool(tool))
        refusals += of_tool
        if tool.facts.writer or tool.bound is None:
            continue
        if of_tool and not policy.include_candidates:
            continue
        eligible, of_identities = choose_identities(
            tool, include_empty_results=policy.include_empty_results
        )
        if of_tool:
            missing = "; ".join(refusal.message for refusal in of_tool)
            candidates += (_candidate(tool, tool.bound, each, policy, missing) for each in eligible)
        else:
            rules += (_rule(tool, tool.bound, each, policy) for each in eligible)
            refusals += of_identities
    return Proposal(_one_for_each(rules), _one_for_each(candidates), most_repeats_first(refusals))


def add_savings(
    rules: Iterable[Rule], saved: Mapping[tuple[str, str, str], tuple[int, float]]
) -> tuple[Rule, ...]:
    """Return the rules with what they would have saved in their evidence.

    ``saved`` maps (namespace, tool, input hash) to served calls and seconds.
    """
    return tuple(
        replace(
            rule,
            evidence=with_saving(
                dict(rule.evidence or {}),
                *saved.get(
                    (rule.match.namespace, rule.match.tool_name, rule.match.input_hash or ""),
                    (0, 0.0),
                ),
            ),
        )
        for rule in rules
    )


def _rule(
    tool: ToolEvidence, bound: BoundEvidence, identity: IdentityCalls, policy: RulePolicy
) -> Rule:
    name, found = tool.facts.name, identity.input_hash
    return Rule(
        decision_id=decision_id(name.namespace, name.tool, found, hash_v=identity.hash_v),
        kind=RuleKind.REUSE_IDENTITY,
        match=Match(
            tool_name=name.tool,
            input_hash=found,
            hash_v=identity.hash_v,
            namespace=name.namespace,
            scope=None if tool.sharing is None else Sharing(tool.sharing.scope),
        ),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action(
            op=Operation.REUSE_CACHED_RESULT,
            freshness_seconds=bound.freshness_seconds,
            verify_sample_rate=policy.verify_rate,
            writers=reach_of_writes(tool),
        ),
        evidence=evidence_to_json(
            identity, tool.serves.get(found), bound, sharing=tool.sharing, ignored=tool.ignored
        )
        | writes_to_json(tool),
    )


def _candidate(
    tool: ToolEvidence,
    bound: BoundEvidence,
    identity: IdentityCalls,
    policy: RulePolicy,
    missing: str,
) -> Rule:
    serves = tool.serves.get(identity.input_hash)
    return replace(
        _rule(tool, bound, identity, policy),
        guard=Guard(read_only=False, replay_safe=False),
        status=RuleStatus.CANDIDATE,
        evidence=evidence_to_json(
            identity, serves, bound, missing=missing, sharing=tool.sharing, ignored=tool.ignored
        )
        | writes_to_json(tool),
    )


def _one_for_each(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return one rule for each identity, in a fixed order.

    A client does not tell a tool from a retriever of the same name: of two rules for one identity
    the more cautious one stays.
    """
    chosen: dict[str, Rule] = {}
    for rule in rules:
        other = chosen.get(rule.decision_id)
        if other is None or _freshness(rule) < _freshness(other):
            chosen[rule.decision_id] = rule
    return tuple(
        sorted(
            chosen.values(),
            key=lambda rule: (
                rule.match.namespace,
                rule.match.tool_name,
                rule.match.input_hash or "",
            ),
        )
    )


def _freshness(rule: Rule) -> float:
    return rule.action.freshness_seconds or 0.0
