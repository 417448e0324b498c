"""A span to its tool calls, or to nothing."""

from __future__ import annotations

import re

import msgspec

from visceral_cli.calls import haystack, identities, mentions, places
from visceral_cli.calls.alike import AlikeReader
from visceral_cli.calls.arguments import read_arguments
from visceral_cli.calls.attested import attest_call
from visceral_cli.calls.contents import ContentReader
from visceral_cli.calls.convention import Convention
from visceral_cli.calls.conventions import CONVENTIONS
from visceral_cli.calls.encryption import SectionOpener
from visceral_cli.calls.failures import span_failed
from visceral_cli.calls.haystack import ToldCall
from visceral_cli.calls.identities import Identity, IdentityReader
from visceral_cli.calls.key_plan import KeyPlan, KeyPlans
from visceral_cli.calls.recognise import Recogniser
from visceral_cli.calls.results import Result, read_result
from visceral_cli.calls.tool_call import (
    CallKind,
    ContentMissing,
    IdentityMissing,
    Mention,
    ToolCall,
)
from visceral_cli.contract.identity import HASH_VERSION
from visceral_cli.ingest.span import SERVER, LogRecord, Resource, Span
from visceral_cli.settings import NO_DECLARATION, ExtractSettings

_RECOVERABLE = frozenset(
    {
        IdentityMissing.NOT_CAPTURED,
        IdentityMissing.REDACTED,
        IdentityMissing.TRUNCATED,
        IdentityMissing.DROPPED_ATTRIBUTES,
        IdentityMissing.UNPARSABLE,
        IdentityMissing.ENCRYPTED,
    }
)
_RECOVERABLE_CONTENT = frozenset(
    {
        ContentMissing.NOT_CAPTURED,
        ContentMissing.REDACTED,
        ContentMissing.TRUNCATED,
        ContentMissing.DROPPED_ATTRIBUTES,
        ContentMissing.ENCRYPTED,
    }
)


_SERVICE = "service.name"
_PHASE = re.compile(r"\.(start|success|error|finish|retry)-(\d+)$")


class SpanContext(msgspec.Struct, frozen=True, gc=False):
    """Who and what a span says it belongs to."""

    session: str | None
    user: str | None
    agent: str | None


Told = tuple[list[ToolCall], list[Mention], SpanContext]
"""The calls of a span, what it tells of calls of other spans, and who it belongs to."""

NO_CONTEXT = SpanContext(None, None, None)


class Extractor:
    """Reads spans into calls. One per process: it remembers the texts it has read."""

    def __init__(self, settings: ExtractSettings) -> None:
        """Raises `UsageError` for a workspace key that is none."""
        opener = SectionOpener(settings.workspace_keys)
        self.opens_sections = opener.has_keys
        self._tools = settings.tools
        self._namespace = settings.namespace_attribute
        self.principal = settings.principal_attribute
        self.plan_of = KeyPlans().of
        recogniser = Recogniser()
        self.find, self.decided = recogniser.find, recogniser.decided
        self.may_be_named, self.any_text = recogniser.may_be_named, recogniser.any_text
        self._identities = IdentityReader(opener)
        self._contents = ContentReader(opener)
        self.alike = AlikeReader(settings, self._identities, self._contents)
        self._rows = {row.name: row for row in CONVENTIONS}
        self._resource: Resource | None = None
        self._service: str | None = None

    def read(self, span: Span) -> Told:
        """Return all that a span tells: its calls, else those that it asks for, and who it is of.

        Raises `UsageError` when a captured section needs another workspace key.
        """
        plan = self.plan_of(span)
        calls, asked = self.told(span, plan, self.find(span, plan))
        return calls, asked, self.who(span, plan)

    def told(
        self, span: Span, plan: KeyPlan, found: tuple[Convention, CallKind] | None
    ) -> tuple[list[ToolCall], list[Mention]]:
        """Return the calls of a span, else those that it asks for.

        ``plan`` and ``found`` are what :attr:`plan_of` and :attr:`find` return for it. Raises as
        :meth:`read`.
        """
        calls = [] if found is None else self._calls(span, *found)
        return calls, [] if calls else mentions.of_span(span, plan.answers)

    def calls(self, span: Span) -> list[ToolCall]:
        """Return the calls that a span tells of: none, one, or the several of one step.

        Raises `UsageError` when a captured section needs another workspace key.
        """
        found = self.find(span, self.plan_of(span))
        return [] if found is None else self._calls(span, *found)

    def mentions(self, span: Span) -> list[Mention]:
        """Return the arguments of the calls that a model span asks for, by call id."""
        return mentions.of_span(span, self.plan_of(span).answers)

    def mentions_of_log(self, record: LogRecord) -> list[Mention]:
        """Return the arguments and results that a log record holds, by call or span id."""
        return mentions.of_log(record)

    def complete(self, call: ToolCall, arguments: str | None, result: str | None) -> ToolCall:
        """Return the call with what its own span lacked, as other records tell it.

        What the span itself tells stays; so do served calls, recorded hashes and failures.
        """
        row = self._rows[call.convention]
        declaration = self._tools.get(call.tool, NO_DECLARATION)
        done = msgspec.structs.replace(call)
        if arguments is not None and call.identity_missing in _RECOVERABLE:
            read = read_arguments(arguments, row)
            if read.missing is None:
                vary = declaration.vary if call.vary is None else tuple(call.vary.split(","))
                _set_identity(done, identities.hashed(read, call.tool, call.version, vary))
        if result is not None and call.content_missing in _RECOVERABLE_CONTENT:
            told = read_result(result, row, declaration=declaration)
            if told.missing is None or told.failed:
                _set_result(done, told)
        return done

    def context(self, span: Span) -> SpanContext:
        """Return session, user and agent of any span, call or not."""
        return self.who(span, self.plan_of(span))

    def who(self, span: Span, plan: KeyPlan) -> SpanContext:
        """Return session, user and agent of a span with the plan of its keys."""
        principal = self.principal
        if not plan.tells_who and principal is None:
            return NO_CONTEXT
        get = span.attributes.get
        return SpanContext(
            places.first_text(get, plan.session),
            places.first_text(get, plan.user)
            if principal is None
            else places.named(span, principal),
            places.first_text(get, plan.agent),
        )

    def _calls(self, span: Span, row: Convention, kind: CallKind) -> list[ToolCall]:
        if row.several is not None:
            return self._several(span, row)
        call = self._one(span, row, kind)
        return [] if call is None else [call]

    def _one(self, span: Span, row: Convention, kind: CallKind) -> ToolCall | None:
        get = span.attributes.get
        phase = _PHASE.search(span.name) if row.phased else None
        tool = places.first_text(get, row.tool) if row.tool else None
        if tool is None:
            tool = places.tool_in_name(
                span.name if phase is None else span.name[: phase.start()], row
            )
        if tool in row.pseudo_tools:
            return None
        declaration = self._tools.get(tool, NO_DECLARATION)
        version = places.first(get, row.version) if row.version else None
        if version is None:
            version = declaration.version
        identity = self._identities.read(span, row, kind, tool, version, declaration)
        result = self._contents.read(span, row, kind, declaration)
        if row.only_messages and result.call_id is None:
            return None
        call = self._frame(span, row, kind, tool, version)
        if call.call_id is None:
            call.call_id = identity.arguments.call_id or result.call_id
        if span.status or span.events or row.failed_if:
            call.failed = span_failed(span, row)
        if phase is not None:
            call.call_id = f"phase {phase.group(2)}"
            call.failed = call.failed or phase.group(1) == "error"
        _set_identity(call, identity)
        _set_result(call, result)
        if row.attested:
            attest_call(call, span, identity.arguments)
        if span.dropped_attributes and not call.recorded_hash:
            _forget_identity(call)
        return call

    def _frame(
        self, span: Span, row: Convention, kind: CallKind, tool: str, version: object
    ) -> ToolCall:
        """Return the call with all that is neither arguments nor result."""
        get = span.attributes.get
        span_kind = span.kind
        if row.server_side is not None and str(get(row.server_side[0])).endswith(
            row.server_side[1]
        ):
            span_kind = SERVER
        if span.resource is not self._resource:  # many spans share one
            self._resource, self._service = span.resource, span.resource.service
        service = self._service
        # By position up to the version: by name it takes six times as long.
        call = ToolCall(
            span.trace_id,
            span.span_id,
            span.parent_span_id,
            0,
            tool,
            kind,
            row.name,
            span.start_ns,
            span.end_ns,
            False,
            service,
            span.scope,
            span_kind,
            None if version is None else str(version),
        )
        if row.call_id:
            call.call_id = places.call_id(get, row.call_id)
        if row.session:
            call.session = places.first_text(get, row.session)
        principal = self.principal
        if principal is not None:
            call.user = places.named(span, principal)
        elif row.user:
            call.user = places.first_text(get, row.user)
        if row.agent:
            call.agent = places.first_text(get, row.agent)
        if row.cost:
            call.cost_usd = places.cost(get, row.cost)
        call.principal = self._separator(span, service)
        return call

    def _separator(self, span: Span, service: str | None) -> str | None:
        """Return the value that separates the results of a span from those of others."""
        namespace = self._namespace
        if namespace == _SERVICE and namespace not in span.attributes:
            return service
        return None if namespace is None else places.named(span, namespace)

    def _several(self, span: Span, row: Convention) -> list[ToolCall]:
        take_apart = (
            haystack.calls_in_reprs if row.several == "reprs" else haystack.calls_in_messages
        )
        get = span.attributes.get
        told = take_apart(places.first(get, row.arguments), places.first(get, row.result))
        return [self._told(span, row, position, item) for position, item in enumerate(told)]

    def _told(self, span: Span, row: Convention, position: int, told: ToldCall) -> ToolCall:
        declaration = self._tools.get(told.tool, NO_DECLARATION)
        version = declaration.version
        call = self._frame(span, row, CallKind.TOOL, told.tool, version)
        call.position = position
        call.call_id = told.call_id
        call.failed = told.failed
        read = read_arguments(told.arguments, row)
        _set_identity(call, identities.hashed(read, told.tool, version, declaration.vary))
        _set_result(call, read_result(told.result, row, declaration=declaration))
        return call


def _set_identity(call: ToolCall, identity: Identity) -> None:
    arguments = identity.arguments
    call.arguments = arguments.text
    call.unnamed_arguments = arguments.unnamed
    call.identity_missing = arguments.missing
    call.input_hash = identity.input_hash
    call.hash_v = None if identity.input_hash is None else HASH_VERSION


def _forget_identity(call: ToolCall) -> None:
    """Leave out an identity whose arguments, version or flags may be among the lost attributes."""
    call.input_hash, call.hash_v, call.arguments = None, None, None
    if call.identity_missing in (None, IdentityMissing.NOT_CAPTURED):
        call.identity_missing = IdentityMissing.DROPPED_ATTRIBUTES


def _set_result(call: ToolCall, result: Result) -> None:
    call.result = result.text
    call.content_bytes = result.length
    call.empty_result = result.empty
    if result.failed or call.failed:
        # Whatever a failed execution left behind is no result to be reused.
        call.failed, call.content_hash, call.content_missing = True, None, ContentMissing.FAILED
    else:
        call.content_hash = result.content_hash
        call.content_missing = result.missing
