"""Builders: recorded calls and rules in, a verification out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pytest

from visceral_cli.contract.identity import InputHash, content_hash, faithful_json
from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Operation,
    Rule,
    RuleKind,
    Sharing,
)
from visceral_cli.settings import Settings
from visceral_cli.verify.outcome import Verification
from visceral_cli.verify.verify import VerifyRequest, verify_calls

SECOND = 1_000_000_000


@dataclass(frozen=True)
class Call:
    """One recorded call; times are seconds. ``result``: ``None`` is not known."""

    start: float | None = 0
    end: float | None = None
    tool: str = "get_weather"
    arguments: str | None = "a"
    result: str | None = "r"
    run: str = "run"
    namespace: str = ""
    span: str = ""
    parent: str | None = None
    failed: bool = False
    readonly: bool | None = True
    replay_safe: bool | None = True
    freshness_override: float | None = None
    served_decision_id: str | None = None
    verify_match: bool | None = None
    user: str | None = None
    session: str | None = None
    service: str | None = None
    invalidates: str | None = None
    declared_run: str | None = None
    served_start: float | None = None

    @property
    def start_ns(self) -> int | None:
        return None if self.start is None else round(self.start * SECOND)

    @property
    def end_ns(self) -> int | None:
        if self.start is None:
            return None
        return round((self.start if self.end is None else self.end) * SECOND)


@dataclass
class Recorded:
    """A store that holds some calls, in row order."""

    store: duckdb.DuckDBPyConnection
    calls: list[Call]

    def verify(
        self, *rules: Rule, settings: Settings | None = None, **asked: object
    ) -> Verification:
        """Return what the calls say of the rules."""
        request = VerifyRequest(rules, **asked)  # type: ignore[arg-type]
        return verify_calls(self.store, settings or Settings(), request)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def build_rule(
    arguments: str = "a",
    freshness: float | None = 60,
    *,
    tool: str = "get_weather",
    namespace: str = "",
    decision_id: str | None = None,
    scope: Sharing | None = None,
    writers: Sharing | None = None,
) -> Rule:
    """Return a rule for one identity of the built calls."""
    return Rule(
        decision_id=decision_id or f"r-{tool}-{arguments}",
        kind=RuleKind.REUSE_IDENTITY,
        match=Match(tool, InputHash(sha(arguments)), 1, namespace=namespace, scope=scope),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action(Operation.REUSE_CACHED_RESULT, freshness, 0.05, writers),
    )


def build_suppress_rule(
    tool: str = "get_weather", freshness: float | None = 60, decision_id: str = "r-suppress"
) -> Rule:
    """Return a rule for every call of a tool under one system prompt."""
    return Rule(
        decision_id=decision_id,
        kind=RuleKind.SUPPRESS_DEAD,
        match=Match(tool, system_prompt_hash="0" * 64),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action(Operation.SERVE_STORED_RESULT, freshness, 0.05),
    )


def _row(key: int, call: Call) -> dict[str, object]:
    known = call.arguments is not None
    return {
        "call_key": key,
        "namespace": call.namespace,
        "trace_id": call.run,
        "span_id": call.span,
        "parent_span_id": call.parent,
        "position": 0,
        "tool": call.tool,
        "kind": "tool",
        "convention": "test",
        "input_hash": sha(call.arguments) if call.arguments is not None else None,
        "hash_v": 1 if known else None,
        "arguments_hash": sha("all " + call.arguments) if call.arguments is not None else None,
        "content_hash": None if call.result is None else content_hash(faithful_json(call.result)),
        "recorded_hash": False,
        "hash_disagrees": False,
        "empty_result": False,
        "failed": call.failed,
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "readonly": call.readonly,
        "replay_safe": call.replay_safe,
        "freshness_override": call.freshness_override,
        "served_decision_id": call.served_decision_id,
        "verify_match": call.verify_match,
        "user_id": call.user,
        "session": call.session,
        "service": call.service,
        "invalidates": call.invalidates,
        "declared_run": call.declared_run,
        "served_start_ns": None if call.served_start is None else round(call.served_start * SECOND),
    }


@pytest.fixture(scope="session")
def call() -> type[Call]:
    """The builder of one recorded call."""
    return Call


@pytest.fixture(scope="session")
def rule() -> Callable[..., Rule]:
    """See `build_rule`."""
    return build_rule


@pytest.fixture(scope="session")
def suppress_rule() -> Callable[..., Rule]:
    """See `build_suppress_rule`."""
    return build_suppress_rule


@pytest.fixture
def recorded(tables: Any) -> Callable[..., Recorded]:
    """Return a function that puts calls and argument texts into a store."""

    def record(*calls: Call, texts: Sequence[tuple[str, str]] = ()) -> Recorded:
        named = [
            replace(one, span=one.span or f"span-{place:05}") for place, one in enumerate(calls)
        ]
        ordered = sorted(
            named,
            key=lambda one: (
                one.start is None,
                one.start_ns or 0,
                one.end_ns or 0,
                one.run,
                one.span,
            ),
        )
        tables.fill("tool_call", [_row(key, one) for key, one in enumerate(ordered)])
        tables.fill(
            "span",
            [
                {
                    "trace_id": one.run,
                    "span_id": one.span,
                    "parent_span_id": one.parent,
                    "start_ns": one.start_ns,
                    "end_ns": one.end_ns,
                }
                for one in ordered
            ],
        )
        tables.fill(
            "argument_text",
            [{"arguments_hash": sha("all " + name), "text": text} for name, text in texts],
        )
        return Recorded(tables.store, ordered)

    return record
