"""Which span is open here: the OpenTelemetry context's if the agent has loaded it, else our own.

A span that the runtime opens is current in both, so that spans of other libraries hang below it.
"""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar, Token
from typing import Any, NamedTuple


class SpanIds(NamedTuple):
    """A span's place in its trace. A named tuple, since one is made at every call."""

    trace_id: str
    """32 lower-case hex digits."""
    span_id: str
    """16 lower-case hex digits."""


_current: ContextVar[SpanIds | None] = ContextVar("visceral_span", default=None)


class Entered(NamedTuple):
    """What `leave` needs."""

    own: Token[SpanIds | None]
    foreign: Any


def current() -> SpanIds | None:
    """Return the innermost open span, whoever opened it."""
    api = sys.modules.get("opentelemetry.trace")
    if api is not None:
        context = api.get_current_span().get_span_context()
        if context.is_valid:
            return SpanIds(f"{context.trace_id:032x}", f"{context.span_id:016x}")
    return _current.get()


def child_of(parent: SpanIds | None) -> SpanIds:
    """Return new ids: in the parent's trace, or in a new one."""
    if parent is not None:
        return SpanIds(parent.trace_id, os.urandom(8).hex())
    fresh = os.urandom(24).hex()
    return SpanIds(fresh[:32], fresh[32:])


def enter(ids: SpanIds) -> Entered:
    """Make a span current; give the answer to `leave`."""
    return Entered(_current.set(ids), _enter_foreign(ids))


def leave(entered: Entered) -> None:
    """Make current again what was before."""
    _current.reset(entered.own)
    if entered.foreign is not None:
        sys.modules["opentelemetry.context"].detach(entered.foreign)


def _enter_foreign(ids: SpanIds) -> Any:
    api = sys.modules.get("opentelemetry.trace")
    context = sys.modules.get("opentelemetry.context")
    if api is None or context is None:
        return None
    place = api.SpanContext(
        trace_id=int(ids.trace_id, 16),
        span_id=int(ids.span_id, 16),
        is_remote=False,
        trace_flags=api.TraceFlags(api.TraceFlags.SAMPLED),
    )
    return context.attach(api.set_span_in_context(api.NonRecordingSpan(place)))
