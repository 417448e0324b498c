"""What two records of one execution tell together."""

from __future__ import annotations

import msgspec

from visceral_cli.calls.tool_call import ContentMissing, ToolCall

PHASED = "openinference-beeai"
"""The convention whose spans are the phases of a call."""

EXECUTION = "claude-code-execution"
"""The convention whose span is the execution of the call around it, which is of `EXECUTED`."""

EXECUTED = "claude-code"


def merge(outer: ToolCall, inner: ToolCall) -> ToolCall:
    """Return what two records tell together; the outer one is believed where both know."""
    both = msgspec.structs.replace(outer)
    if _knows_better(inner, outer):
        both.input_hash, both.hash_v = inner.input_hash, inner.hash_v
        both.recorded_hash, both.hash_disagrees = inner.recorded_hash, inner.hash_disagrees
        both.identity_missing, both.arguments = inner.identity_missing, inner.arguments
        both.unnamed_arguments = inner.unnamed_arguments
        both.version = inner.version
    outer_is_silent = outer.content_hash is None and not outer.failed
    both.failed = outer.failed or (inner.failed and outer_is_silent)
    if outer_is_silent and (inner.content_hash is not None or inner.failed):
        both.result, both.content_hash = inner.result, inner.content_hash
        both.content_missing, both.content_bytes = inner.content_missing, inner.content_bytes
        both.empty_result, both.result_order = inner.empty_result, inner.result_order
    if both.failed:
        both.content_hash, both.content_missing = None, ContentMissing.FAILED
    for name in _COALESCED:
        if getattr(both, name) is None:
            setattr(both, name, getattr(inner, name))
    _set_times(both, outer, inner)
    return both


_COALESCED = (
    "call_id",
    "session",
    "user",
    "agent",
    "service",
    "readonly",
    "replay_safe",
    "vary",
    "freshness_override",
    "invalidates",
    "declared_run",
    "served_start_ns",
    "served_decision_id",
    "verify_match",
    "cost_usd",
    "principal",
)


def _knows_better(inner: ToolCall, outer: ToolCall) -> bool:
    if inner.input_hash is None:
        return False
    if outer.input_hash is None:
        return True
    if inner.recorded_hash != outer.recorded_hash:
        return inner.recorded_hash
    return outer.unnamed_arguments and not inner.unnamed_arguments


def _set_times(both: ToolCall, outer: ToolCall, inner: ToolCall) -> None:
    if inner.convention == EXECUTION:
        # The span around it also waits for the user's permission.
        both.start_ns, both.end_ns = inner.start_ns, inner.end_ns
    elif inner.convention == PHASED and inner.start_ns is not None:
        # A phase begins when it happens and ends with the whole run.
        both.end_ns = max(inner.start_ns, both.start_ns or 0)
