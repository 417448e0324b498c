"""What spans of the Visceral SDK attest beside the call: flags, served results, recorded hashes.

Presence is by contract: a served call names no input, a declared writer records none, and a
read-only call without a hash could not be hashed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from visceral_cli.calls.arguments import Arguments
from visceral_cli.calls.tool_call import ContentMissing, IdentityMissing, ToolCall
from visceral_cli.contract import attributes as names
from visceral_cli.contract.identity import (
    HASH_VERSION,
    NotCanonical,
    content_hash,
    input_hash,
)

_HASH = re.compile(r"[0-9a-f]{64}")
_EMPTY_RESULTS = frozenset(content_hash(text) for text in ("null", '""', "[]", "{}"))

# Looked up once: reading a member off its class costs a tenth of a microsecond.
_NO_ARGUMENTS = IdentityMissing.NOT_CAPTURED
_NO_RESULT = ContentMissing.NOT_CAPTURED


def attest(call: ToolCall, attributes: Mapping[str, object], arguments: Arguments) -> None:
    """Fill in what the SDK says of a call whose arguments and result were read before."""
    for key, field, read in _ATTESTED:
        value = attributes.get(key)
        if value is not None:
            setattr(call, field, read(value))
    _take_recorded_hash(call, attributes, arguments.captured)
    _take_recorded_content(call, attributes)
    _explain_absence(call, arguments)


def _take_recorded_hash(call: ToolCall, attributes: Mapping[str, object], captured: object) -> None:
    # ``captured`` is what was hashed: in its framework's envelope, where there is one.
    recorded = attributes.get(names.INPUT_HASH)
    if recorded is None:
        return
    if not isinstance(recorded, str) or not _HASH.fullmatch(recorded):
        if call.input_hash is None:
            call.identity_missing = IdentityMissing.INVALID_HASH
        return
    hash_v = attributes.get(names.HASH_V)
    call.hash_v = hash_v if isinstance(hash_v, int) else None
    call.input_hash, call.recorded_hash, call.identity_missing = recorded, True, None
    if call.hash_v == HASH_VERSION and isinstance(captured, Mapping):
        vary = None if call.vary is None else call.vary.split(",")
        try:
            computed = input_hash(
                call.tool, captured, vary=vary, version=attributes.get(names.VERSION)
            )
        except NotCanonical:
            return  # such as a vary that names no argument: nothing to hold it against
        call.hash_disagrees = computed != recorded


def _take_recorded_content(call: ToolCall, attributes: Mapping[str, object]) -> None:
    """Take the hash of a result that was not captured itself: the runtime's default."""
    recorded = attributes.get(names.OUTPUT_HASH)
    if call.content_missing is not _NO_RESULT or not isinstance(recorded, str):
        return
    if _HASH.fullmatch(recorded):
        call.content_hash, call.content_missing = recorded, None
        call.empty_result = recorded in _EMPTY_RESULTS


def _explain_absence(call: ToolCall, arguments: Arguments) -> None:
    if call.served_decision_id is not None and call.verify_match is None:
        if not call.recorded_hash:
            call.input_hash, call.hash_v = None, None
            call.identity_missing = IdentityMissing.SERVED
        call.content_hash, call.content_missing = None, ContentMissing.SERVED
        return
    nothing_captured = arguments.missing is _NO_ARGUMENTS
    if call.readonly is False:
        if nothing_captured and call.identity_missing is _NO_ARGUMENTS:
            call.identity_missing = IdentityMissing.WRITER
        return
    if call.identity_missing is _NO_ARGUMENTS and call.readonly:
        call.identity_missing = IdentityMissing.NOT_CANONICAL
    if call.content_missing is _NO_RESULT and not nothing_captured:
        # The arguments were captured, the result was not: it has no faithful JSON.
        call.content_missing = ContentMissing.NOT_CANONICAL


def flag(value: object) -> bool | None:
    """Return a boolean, also where a backend made a text of it."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def text(value: object) -> str | None:
    """Return a text that is not empty."""
    return value if isinstance(value, str) and value else None


def declared_text(value: object) -> str | None:
    """Return a text, the empty one as well: it declares that there is nothing."""
    return value if isinstance(value, str) else None


def nanoseconds(value: object) -> int | None:
    """Return a time after the epoch, also where a backend made a text of it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 2**63 else None


def number(value: object) -> float | None:
    """Return a finite number, also where a backend made a text of it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if found - found == 0 else None


_ATTESTED: tuple[tuple[str, str, Callable[[object], object]], ...] = (
    # attribute, field of ToolCall, how to read the value
    (names.READONLY, "readonly", flag),
    (names.REPLAY_SAFE, "replay_safe", flag),
    (names.VARY, "vary", text),
    (names.FRESHNESS_OVERRIDE, "freshness_override", number),
    (names.INVALIDATES, "invalidates", declared_text),
    (names.RUN_ID, "declared_run", text),
    (names.SERVED_START, "served_start_ns", nanoseconds),
    (names.SERVED_DECISION_ID, "served_decision_id", text),
    (names.VERIFY_MATCH, "verify_match", flag),
    (names.OUTPUT_ORDER, "result_order", declared_text),
)
