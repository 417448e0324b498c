"""``Invocation``: the bookkeeping of one call of a decorated tool, the same for sync and async.

No method raises: what goes wrong is noted, the first reason is told, and the tool runs. Everything
that may wait is left to the caller, in `tool`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from visceral_cli.contract import attributes as names
from visceral_cli.contract.decide import Decision, is_overtaken
from visceral_cli.contract.identity import (
    HASH_VERSION,
    InputHash,
    NotCanonical,
    canonical_json,
    input_hash,
    input_hash_of_text,
)
from visceral_cli.runtime.barrier import Barrier
from visceral_cli.runtime.binding import Binds
from visceral_cli.runtime.bounded import TookTooLong
from visceral_cli.runtime.declaration import Declaration
from visceral_cli.runtime.errors_in_results import is_error_result
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.kept_value import Unreadable, Written, write_value
from visceral_cli.runtime.outcome import Kind
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.serve import Plan, Refused, Served, answer, make_entry, plan
from visceral_cli.runtime.sharing import name_on_span
from visceral_cli.runtime.spans import OpenSpan
from visceral_cli.runtime.stores.result_store import Claim, Entry, Found, Kept, StoreFailed
from visceral_cli.runtime.writer_log import EVERYTHING

logger = logging.getLogger("visceral_cli.runtime")

KIND_OF_REFUSAL = {
    Decision.NO_RESULT: Kind.MISS,
    Decision.IN_FLIGHT: Kind.MISS,
    Decision.EXPIRED: Kind.STALE,
    Decision.WRITER: Kind.INVALIDATED,
}


class Invocation:
    """One call, from its arguments to its outcome."""

    __slots__ = (
        "_age_ns",
        "_arguments_json",
        "_claim",
        "_failure",
        "_input_hash",
        "_kind",
        "_reason",
        "_remaining_ns",
        "_span",
        "_started_ns",
        "barrier",
        "declaration",
        "owner",
        "plan",
        "runtime",
        "served",
    )

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.runtime: Runtime = INSTALLATION.runtime
        self.plan: Plan | None = None
        self.served: Served | None = None
        self.barrier: Barrier | None = None
        """Of a writer."""
        self.owner = ""
        """Of a claim in the store."""
        self._input_hash: InputHash | None = None
        self._arguments_json = ""
        self._claim: Claim | None = None
        self._span: OpenSpan | None = None
        self._started_ns = 0
        self._kind = Kind.MISS
        self._reason = "not-read-only"
        self._failure: str | None = None
        self._age_ns: int | None = None
        self._remaining_ns: int | None = None

    # Before the tool runs.

    def prepare(self, binder: Binds, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Hash the arguments and look for a rule."""
        if not self.declaration.readonly:
            try:
                self.barrier = Barrier(self.declaration, self.runtime)
            except Exception as error:  # noqa: BLE001 - fail open
                self._fail("writer-log", error)
            return
        try:
            self._hash(binder.bind(args, kwargs))
        except NotCanonical:
            self._note(Kind.UNCACHEABLE, "not-hashed")
            return
        except Exception as error:  # noqa: BLE001 - fail open
            self._fail("hash", error)
            return
        try:
            assert self._input_hash is not None
            found = plan(self.runtime, self.declaration, self._input_hash)
            if isinstance(found, str):
                self._note(Kind.MISS, found)
            elif found.rule is not None:
                self.plan = found
        except Exception as error:  # noqa: BLE001 - fail open
            self._fail("rules", error)

    @property
    def results(self) -> Results:
        """The store; only with a plan."""
        assert self.runtime.results is not None
        return self.runtime.results

    def found(self, fetch: Found) -> None:
        """Decide about what the store has."""
        planned = self.plan
        assert planned is not None
        try:
            answered = answer(
                fetch,
                runtime=self.runtime,
                namespace=self.runtime.agent_id,
                tool=self.declaration.name,
                key=planned.key,
                secret=self.results.key,
                scopes=planned.scopes,
                freshness_ns=planned.freshness_ns,
            )
            if isinstance(answered, Refused):
                self._age_ns = answered.age_ns
                self._note(KIND_OF_REFUSAL[answered.decision], answered.decision.value)
                if answered.decision is Decision.IN_FLIGHT:
                    self.results.remove(planned.key)  # from the future: it would never age rightly
                return
            self._age_ns, self._remaining_ns = answered.age_ns, answered.remaining_ns
            self._note(Kind.VERIFIED if planned.verify else Kind.HIT, planned.rule.decision_id)
            self.served = answered
        except Unreadable as error:
            self._fail_with(str(error).replace(" ", "-"))
        except Exception as error:  # noqa: BLE001 - fail open
            self._fail("decision", error)

    def claimed(self, claim: Claim, owner: str) -> None:
        """Remember the generations before the execution."""
        self._claim, self.owner = claim, owner

    def store_failed(self, step: str, error: Exception) -> None:
        """The store did not answer, or not in time."""
        if isinstance(error, TookTooLong):
            self._fail_with("timeout")
        elif isinstance(error, StoreFailed):
            self._fail_with("store-failed")
        else:
            self._fail(step, error)

    def open_span(self) -> None:
        """Open the span; on a served call without span the tool runs."""
        try:
            self._span = self.runtime.spans.start_span(
                self.declaration.name, self.declaration.attributes
            )
            name_on_span(self._span)
            if self.served is None or (self.plan is not None and self.plan.verify):
                self._write_input(self._span)
        except Exception as error:  # noqa: BLE001 - fail open
            self.served = None
            self._fail("span", error)
        self._started_ns = self._now()

    @property
    def is_answered(self) -> bool:
        """Whether the tool need not run."""
        return self.served is not None and self.plan is not None and not self.plan.verify

    @property
    def answer(self) -> Any:
        """The served value."""
        assert self.served is not None
        return self.served.value

    def finish_served(self) -> bool:
        """Close the span of a served call; ``False``: that failed, run the tool."""
        try:
            assert self._span is not None
            assert self.plan is not None
            assert self.served is not None
            self._span.set(names.SERVED_DECISION_ID, self.plan.rule.decision_id)
            self._span.set(names.SERVED_START, self.served.started_ns)
            self._span.end()
        except Exception as error:  # noqa: BLE001 - fail open
            self._span = None
            self.served = None
            self._fail("span", error)
            return False
        self._report()
        return True

    # After the tool ran.

    def raised(self, error: BaseException) -> None:
        """The tool raised: its exception goes on, and nothing is kept."""
        self._note(Kind.ERROR, "raised")
        if self.barrier is not None:
            self._lift(self.barrier, None)
        self._end_span(type_name(error))

    def to_keep(self, result: object) -> Entry | None:
        """Record the result; returns what to put into the store, if anything."""
        entry = None
        written: Written | None = None
        try:
            if self._input_hash is not None:
                written = write_value(result)
                is_error = is_error_result(result)
                if is_error:
                    self._note(Kind.ERROR, "error-result")
                elif self.plan is not None:
                    entry = self._entry(written)
                self._write_output(written, is_error)
        except NotCanonical:
            self._note(Kind.UNCACHEABLE, "result-not-json")
        except Exception as error:  # noqa: BLE001 - fail open
            self._fail("capture", error)
        if self.served is not None:
            self._compare(self.served, written)
        if self.barrier is not None:
            self._lift(self.barrier, result)
        return entry

    def kept(self, answer: tuple[Kept, int]) -> None:
        """Remember what became of a result that was to be kept."""
        self.owner = ""
        kept, evicted = answer
        if kept is not Kept.KEPT:
            self._note(self._kind, Kept(kept).value)
        if evicted:
            self.runtime.outcomes.add(Kind.EVICTED, "", self.runtime.agent_id, count=evicted)

    def returned(self, result: Any) -> Any:
        """Close the span; returns what the agent receives."""
        self._end_span(None)
        return result if self.served is None else self.served.value

    def let_go(self, *, waits: bool) -> None:
        """Give up a claim that no result has ended, and lift the barrier in the store."""
        owner, self.owner = self.owner, ""
        if owner and self.plan is not None:
            self.results.release(self.plan.key, owner)
        if self.barrier is not None:
            self._lift(self.barrier, None)
            self.barrier.lift_in_store(waits=waits)

    # Inside.

    def _hash(self, arguments: dict[str, object]) -> None:
        declared = self.declaration
        self._arguments_json = canonical_json(arguments)
        if declared.vary is None:
            self._input_hash = input_hash_of_text(
                declared.name, self._arguments_json, version=declared.version
            )
        else:
            self._input_hash = input_hash(
                declared.name, arguments, vary=declared.vary, version=declared.version
            )

    def _write_input(self, span: OpenSpan) -> None:
        if self._input_hash is not None:
            span.set(names.INPUT_HASH, self._input_hash)
            span.set(names.HASH_V, HASH_VERSION)
            self.runtime.capture.write_input(self._arguments_json, span.set)

    def _write_output(self, written: Written, is_error: bool) -> None:
        if self._span is not None:
            self.runtime.capture.write_output(written, is_error, self._span.set)

    def _entry(self, written: Written) -> Entry | None:
        planned, claim = self.plan, self._claim
        if planned is None or claim is None or claim.generations is None:
            return None
        now = self.runtime.clock()
        ended = self.runtime.writers.last_write_end_ns((EVERYTHING, *planned.scopes))
        if is_overtaken(self._started_ns, last_write_end_ns=ended):
            return None
        return make_entry(
            key=planned.key,
            namespace=self.runtime.agent_id,
            tool=self.declaration.name,
            version=self.declaration.version,
            kept_text=written.kept_text(self.results.key, place=planned.key),
            content=written.content,
            started_ns=self._started_ns,
            stored_ns=now,
            freshness_ns=planned.freshness_ns,
            scopes=planned.scopes,
            generations=claim.generations,
        )

    def _compare(self, served: Served, written: Written | None) -> None:
        """On a verify sample: does the real result equal the stored one."""
        try:
            matches = written is not None and written.content == served.content_hash
            if self._span is not None:
                self._span.set(names.VERIFY_MATCH, matches)
                self._span.set(names.SERVED_START, served.started_ns)
            self._note(Kind.VERIFIED, "match" if matches else "mismatch")
        except Exception as error:  # noqa: BLE001 - fail open
            self.served = None
            self._fail("verify", error)

    def _lift(self, barrier: Barrier, result: object) -> None:
        try:
            barrier.lift(result)
        except Exception as error:  # noqa: BLE001 - fail open
            self._fail("writer-log", error)

    def _end_span(self, error_type: str | None) -> None:
        span, self._span = self._span, None
        try:
            if span is not None:
                span.end(error_type)
        except Exception as error:  # noqa: BLE001 - fail open
            self._fail("span", error)
        self._report()

    def _now(self) -> int:
        try:
            return self.runtime.clock()
        except Exception as error:  # noqa: BLE001 - fail open
            self.plan = None
            self._fail("clock", error)
            return 0

    def _note(self, kind: Kind, reason: str) -> None:
        self._kind, self._reason = kind, reason

    def _fail(self, step: str, error: Exception) -> None:
        self._fail_with(f"{step}: {type(error).__name__}")

    def _fail_with(self, reason: str) -> None:
        if self._failure is None:
            self._failure = reason

    def _report(self) -> None:
        kind, reason = self._kind, self._reason
        if self._failure is not None and kind is not Kind.ERROR:
            kind, reason = Kind.FAIL_OPEN, self._failure
        try:
            self.runtime.outcomes.add(
                kind,
                self.declaration.name,
                self.runtime.agent_id,
                reason,
                age_ns=self._age_ns,
                remaining_ns=self._remaining_ns,
            )
        except Exception as error:  # noqa: BLE001 - fail open
            logger.debug("visceral: an outcome was not counted (%s)", type(error).__name__)


def type_name(error: BaseException) -> str:
    """Return the name as OpenTelemetry writes it: with its module unless that is builtins."""
    kind = type(error)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", None) else f"{module}.{kind.__qualname__}"
