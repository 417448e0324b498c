"""The bookkeeping of one `cached_tool_call`, the same for sync and async.

Nothing here raises because of the cache: what goes wrong is noted, and the tool runs.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict

from visceral_cli.contract import attributes as names
from visceral_cli.contract.decide import Decision, is_overtaken
from visceral_cli.contract.identity import HASH_VERSION, InputHash, NotCanonical
from visceral_cli.contract.rule import decision_id
from visceral_cli.runtime import environment
from visceral_cli.runtime.bounded import TookTooLong
from visceral_cli.runtime.call_arguments import ToolCallKeyPart, call_identity, name_of_tool
from visceral_cli.runtime.declaration import Declaration
from visceral_cli.runtime.errors_in_results import ToolCallErrorCheck
from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.invocation import KIND_OF_REFUSAL, type_name
from visceral_cli.runtime.kept_value import Unreadable, Written, read_text, write_value
from visceral_cli.runtime.outcome import Kind
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.serve import (
    Refused,
    Served,
    answer,
    freshness_ns,
    make_entry,
    store_key,
)
from visceral_cli.runtime.sharing import name_on_span
from visceral_cli.runtime.single_flight import Landed, Landing
from visceral_cli.runtime.spans import OpenSpan
from visceral_cli.runtime.stores.result_store import Claim, Entry, Found, Kept, StoreFailed
from visceral_cli.runtime.writer_log import EVERYTHING, entry_scopes

logger = logging.getLogger("visceral_cli.runtime")

DEFAULT_TIMEOUT_SECONDS = 300.0


class Ask(NamedTuple):
    """What is asked for, taken once before anything runs."""

    namespace: str
    tool: str
    key: str
    """In the store; empty: not cached, for ``refusal``."""
    input_hash: InputHash | None
    arguments_json: str
    scopes: tuple[str, ...]
    freshness_ns: int
    version: object
    declaration: Declaration
    refusal: tuple[Kind, str] | None = None


class AskOptions(TypedDict, total=False):
    """What `take` may be told beside the question; see `cached_tool_call`."""

    tool: str | None
    tags: Sequence[str]
    version: str | None
    freshness_seconds: float | None


def take(
    namespace: str,
    key: Sequence[ToolCallKeyPart] | ToolCallKeyPart,
    arguments: object,
    timeout: float | None,
    *,
    tool: str | None = None,
    tags: Sequence[str] = (),
    version: str | None = None,
    freshness_seconds: float | None = None,
) -> Ask:
    """Return the request; raises ``ValueError`` for a timeout that is NaN or no number."""
    seconds = check_timeout(timeout)
    if freshness_seconds is not None:
        seconds = min(seconds, check_timeout(freshness_seconds))
    name = tool or name_of_tool(namespace, key) or "tool"
    asked = Ask(
        namespace=namespace,
        tool=name,
        key="",
        input_hash=None,
        arguments_json="",
        scopes=entry_scopes(namespace, tags),
        freshness_ns=freshness_ns(seconds) if seconds > 0 else 0,
        version=version,
        declaration=_declaration(name, version),
    )
    try:
        identity, text = call_identity(namespace, key, arguments, tool=name, version=version)
    except NotCanonical:
        return asked._replace(refusal=(Kind.UNCACHEABLE, "not-canonical"))
    except Exception as error:  # noqa: BLE001 - arguments are the user's objects
        return asked._replace(refusal=(Kind.UNCACHEABLE, type(error).__name__))
    asked = asked._replace(
        key=store_key(namespace, name, identity),
        input_hash=identity,
        arguments_json=text,
    )
    if asked.freshness_ns <= 0:
        return asked._replace(refusal=(Kind.BYPASS, "timeout"))
    if not namespace:
        return asked._replace(refusal=(Kind.UNCACHEABLE, "no-namespace"))
    if not environment.serving_is_on():
        return asked._replace(refusal=(Kind.BYPASS, "switched-off"))
    return asked


@functools.lru_cache(maxsize=1024, typed=True)
def _declaration(tool: str, version: str | None) -> Declaration:
    return Declaration(tool, readonly=True, replay_safe=True, version=version)


def check_timeout(timeout: float | None) -> float:
    """Return the timeout in seconds; ``None`` means the default, not for ever."""
    if timeout is None:
        return DEFAULT_TIMEOUT_SECONDS
    if type(timeout) not in (int, float) or math.isnan(timeout):
        raise ValueError("timeout is a number of seconds")
    return min(timeout, 1e9)


class CachedCall:
    """One request, from the lookup to its outcome."""

    def __init__(
        self,
        ask: Ask,
        runtime: Runtime,
        results: Results | None,
        is_error: ToolCallErrorCheck,
    ) -> None:
        self.ask = ask
        self.runtime = runtime
        self.results = results
        self.claim: Claim | None = None
        self.owner = ""
        self.asked_ns = runtime.clock()
        self._checked_ns = 0
        self.started_ns = 0
        self.landed = Landed(Landing.UNSHARED)
        """What those who wait for this call get."""
        self._is_error = is_error
        self._span: OpenSpan | None = None
        self._kind, self._reason = ask.refusal or (Kind.MISS, "no-result")
        self._failed = False
        self._age_ns: int | None = None
        self._remaining_ns: int | None = None
        self._stored_ns: int | None = None
        """When the execution began that answers."""

    def about_to_check(self) -> None:
        """The store is about to be asked, or to keep a result: it then knows of all writers."""
        self._checked_ns = self.runtime.clock()

    def answer(self, found: Found, *, waited: bool = False) -> Served | None:
        """Return what the store has, if it may be served."""
        results = self.results
        assert results is not None
        try:
            answered = answer(
                found,
                runtime=self.runtime,
                namespace=self.ask.namespace,
                tool=self.ask.tool,
                key=self.ask.key,
                secret=results.key,
                scopes=self.ask.scopes,
                freshness_ns=self.ask.freshness_ns,
            )
        except Unreadable as error:
            self._note(Kind.MISS, str(error).replace(" ", "-"))
            return None
        except Exception as error:  # noqa: BLE001 - fail open
            self.failed(error)
            return None
        if isinstance(answered, Refused):
            self._age_ns = answered.age_ns
            self._note(KIND_OF_REFUSAL[answered.decision], answered.decision.value)
            if answered.decision is Decision.IN_FLIGHT:
                results.remove(self.ask.key)  # from the future: it would never age rightly
            return None
        self._age_ns, self._remaining_ns = answered.age_ns, answered.remaining_ns
        self._stored_ns = answered.started_ns
        self._note(Kind.COALESCED if waited else Kind.HIT, "waited" if waited else "stored")
        return answered

    def share(self, landed: Landed) -> tuple[bool, Any]:
        """Return whether the result of another execution may be had, and a copy of it."""
        now = self.runtime.clock()
        age = now - landed.started_ns
        ended = self.runtime.writers.last_write_end_ns((EVERYTHING, *self.ask.scopes))
        overtaken = is_overtaken(landed.started_ns, last_write_end_ns=ended)
        # who came later may know of a write elsewhere, which only the store can exclude
        overtaken |= self.asked_ns > max(landed.started_ns, landed.current_ns)
        if landed.landing is not Landing.VALUE or overtaken or age > self.ask.freshness_ns:
            return False, None
        self._age_ns, self._remaining_ns = age, self.ask.freshness_ns - age
        self._stored_ns = landed.started_ns
        self._note(Kind.ERROR if landed.is_error else Kind.COALESCED, "in-flight")
        return True, read_text(landed.text)

    def share_served(self, served: Served) -> None:
        """Let those who wait have what the store had."""
        text = write_value(served.value).kept_text(None, place="")
        started_ns = self.runtime.clock() - served.age_ns
        self.landed = Landed(Landing.VALUE, text, started_ns, current_ns=self._checked_ns)

    def refuse(self, kind: Kind, reason: str) -> None:
        """The call is not cached."""
        self._note(kind, reason)

    def failed(self, error: Exception) -> None:
        """The store or a step of ours failed: the tool runs, the first reason is told."""
        if not self._failed:
            self._failed = True
            reason = {TookTooLong: "timeout", StoreFailed: "store-failed"}.get(type(error))
            self._note(Kind.FAIL_OPEN, reason or type(error).__name__)

    def served(self) -> None:
        """Record a call that did not run."""
        try:
            ask = self.ask
            span = self.runtime.spans.start_span(ask.tool, ask.declaration.attributes)
            name_on_span(span)
            assert ask.input_hash is not None
            span.set(names.SERVED_DECISION_ID, decision_id(ask.namespace, ask.tool, ask.input_hash))
            if self._stored_ns is not None:
                span.set(names.SERVED_START, self._stored_ns)
            span.end()
        except Exception as error:  # noqa: BLE001 - the value is good all the same
            logger.debug("visceral: a span was not recorded (%s)", type(error).__name__)
        self.report()

    def begin(self) -> None:
        """The tool is about to run."""
        try:
            ask = self.ask
            self._span = self.runtime.spans.start_span(ask.tool, ask.declaration.attributes)
            name_on_span(self._span)
            if ask.input_hash is not None:
                self._span.set(names.INPUT_HASH, ask.input_hash)
                self._span.set(names.HASH_V, HASH_VERSION)
                self.runtime.capture.write_input(ask.arguments_json, self._span.set)
        except Exception as error:  # noqa: BLE001 - fail open
            self.failed(error)
        self.started_ns = self.runtime.clock()

    def raised(self, error: BaseException) -> None:
        """The tool raised: nothing is kept."""
        self._note(Kind.ERROR, "raised")
        if isinstance(error, Exception):
            self.landed = Landed(Landing.RAISED, started_ns=self.started_ns, error=error)
        self.end(type_name(error))

    def to_keep(self, value: object) -> Entry | None:
        """Record the result; returns what to put into the store, if anything."""
        try:
            written = write_value(value)
        except NotCanonical:
            self.landed = Landed(Landing.ALONE)
            if self._is_failure(value):
                self._note(Kind.ERROR, "error-result")
            else:
                self._note_unless_failed(Kind.UNCACHEABLE, "result-not-json")
            return None
        except Exception as error:  # noqa: BLE001 - fail open
            self.failed(error)
            return None
        is_error = self._is_failure(value)
        self.landed = Landed(
            Landing.VALUE, written.kept_text(None, place=""), self.started_ns, is_error=is_error
        )
        self._capture(written, is_error)
        if is_error:
            self._note(Kind.ERROR, "error-result")
            return None
        return self._entry(written)

    def kept(self, answer: tuple[Kept, int]) -> None:
        """Remember what became of a result that was to be kept."""
        self.owner = ""
        kept, evicted = answer
        if kept is Kept.KEPT:
            self.landed = replace(self.landed, current_ns=self._checked_ns)
        elif kept is Kept.OVERTAKEN:
            self.landed = Landed(Landing.UNSHARED)
            self._note(Kind.INVALIDATED, "overtaken")
        elif kept is Kept.TOO_LARGE:
            self._note(Kind.UNCACHEABLE, "too-large")
        if evicted:
            self._tell(Kind.EVICTED, "", count=evicted)

    def end(self, error_type: str | None = None) -> None:
        """Close the span and tell the outcome."""
        span, self._span = self._span, None
        try:
            if span is not None:
                span.end(error_type)
        except Exception as error:  # noqa: BLE001 - fail open
            logger.debug("visceral: a span was not recorded (%s)", type(error).__name__)
        self.report()

    def report(self) -> None:
        """Tell the outcome."""
        self._tell(self._kind, self._reason, age_ns=self._age_ns, remaining_ns=self._remaining_ns)

    def _entry(self, written: Written) -> Entry | None:
        ask, claim, results = self.ask, self.claim, self.results
        if claim is None or results is None:
            return None
        ended = self.runtime.writers.last_write_end_ns((EVERYTHING, *ask.scopes))
        if claim.generations is None or is_overtaken(self.started_ns, last_write_end_ns=ended):
            self.landed = Landed(Landing.UNSHARED)
            self._note_unless_failed(Kind.INVALIDATED, "writer-running")
            return None
        return make_entry(
            key=ask.key,
            namespace=ask.namespace,
            tool=ask.tool,
            version=ask.version,
            kept_text=written.kept_text(results.key, place=ask.key),
            content=written.content,
            started_ns=self.started_ns,
            stored_ns=self.runtime.clock(),
            freshness_ns=ask.freshness_ns,
            scopes=ask.scopes,
            generations=claim.generations,
        )

    def _capture(self, written: Written, is_error: bool) -> None:
        try:
            if self._span is not None and self.ask.input_hash is not None:
                self.runtime.capture.write_output(written, is_error, self._span.set)
        except Exception as error:  # noqa: BLE001 - fail open
            self.failed(error)

    def _is_failure(self, value: object) -> bool:
        try:
            return bool(self._is_error(value))
        except Exception:  # noqa: BLE001 - the check is the user's code: in doubt it failed
            return True

    def _note(self, kind: Kind, reason: str) -> None:
        self._kind, self._reason = kind, reason

    def _note_unless_failed(self, kind: Kind, reason: str) -> None:
        if not self._failed and self.ask.refusal is None:
            self._note(kind, reason)

    def _tell(
        self,
        kind: Kind,
        reason: str,
        *,
        age_ns: int | None = None,
        remaining_ns: int | None = None,
        count: int = 1,
    ) -> None:
        try:
            self.runtime.outcomes.add(
                kind,
                self.ask.tool,
                self.ask.namespace,
                reason,
                age_ns=age_ns,
                remaining_ns=remaining_ns,
                count=count,
            )
        except Exception as error:  # noqa: BLE001 - fail open
            logger.debug("visceral: an outcome was not counted (%s)", type(error).__name__)
