"""Rule + stored result + clock + writer log → served, or the reason why the tool must run."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from visceral_cli.contract.decide import Decision, StoredResult, decide
from visceral_cli.contract.identity import HASH_VERSION, InputHash, canonical_json, content_hash
from visceral_cli.contract.rule import Rule
from visceral_cli.runtime import environment
from visceral_cli.runtime.bounded import BoundedWorkers, TookTooLong
from visceral_cli.runtime.declaration import Declaration
from visceral_cli.runtime.encryption import Key
from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.kept_value import read_entry
from visceral_cli.runtime.rule_set import Rules, RulesFile
from visceral_cli.runtime.sharing import partition_of
from visceral_cli.runtime.stores.result_store import Entry, Found, checksum
from visceral_cli.runtime.writer_log import EVERYTHING, covers, entry_scopes

MAX_FRESHNESS_NS = 30 * 86_400 * 1_000_000_000
"""Thirty days: nothing is kept longer."""


class Plan(NamedTuple):
    """A rule that matches a call. A named tuple as `Served` is, since one is made at every call."""

    rule: Rule
    key: str
    """Where the result is kept."""
    scopes: tuple[str, ...]
    freshness_ns: int
    verify: bool
    """Whether the tool runs although a result may be served."""


class Served(NamedTuple):
    """A kept result that may answer the call."""

    value: Any
    content_hash: str
    started_ns: int
    """When the execution began."""
    age_ns: int
    remaining_ns: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a kept result may not, with its age where there is one."""

    decision: Decision
    age_ns: int | None = None


def store_key(
    namespace: str, tool: str, input_hash: InputHash, partition: Sequence[str] = ()
) -> str:
    """Return the key of an identity in a store: no two identities share one.

    ``partition``: for whom the result is kept; empty: for all.
    """
    return _store_key(namespace, tool, input_hash, tuple(partition))


@functools.lru_cache(maxsize=1024)
def _store_key(namespace: str, tool: str, input_hash: str, partition: tuple[str, ...]) -> str:
    identity = [namespace, tool, HASH_VERSION, input_hash, *partition]
    return content_hash(canonical_json(identity))


def plan(runtime: Runtime, declaration: Declaration, input_hash: InputHash) -> Plan | str:
    """Return the plan for a call that could be hashed, or the reason why there is none."""
    if not declaration.replay_safe:
        return "not-replay-safe"
    if runtime.rules is None or runtime.results is None:
        return "not-applied"
    if not environment.serving_is_on():
        return "switched-off"
    rules = rules_in_force(runtime.rules)
    if rules is None:
        return "rules-broken"
    rule = rules.find(declaration.name, input_hash, namespace=runtime.agent_id)
    if rule is None or rule.action.freshness_seconds is None:
        return "no-rule"
    partition = partition_of(rule.match.scope)
    if partition is None:
        return f"no-{rule.match.scope}"
    seconds = rule.action.freshness_seconds
    if declaration.freshness_seconds is not None:
        seconds = min(seconds, declaration.freshness_seconds)
    rate = rule.action.verify_sample_rate
    return Plan(
        rule=rule,
        key=store_key(runtime.agent_id, declaration.name, input_hash, partition),
        scopes=entry_scopes(runtime.agent_id, (declaration.name,)),
        freshness_ns=freshness_ns(seconds),
        verify=rate >= 1 or (rate > 0 and runtime.draw() < rate),
    )


def rules_in_force(rules: RulesFile) -> Rules | None:
    """Return the rules, read again if the file has changed; ``None``: nothing may be served."""
    if not rules.is_due:
        return rules.current()
    return look_at(rules, seconds=environment.serve_timeout_seconds())


def look_at(rules: RulesFile, *, seconds: float) -> Rules | None:
    """Return the rules, read again if the file has changed; on a disk that hangs ``None``."""
    try:
        return _RULE_READERS.run(rules.look, seconds=seconds)
    except TookTooLong:
        rules.suspend()
        return None


def answer(
    found: Found,
    *,
    runtime: Runtime,
    namespace: str,
    tool: str,
    key: str,
    secret: Key | None,
    scopes: tuple[str, ...],
    freshness_ns: int,
) -> Served | Refused:
    """Decide about what a lookup found; raises `Unreadable` if it is not what was stored."""
    entry = found.entry
    if entry is None:
        return Refused(Decision.WRITER if found.overtaken else Decision.NO_RESULT)
    now = runtime.clock()
    allowed = min(freshness_ns, entry.freshness_ns)
    decision = decide(
        StoredResult(entry.started_ns, entry.stored_ns),
        now_ns=now,
        freshness_ns=allowed,
        last_write_end_ns=runtime.writers.last_write_end_ns((EVERYTHING, *scopes)),
    )
    age = now - entry.started_ns
    if decision is not Decision.SERVE:
        return Refused(decision, age)
    if (entry.key, entry.namespace, entry.tool, entry.hash_v) != (
        key,
        namespace,
        tool,
        HASH_VERSION,
    ) or not covers(entry.scopes, scopes):
        return Refused(Decision.NO_RESULT)
    value = read_entry(entry, secret)
    return Served(value, entry.content_hash, entry.started_ns, age, allowed - age)


def make_entry(
    *,
    key: str,
    namespace: str,
    tool: str,
    version: object,
    kept_text: str,
    content: str,
    started_ns: int,
    stored_ns: int,
    freshness_ns: int,
    scopes: tuple[str, ...],
    generations: tuple[str, ...],
) -> Entry:
    """Return the entry of one execution."""
    return Entry(
        key=key,
        namespace=namespace,
        tool=tool,
        version=None if version is None else str(version),
        hash_v=HASH_VERSION,
        value=kept_text,
        content_hash=content,
        check=checksum(key=key, value=kept_text, content_hash=content),
        started_ns=started_ns,
        stored_ns=stored_ns,
        freshness_ns=freshness_ns,
        scopes=scopes,
        generations=generations,
    )


def freshness_ns(seconds: float) -> int:
    """Return a freshness in nanoseconds; more than thirty days counts as thirty days."""
    return min(int(min(seconds, 1e9) * 1e9), MAX_FRESHNESS_NS)


_RULE_READERS = BoundedWorkers("visceral-rules")
