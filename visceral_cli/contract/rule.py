"""``Rule``: permission to serve, as match + guard + action; to and from JSON.

A rules document is ``{"rules": [...]}`` in order of priority. The SDK client (``visceral-ai``
0.2.5) and this program read the same document. Members that the client does not know are ignored
by it: ``action.freshness_seconds``, ``match.namespace``, ``match.namespaces``, ``match.scope``,
``status`` and ``evidence`` are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from visceral_cli.contract.identity import (
    HASH_VERSION,
    InputHash,
    canonical_json,
    content_hash,
)

RULE_SCHEMA = 1
"""The shape of ``config`` that is written and understood."""


LIMITED_RULE_SCHEMA = 2
"""The same shape, for a rule whose ``match.scope`` is narrower than all: a client that does not
look at the scope does not know this schema either, and so never serves one user's result to
another."""


class RuleKind(StrEnum):
    """The kinds of rules about tools."""

    REUSE_IDENTITY = "reuse_identity"
    """Equal calls may be answered by a stored result."""
    SUPPRESS_DEAD = "suppress_dead"
    """Under one system prompt any recent result of the tool will do: nothing reads it."""


class Operation(StrEnum):
    """What a client does; it looks at this and not at the kind of the rule."""

    REUSE_CACHED_RESULT = "reuse_cached_result"
    SERVE_STORED_RESULT = "serve_stored_result"


class RuleStatus(StrEnum):
    """Whether a rule is meant to be used."""

    ACTIVE = "active"
    CANDIDATE = "candidate"
    """What was seen, exported for people; its guard holds no client's promise."""


class Sharing(StrEnum):
    """Between which calls a stored result may pass: each scope lies within the next one."""

    RUN = "run"
    SESSION = "session"
    USER = "user"
    SERVICE = "service"
    ALL = "all"
    """All of the namespace, which by default is one service."""


@dataclass(frozen=True, slots=True)
class Match:
    """Which calls."""

    tool_name: str
    input_hash: InputHash | None = None
    """For `RuleKind.REUSE_IDENTITY`."""
    hash_v: int | None = None
    """The hash version of ``input_hash``; hashes of different versions never meet."""
    system_prompt_hash: str | None = None
    """For `RuleKind.SUPPRESS_DEAD`: sha256 of the system prompt."""
    namespace: str = ""
    """Where it was proven; the SDK client does not look at it. Empty: no namespace."""
    scope: Sharing | None = None
    """``None``: the rule does not say, as `Sharing.ALL`."""
    namespaces: tuple[str, ...] = ()
    """Where it was proven, if in several that agree; ``namespace`` is then empty."""

    @property
    def is_limited(self) -> bool:
        """Whether a result may not pass between all who ask."""
        return self.scope not in (None, Sharing.ALL)

    @property
    def proven_in(self) -> tuple[str, ...]:
        """Return the namespaces it was proven in; ``("",)``: it holds wherever it is asked."""
        return self.namespaces or (self.namespace,)

    def holds_in(self, namespace: str) -> bool:
        """Whether it was proven in this namespace, or holds in any."""
        return self.proven_in == ("",) or namespace in self.proven_in


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold: a client serves only if both are the JSON value ``true``."""

    read_only: bool
    replay_safe: bool


@dataclass(frozen=True, slots=True)
class Action:
    """What to do."""

    op: str
    """An `Operation`; in foreign rules perhaps an unknown one, or empty when it was not text."""
    freshness_seconds: float | None = None
    """The greatest age that may be served. ``None``: the rule does not say."""
    verify_sample_rate: float = 0.0
    """The share of served calls that really run as well, 0 to 1."""
    writers: Sharing | None = None
    """How far writes of other runs reach: `Sharing.RUN`, not at all, where the traces prove that
    results outlive them; `Sharing.ALL` where a writer was found after which results change.
    ``None``: a write by any call that would share the result voids it. No client need look at this:
    one that hears of more writers serves less, and the proof holds for one that hears of its own
    run's alone."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Permission to serve."""

    decision_id: str
    kind: RuleKind
    match: Match
    guard: Guard
    action: Action
    status: RuleStatus = RuleStatus.ACTIVE
    evidence: Mapping[str, Any] | None = None
    """For people: JSON values by name."""


def decision_id(namespace: str, tool: str, input_hash: str, *, hash_v: int = HASH_VERSION) -> str:
    """Return the id of the rule for one identity: the same in every analysis of it.

    ``r-`` and the first 12 hex digits of the sha256 of ``[namespace, tool, hash_v, input_hash]``
    in canonical JSON.
    """
    return f"r-{content_hash(canonical_json([namespace, tool, hash_v, input_hash]))[:12]}"


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """Return the rule as the JSON object of a rules document, members in a fixed order."""
    action: dict[str, Any] = {"op": rule.action.op}
    if rule.action.freshness_seconds is not None:
        action["freshness_seconds"] = plain_number(rule.action.freshness_seconds)
    action["verify_sample_rate"] = plain_number(rule.action.verify_sample_rate)
    if rule.action.writers is not None:
        action["writers"] = rule.action.writers.value

    written: dict[str, Any] = {"decision_id": rule.decision_id}
    if rule.status is not RuleStatus.ACTIVE:
        written["status"] = rule.status.value
    written["config"] = {
        "schema": LIMITED_RULE_SCHEMA if rule.match.is_limited else RULE_SCHEMA,
        "rule_kind": rule.kind.value,
        "match": _match_to_json(rule.match),
        "guard": {"read_only": rule.guard.read_only, "replay_safe": rule.guard.replay_safe},
        "action": action,
    }
    if rule.evidence is not None:
        written["evidence"] = dict(rule.evidence)
    return written


def _match_to_json(match: Match) -> dict[str, Any]:
    written: dict[str, Any] = {"tool_name": match.tool_name}
    if match.namespace:
        written["namespace"] = match.namespace
    if match.namespaces:
        written["namespaces"] = list(match.namespaces)
    if match.input_hash is not None:
        written["input_hash"] = match.input_hash
    if match.hash_v is not None:
        written["hash_v"] = match.hash_v
    if match.system_prompt_hash is not None:
        written["system_prompt_hash"] = match.system_prompt_hash
    if match.scope is not None:
        written["scope"] = match.scope.value
    return written


def rule_from_json(value: object) -> Rule | None:
    """Return a rule about a tool, or ``None`` if the value is none.

    What a client tolerates is tolerated: a guard that is not ``true`` is ``False``, a rate that is
    no number is 0, an operation that is not text is empty. Nothing here says that a client would
    use the rule; `acceptance.read_rules` does.
    """
    value = _object(value)
    config = _object(value.get("config"))
    match, guard, action = (_object(config.get(part)) for part in ("match", "guard", "action"))
    known = value.get("decision_id"), config.get("rule_kind"), match.get("tool_name")
    name, kind, tool = (_text(item) for item in known)
    if name is None or tool is None or kind not in list(RuleKind):
        return None
    found = _text(match.get("input_hash"))
    candidate = value.get("status") == RuleStatus.CANDIDATE
    evidence = value.get("evidence")
    return Rule(
        decision_id=name,
        kind=RuleKind(kind),
        match=Match(
            tool_name=tool,
            input_hash=None if found is None else InputHash(found),
            hash_v=_whole(match.get("hash_v")),
            system_prompt_hash=_text(match.get("system_prompt_hash")),
            namespace=_text(match.get("namespace")) or "",
            namespaces=_texts(match.get("namespaces")),
            scope=_scope(match.get("scope")),
        ),
        guard=Guard(
            read_only=guard.get("read_only") is True,
            replay_safe=guard.get("replay_safe") is True,
        ),
        action=Action(
            op=_text(action.get("op")) or "",
            freshness_seconds=_finite(_positive(action.get("freshness_seconds"))),
            verify_sample_rate=min(_positive(action.get("verify_sample_rate")) or 0.0, 1.0),
            writers=_writers(action.get("writers")),
        ),
        status=RuleStatus.CANDIDATE if candidate else RuleStatus.ACTIVE,
        evidence=evidence if isinstance(evidence, dict) else None,
    )


def plain_number(value: float) -> int | float:
    """Return a whole number as an integer, so that ten minutes are written ``600``."""
    return int(value) if float(value).is_integer() else value


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _scope(value: object) -> Sharing | None:
    """Return a scope; one that is not known is taken as the narrowest."""
    if value is None:
        return None
    known = isinstance(value, str) and value in list(Sharing)
    return Sharing(str(value)) if known else Sharing.RUN


def _writers(value: object) -> Sharing | None:
    """Return how far writes reach; what is not known is taken as the widest."""
    if value is None:
        return None
    known = isinstance(value, str) and value in list(Sharing)
    return Sharing(str(value)) if known else Sharing.ALL


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _whole(value: object) -> int | None:
    """Return 1 for ``1``, ``1.0`` and ``true``, which are equal to a client."""
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if isinstance(value, int | float) else None


def _positive(value: object) -> float | None:
    """Return a number above zero; an integer beyond the range of floats is infinite."""
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value
