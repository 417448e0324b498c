"""How two call records lie in time, and whether what they tell contradicts.

An interval that is not known contradicts nothing.
"""

from __future__ import annotations

from visceral_cli.calls.tool_call import ToolCall


def holds(outer: ToolCall, inner: ToolCall) -> bool:
    """Whether the interval of one holds that of the other; unknown times hold everything."""
    return (
        outer.start_ns is None
        or inner.start_ns is None
        or outer.end_ns is None
        or inner.end_ns is None
        or (outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns)
    )


def overlap(one: ToolCall, other: ToolCall) -> bool:
    """Whether two intervals share any time."""
    if one.start_ns is None or other.start_ns is None or one.end_ns is None or other.end_ns is None:
        return True
    return one.start_ns <= other.end_ns and other.start_ns <= one.end_ns


def nearly_coincide(one: ToolCall, other: ToolCall) -> bool:
    """Whether two intervals share most of the shorter: callbacks of two libraries take turns."""
    if one.start_ns is None or other.start_ns is None or one.end_ns is None or other.end_ns is None:
        return False
    shorter = min(one.end_ns - one.start_ns, other.end_ns - other.start_ns)
    shared = min(one.end_ns, other.end_ns) - max(one.start_ns, other.start_ns)
    return shared >= 0 and shared * 4 >= shorter * 3


def starts_after(one: ToolCall, other: ToolCall) -> bool:
    """Whether one call is known to have started after the other."""
    return one.start_ns is not None and other.start_ns is not None and one.start_ns > other.start_ns


def still_open(one: ToolCall, now: ToolCall) -> bool:
    """Whether a call had not ended when another started."""
    return one.end_ns is None or now.start_ns is None or one.end_ns >= now.start_ns


def agree(one: ToolCall, other: ToolCall) -> bool:
    """Whether nothing that both records know contradicts: call ids, versions, arguments."""
    if one.call_id is not None and other.call_id is not None and one.call_id != other.call_id:
        return False
    if one.input_hash is None or other.input_hash is None:
        return True
    if one.unnamed_arguments or other.unnamed_arguments:
        return True
    if one.recorded_hash != other.recorded_hash or one.version != other.version:
        return True  # hashed from other things, so that different hashes say nothing
    return one.input_hash == other.input_hash
