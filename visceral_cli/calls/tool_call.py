"""``ToolCall``: one execution of a tool, as one span tells it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CallKind(StrEnum):
    """What kind of read or action a call is; the kinds are never mixed in one group."""

    TOOL = "tool"
    RETRIEVER = "retriever"
    EMBEDDING = "embedding"
    RERANKER = "reranker"


class IdentityMissing(StrEnum):
    """Why a call has no identity: unknown arguments are never equal arguments."""

    NOT_CAPTURED = "not-captured"
    """The span carries no arguments at all."""
    REDACTED = "redacted"
    """A placeholder stands where the arguments, or a part of them, were."""
    TRUNCATED = "truncated"
    """The text of the arguments was cut."""
    DROPPED_ATTRIBUTES = "dropped-attributes"
    """The span lost attributes, and the arguments may be among them."""
    NOT_CANONICAL = "not-canonical"
    """NaN, infinity or another value without canonical JSON."""
    ENCRYPTED = "encrypted"
    """The arguments are encrypted, no usable key was given, and the span has no hash."""
    SERVED = "served"
    """A served call: its span names no input (contract 1.3)."""
    INVALID_HASH = "invalid-hash"
    """A recorded input hash that is not 64 hex digits, and no readable arguments."""
    WRITER = "writer"
    """A declared writer records no arguments (contract 1.3)."""
    UNPARSABLE = "unparsable"
    """Looks like JSON or a Python literal but is neither."""
    CONFLICT = "conflicting"
    """Two places of one call give different arguments."""


class ContentMissing(StrEnum):
    """Why a call has no content hash: an unknown result proves nothing."""

    NOT_CAPTURED = "not-captured"
    REDACTED = "redacted"
    TRUNCATED = "truncated"
    DROPPED_ATTRIBUTES = "dropped-attributes"
    NOT_CANONICAL = "not-canonical"
    ENCRYPTED = "encrypted"
    SERVED = "served"
    FAILED = "failed"
    UNPARSABLE = "unparsable"


class ToolCall(msgspec.Struct, gc=False):
    """One execution of a tool, found in one span (or one of several found in it).

    Hashes are lower-case hex of sha256. Arguments and result are kept as text only for the local
    store; nothing prints them unless the user asks.
    """

    trace_id: str
    span_id: str
    parent_span_id: str | None
    position: int
    """0, or the place of the call among the several calls that one span tells of."""
    tool: str
    kind: CallKind
    convention: str
    """The name of the row in ``calls.conventions`` that recognised the span."""
    start_ns: int | None
    end_ns: int | None
    failed: bool
    service: str | None = None
    scope: str = ""
    span_kind: int = 0
    version: str | None = None
    """The declared version as text: part of the identity."""
    arguments: str | None = None
    """Canonical JSON of all arguments, where they are known."""
    unnamed_arguments: bool = False
    """The span tells the arguments without all of their names: ``{"input": ...}`` for a lone one,
    ``{"args": [...], "kwargs": {...}}`` for positional ones. They contradict nothing that names
    them."""
    input_hash: str | None = None
    """Contract v1 identity hash, recorded or computed; ``None`` if ``identity_missing`` is set."""
    hash_v: int | None = None
    recorded_hash: bool = False
    """Whether ``input_hash`` was recorded by the runtime rather than computed here."""
    hash_disagrees: bool = False
    """Recorded and recomputed hash differ (a finding)."""
    identity_missing: IdentityMissing | None = None
    result: str | None = None
    """Canonical JSON of the result reduced to the tool's own value, where it is known."""
    content_hash: str | None = None
    """sha256 of the canonical result; ``None`` exactly when ``content_missing``."""
    content_missing: ContentMissing | None = None
    content_bytes: int | None = None
    """Length of the canonical result, or of an encrypted one (contract 1.3, item 6)."""
    result_order: str | None = None
    """The order of the keys in the result (`contract.key_order`), where the span tells it."""
    empty_result: bool = False
    """The result is null, "", [], {} or says that nothing was found."""
    call_id: str | None = None
    session: str | None = None
    user: str | None = None
    agent: str | None = None
    readonly: bool | None = None
    """Attested on the span; ``None`` when the span says nothing."""
    replay_safe: bool | None = None
    vary: str | None = None
    """Declared ``vary`` as the span has it: names joined by commas."""
    freshness_override: float | None = None
    """Declared upper bound of the freshness, seconds."""
    invalidates: str | None = None
    """Declared ``invalidates`` of a writer as the span has it: names joined by commas, perhaps
    none; ``None`` where nothing is declared."""
    declared_run: str | None = None
    """The id of the run that the program declared around the call."""
    served_start_ns: int | None = None
    """When the execution began whose stored result answered the call."""
    served_decision_id: str | None = None
    verify_match: bool | None = None
    cost_usd: float | None = None
    principal: str | None = None
    """The value of the attribute that the user named with ``--principal`` / ``--namespace``."""


class Mention(msgspec.Struct, gc=False):
    """Arguments or a result of a call, told by another record than the call's own span.

    Model spans name the calls they ask for by call id; log records name the span they belong to.
    """

    trace_id: str
    span_id: str | None
    """The span whose content this is (log records), or ``None``: then ``call_id`` tells."""
    call_id: str | None
    tool: str | None
    what: str
    """``arguments`` or ``result``."""
    text: str
    """The text as recorded, before any unwrapping; what was no text as canonical JSON."""
