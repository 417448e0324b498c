"""What spans of the Visceral SDK attest beside the call: flags, served results, recorded hashes.

Presence is by contract: a served call names no input, a declared writer records none, and a
read-only call without a hash could not be hashed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from visceral_cli.calls.arguments import Arguments
from visceral_cli.calls.attribute_values import declared_text, flag, nanoseconds, number, text
from visceral_cli.calls.span_group import SpanGroup, SpansTogether
from visceral_cli.calls.tool_call import ContentMissing, IdentityMissing, ToolCall
from visceral_cli.contract import attributes as names
from visceral_cli.contract.identity import (
    HASH_VERSION,
    NotCanonical,
    content_hash,
    input_hash,
)
from visceral_cli.ingest.span import Span

_HEX = "0123456789abcdef"
_EMPTY_RESULTS = frozenset(content_hash(text) for text in ("null", '""', "[]", "{}"))

# Looked up once: reading a member off its class costs a tenth of a microsecond.
_NO_ARGUMENTS = IdentityMissing.NOT_CAPTURED
_NO_RESULT = ContentMissing.NOT_CAPTURED

Told = dict[str, list[Any]]
"""Fields of :class:`ToolCall` by name, each with one value a call."""

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
_DECIDED = (
    "tool",
    "input_hash",
    "hash_v",
    "recorded_hash",
    "hash_disagrees",
    "identity_missing",
    "content_hash",
    "content_missing",
    "empty_result",
)
"""Fields that are read or changed here beside those that are attested."""


def attest_call(call: ToolCall, span: Span, arguments: Arguments) -> None:
    """Fill in what the SDK says of one call; see :func:`attest`."""
    told = {field: [getattr(call, field)] for field in _DECIDED}
    attest(told, SpansTogether((span,)), (arguments,))
    for field, (value,) in told.items():
        setattr(call, field, value)


def attest(told: Told, spans: SpanGroup, arguments: Sequence[Arguments]) -> None:
    """Fill in what the SDK says of calls whose arguments and results were read before.

    ``told`` holds at least the fields that were read; those of one call, its span and its
    arguments stand at the same place.
    """
    for key, field, read in _ATTESTED:
        told[field] = list(map(read, _column(spans, key)))
    if names.INPUT_HASH in spans.keys:
        _take_recorded_hashes(told, spans, arguments)
    if names.OUTPUT_HASH in spans.keys:
        _take_recorded_contents(told, spans.column(names.OUTPUT_HASH))
    _explain_absences(told, arguments)


def _take_recorded_hashes(told: Told, spans: SpanGroup, arguments: Sequence[Arguments]) -> None:
    rules, versions = _column(spans, names.HASH_V), _column(spans, names.VERSION)
    for place, recorded in enumerate(spans.column(names.INPUT_HASH)):
        if recorded is None:
            continue
        if not _is_hash(recorded):
            if told["input_hash"][place] is None:
                told["identity_missing"][place] = IdentityMissing.INVALID_HASH
            continue
        hash_v = rules[place]
        told["hash_v"][place] = hash_v if isinstance(hash_v, int) else None
        told["input_hash"][place], told["recorded_hash"][place] = recorded, True
        told["identity_missing"][place] = None
        # What was hashed is what was captured: in its framework's envelope, where there is one.
        captured = arguments[place].captured
        if hash_v == HASH_VERSION and isinstance(captured, Mapping):
            vary = told["vary"][place]
            told["hash_disagrees"][place] = _disagrees(
                recorded, told["tool"][place], captured, vary, versions[place]
            )


def _disagrees(
    recorded: object, tool: str, captured: Mapping[str, object], vary: str | None, version: object
) -> bool:
    keyed = None if vary is None else vary.split(",")
    try:
        return input_hash(tool, captured, vary=keyed, version=version) != recorded
    except NotCanonical:
        return False  # such as a vary that names no argument: nothing to hold it against


def _take_recorded_contents(told: Told, hashes: Sequence[object]) -> None:
    """Take the hashes of results that were not captured themselves: the runtime's default."""
    for place, recorded in enumerate(hashes):
        if told["content_missing"][place] is _NO_RESULT and _is_hash(recorded):
            told["content_hash"][place], told["content_missing"][place] = recorded, None
            told["empty_result"][place] = recorded in _EMPTY_RESULTS


def _column(spans: SpanGroup, key: str) -> list[Any]:
    return spans.column(key) if key in spans.keys else [None] * len(spans)


def _is_hash(recorded: object) -> bool:
    return isinstance(recorded, str) and len(recorded) == 64 and not recorded.strip(_HEX)


def _explain_absences(told: Told, arguments: Sequence[Arguments]) -> None:
    identity_missing, content_missing = told["identity_missing"], told["content_missing"]
    served = zip(told["served_decision_id"], told["verify_match"], strict=True)
    for place, (decision, verified) in enumerate(served):
        if decision is not None and verified is None:
            if not told["recorded_hash"][place]:
                told["input_hash"][place], told["hash_v"][place] = None, None
                identity_missing[place] = IdentityMissing.SERVED
            told["content_hash"][place], content_missing[place] = None, ContentMissing.SERVED
            continue
        nothing_captured = arguments[place].missing is _NO_ARGUMENTS
        if told["readonly"][place] is False:
            if nothing_captured and identity_missing[place] is _NO_ARGUMENTS:
                identity_missing[place] = IdentityMissing.WRITER
            continue
        if identity_missing[place] is _NO_ARGUMENTS and told["readonly"][place]:
            identity_missing[place] = IdentityMissing.NOT_CANONICAL
        if content_missing[place] is _NO_RESULT and not nothing_captured:
            # The arguments were captured, the result was not: it has no faithful JSON.
            content_missing[place] = ContentMissing.NOT_CANONICAL
