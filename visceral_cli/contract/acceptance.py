"""Which rules of a foreign document the SDK client would use, and why not the others.

Follows ``visceral-ai`` 0.2.5 step by step: what its snapshot builder skips when the document
arrives, then what its matching skips when a tool is called. Nothing of the document is lost: every
rule comes back with its JSON value as it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from visceral_cli.contract.identity import HASH_VERSION
from visceral_cli.contract.rule import (
    LIMITED_RULE_SCHEMA,
    RULE_SCHEMA,
    Operation,
    Rule,
    RuleKind,
    rule_from_json,
)

PROMPT_CACHE_KINDS = frozenset({"stable_head", "incremental_history", "set_prompt_cache_key"})
"""Kinds that share the document and are about model calls; a reader of tool rules skips them."""


class Inert(StrEnum):
    """Why no client ever uses a rule."""

    NOT_AN_OBJECT = "not-an-object"
    DECISION_ID = "decision-id"
    """``decision_id`` is not text."""
    CONFIG = "config"
    """``config`` is not an object."""
    SCHEMA = "schema"
    """``config.schema`` is not 1: another shape of rule."""
    MATCH = "match"
    """``config.match`` is not an object."""
    PROMPT_CACHE = "prompt-cache"
    """About model calls: clients may use it, but not for tools."""
    UNKNOWN_KIND = "unknown-kind"
    TOOL_NAME = "tool-name"
    """``match.tool_name`` is not text."""
    INPUT_HASH = "input-hash"
    """``match.input_hash`` is not text."""
    SYSTEM_PROMPT_HASH = "system-prompt-hash"
    """``match.system_prompt_hash`` is not text."""
    BROKEN_GUARD = "broken-guard"
    """``guard`` is neither an object nor empty: matching for the tool ends here."""
    BROKEN_ACTION = "broken-action"
    """``action`` is neither an object nor empty: matching for the tool ends here."""
    BEHIND_BROKEN = "behind-broken"
    """In order, but a broken rule of the same tool ends the matching before it is used."""
    GUARD = "guard"
    """``guard`` does not hold ``true`` for both ``read_only`` and ``replay_safe``."""
    OPERATION = "operation"
    """``action.op`` is none that a client knows."""
    HASH_VERSION = "hash-version"
    """``match.hash_v`` is not the version of the hashes that clients make."""


_BROKEN = frozenset({Inert.BROKEN_GUARD, Inert.BROKEN_ACTION})


@dataclass(frozen=True, slots=True)
class ReadRule:
    """One rule of a document."""

    value: Any
    """The JSON value as it was read."""
    rule: Rule | None
    """``None`` exactly when it is no rule about a tool that a snapshot would hold."""
    inert: Inert | None
    """``None``: clients use it."""


_CLIENT_SCHEMAS = frozenset({RULE_SCHEMA})
_OUR_SCHEMAS = frozenset({RULE_SCHEMA, LIMITED_RULE_SCHEMA})


def read_rules(values: Sequence[object], *, limited: bool = False) -> list[ReadRule]:
    """Return every rule in its order with what a client makes of it.

    ``limited``: what a reader makes of it that keeps to ``match.scope``.
    """
    schemas = _OUR_SCHEMAS if limited else _CLIENT_SCHEMAS
    found = [_read(value, schemas) for value in values]
    by_tool: defaultdict[str, list[int]] = defaultdict(list)
    for place, read in enumerate(found):
        if read.rule is not None:
            by_tool[read.rule.match.tool_name].append(place)
    for places in by_tool.values():
        broken = next((place for place in places if found[place].inert in _BROKEN), None)
        if broken is None:
            continue
        for place in places:
            read = found[place]
            # A suppress rule is used only once the whole list was looked at.
            reached = place < broken and _reuses(read)
            if read.inert is None and not reached:
                found[place] = ReadRule(read.value, read.rule, Inert.BEHIND_BROKEN)
    return found


def _read(value: object, schemas: frozenset[int]) -> ReadRule:
    skipped = _skipped_by_snapshot(value, schemas)
    if skipped is not None:
        return ReadRule(value, None, skipped)
    assert isinstance(value, dict)
    return ReadRule(value, rule_from_json(value), _skipped_by_matching(value["config"]))


def _skipped_by_snapshot(value: object, schemas: frozenset[int]) -> Inert | None:
    if not isinstance(value, dict):
        return Inert.NOT_AN_OBJECT
    if not isinstance(value.get("decision_id"), str):
        return Inert.DECISION_ID
    config = value.get("config")
    if not isinstance(config, dict):
        return Inert.CONFIG
    if not any(config.get("schema") == schema for schema in schemas):
        return Inert.SCHEMA
    match = config.get("match")
    if not isinstance(match, dict):
        return Inert.MATCH
    return _skipped_by_kind(config.get("rule_kind"), match)


def _skipped_by_kind(kind: object, match: dict[str, Any]) -> Inert | None:
    if not isinstance(kind, str) or kind not in {*RuleKind, *PROMPT_CACHE_KINDS}:
        return Inert.UNKNOWN_KIND
    if kind in PROMPT_CACHE_KINDS:
        return Inert.PROMPT_CACHE
    if not isinstance(match.get("tool_name"), str):
        return Inert.TOOL_NAME
    if kind == RuleKind.REUSE_IDENTITY:
        return None if isinstance(match.get("input_hash"), str) else Inert.INPUT_HASH
    return None if isinstance(match.get("system_prompt_hash"), str) else Inert.SYSTEM_PROMPT_HASH


def _skipped_by_matching(config: dict[str, Any]) -> Inert | None:
    # An empty or missing part stands for an empty object, whatever its type.
    match, guard, action = (config.get(part) or {} for part in ("match", "guard", "action"))
    if not isinstance(guard, dict):
        return Inert.BROKEN_GUARD
    if not isinstance(action, dict):
        # It is looked at only if the guard holds; a guard that does not hold comes first.
        return Inert.BROKEN_ACTION if _holds(guard) else Inert.GUARD
    if not _holds(guard):
        return Inert.GUARD
    return _skipped_by_operation(action.get("op"), match)


def _holds(guard: dict[str, Any]) -> bool:
    return guard.get("read_only") is True and guard.get("replay_safe") is True


def _skipped_by_operation(operation: object, match: dict[str, Any]) -> Inert | None:
    if operation == Operation.REUSE_CACHED_RESULT:
        if not isinstance(match.get("input_hash"), str):
            return Inert.INPUT_HASH
        return None if match.get("hash_v") == HASH_VERSION else Inert.HASH_VERSION
    if operation == Operation.SERVE_STORED_RESULT:
        if not isinstance(match.get("system_prompt_hash"), str):
            return Inert.SYSTEM_PROMPT_HASH
        return None
    return Inert.OPERATION


def _reuses(read: ReadRule) -> bool:
    return read.rule is not None and read.rule.action.op == Operation.REUSE_CACHED_RESULT
