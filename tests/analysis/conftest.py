"""Builders of recorded calls: rows in, an analysis out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pytest

from visceral_cli.analysis.columns import CallColumns, read_calls
from visceral_cli.settings import Settings

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
    kind: str = "tool"
    version: str | None = None
    hash_v: int = 1
    service: str | None = None
    span: str = ""
    """The span id; one is made up when it is empty."""
    parent: str | None = None
    position: int = 0
    failed: bool = False
    empty_result: bool = False
    readonly: bool | None = None
    replay_safe: bool | None = None
    freshness_override: float | None = None
    served: bool = False
    verify_match: bool | None = None
    served_start: float | None = None
    user: str | None = None
    hash_disagrees: bool = False
    cost_usd: float | None = None
    has_end: bool = True

    @property
    def start_ns(self) -> int | None:
        return None if self.start is None else round(self.start * SECOND)

    @property
    def end_ns(self) -> int | None:
        if self.start is None or not self.has_end:
            return None
        return round((self.start if self.end is None else self.end) * SECOND)


@dataclass(frozen=True)
class OtherSpan:
    """A span that is no tool call."""

    start: float
    end: float
    span: str
    parent: str | None = None
    run: str = "run"


@dataclass
class Recorded:
    """A store that holds some calls and spans; the calls in row order."""

    store: duckdb.DuckDBPyConnection
    calls: list[Call] = field(default_factory=list)

    def columns(self, settings: Settings | None = None) -> CallColumns:
        return read_calls(self.store, settings or Settings())

    def rows(self, *starts: float) -> list[int]:
        """Return the rows of the calls that start at these seconds."""
        return [row for start in starts for row, c in enumerate(self.calls) if c.start == start]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _in_row_order(calls: Sequence[Call]) -> list[Call]:
    named = [
        replace(call, span=call.span or f"span-{place:05}") for place, call in enumerate(calls)
    ]

    def key(call: Call) -> tuple[object, ...]:
        start, end = call.start_ns, call.end_ns
        return (
            start is None,
            start or 0,
            end is None,
            end or 0,
            call.run,
            call.span,
            call.position,
        )

    return sorted(named, key=key)


def _row(key: int, call: Call) -> dict[str, object]:
    return {
        "call_key": key,
        "namespace": call.namespace,
        "trace_id": call.run,
        "span_id": call.span,
        "parent_span_id": call.parent,
        "position": call.position,
        "service": call.service,
        "tool": call.tool,
        "kind": call.kind,
        "version": call.version,
        "convention": "test",
        "input_hash": None if call.arguments is None else sha(call.arguments),
        "hash_v": None if call.arguments is None else call.hash_v,
        "identity_missing": "not-captured" if call.arguments is None else None,
        "arguments_hash": None if call.arguments is None else sha("all " + call.arguments),
        "content_hash": None if call.result is None else sha(call.result),
        "recorded_hash": call.hash_disagrees,
        "hash_disagrees": call.hash_disagrees,
        "empty_result": call.empty_result,
        "failed": call.failed,
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "readonly": call.readonly,
        "replay_safe": call.replay_safe,
        "freshness_override": call.freshness_override,
        "served_decision_id": "d-1" if call.served else None,
        "verify_match": call.verify_match,
        "served_start_ns": None if call.served_start is None else round(call.served_start * SECOND),
        "user_id": call.user,
        "cost_usd": call.cost_usd,
    }


@pytest.fixture(scope="session")
def call() -> type[Call]:
    """The builder of one recorded call."""
    return Call


@pytest.fixture(scope="session")
def other_span() -> type[OtherSpan]:
    """The builder of a span that is no tool call."""
    return OtherSpan


RecordedOf = Callable[..., Recorded]


@pytest.fixture
def recorded(tables: Any) -> RecordedOf:
    """Return a function that puts calls, other spans and argument texts into a store."""

    def record(
        *calls: Call, spans: Sequence[OtherSpan] = (), texts: Sequence[tuple[str, str]] = ()
    ) -> Recorded:
        ordered = _in_row_order(calls)
        tables.fill("tool_call", [_row(key, call) for key, call in enumerate(ordered)])
        own = {(call.run, call.span): call for call in ordered}
        tables.fill(
            "span",
            [
                {
                    "trace_id": run,
                    "span_id": span,
                    "parent_span_id": call.parent,
                    "start_ns": call.start_ns,
                    "end_ns": call.end_ns,
                }
                for (run, span), call in own.items()
            ]
            + [
                {
                    "trace_id": span.run,
                    "span_id": span.span,
                    "parent_span_id": span.parent,
                    "start_ns": round(span.start * SECOND),
                    "end_ns": round(span.end * SECOND),
                }
                for span in spans
            ],
        )
        tables.fill(
            "argument_text",
            [{"arguments_hash": sha("all " + name), "text": text} for name, text in texts],
        )
        return Recorded(tables.store, ordered)

    return record
