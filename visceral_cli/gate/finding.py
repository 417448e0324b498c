"""``Case``: one thing that ``visceral check`` looked at, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

import msgspec

from visceral_cli.errors import ExitCode


class CheckKind(StrEnum):
    """What is checked; the same word is the kind of the finding when it is broken."""

    DUPLICATE_RATE = "duplicate-rate"
    """The share of calls that are repeats, against its limit."""
    REPEATS = "repeats"
    """The number of repeats, against its limit."""
    AVOIDABLE = "avoidable"
    """The seconds of the repeats with the same result, against their limit."""
    COST = "cost"
    """The cost of the repeats with the same result, against its limit."""
    STALE_SERVE = "stale-serve"
    """A rule would have served more stale results than it may."""
    BECAME_WRITER = "became-writer"
    """The tool of a rule changes something now."""
    VERSION_CHANGED = "version-changed"
    """The tool of a rule has another declared version now."""
    SCHEMA_CHANGED = "schema-changed"
    """The tool of a rule is called with other arguments now."""
    ATTESTATION_CONTRADICTED = "attestation-contradicted"
    """Declared replay-safe, but the result changed within seconds and nothing wrote."""
    MORE_REPEATS = "more-repeats"
    """A tool, or all of them, repeat more than before."""
    MORE_TIME = "more-time"
    """Repeats with the same result take more time than before."""
    NEW_GROUP = "new-group"
    """An identity repeats that did not before."""
    GROWN_GROUP = "grown-group"
    """An identity is called in more runs than before."""


LIMITS = frozenset(
    {CheckKind.DUPLICATE_RATE, CheckKind.REPEATS, CheckKind.AVOIDABLE, CheckKind.COST}
)
"""The kinds that hold a number against a limit of the user."""


class State(StrEnum):
    """What came of one case."""

    KEPT = "kept"
    BROKEN = "broken"
    ACCEPTED = "accepted"
    """Broken, but known: the baseline names it."""
    UNJUDGED = "unjudged"
    """There was too little to tell."""


class Subject(msgspec.Struct, frozen=True):
    """What a case is about; empty members: all of them."""

    namespace: str = ""
    tool: str = ""
    input_hash: str = ""
    decision_id: str = ""
    """The rule, in cases about one."""


class Evidence(msgspec.Struct, frozen=True):
    """One thing that a case rests on: counts, hashes and ids; never a value."""

    what: str
    tool: str = ""
    input_hash: str = ""
    trace_id: str = ""
    span_id: str = ""
    file: str = ""
    """The input that holds it, where known."""


class Case(msgspec.Struct, frozen=True):
    """One thing that was checked."""

    kind: CheckKind
    subject: Subject
    state: State
    message: str
    """What was compared; the comparison it prints is true."""
    detail: str = ""
    """What the numbers count, such as ``71 of 312 calls``."""
    evidence: tuple[Evidence, ...] = ()
    measured: Fraction | None = None
    """The number that was compared, exact; ``None``: the case is none of numbers."""
    allowed: Fraction | None = None

    @property
    def fingerprint(self) -> str:
        """The same in every run over the same kind and subject; the baseline names cases by it."""
        subject = self.subject
        parts = (subject.namespace, subject.tool, subject.input_hash, subject.decision_id)
        return "/".join([self.kind.value, *(part.replace("/", "%2F") for part in parts)])


class GateDecision(StrEnum):
    """The answer of a check."""

    PASSED = "passed"
    BROKEN = "broken"
    NOTHING_JUDGED = "nothing-judged"
    """A gate that could judge nothing must not be green."""


class CheckResult(msgspec.Struct, frozen=True):
    """All cases, and with them the answer: every exit code, line and format reads it from here."""

    version: str
    """Of this program."""
    cases: tuple[Case, ...]
    stale_baseline: tuple[str, ...] = ()
    """Fingerprints in the baseline that nothing broken has."""
    inputs: tuple[str, ...] = ()
    """The inputs as given."""

    def of(self, state: State) -> Sequence[Case]:
        """Return the cases with this state, in their order."""
        return [case for case in self.cases if case.state is state]

    @property
    def decision(self) -> GateDecision:
        """Broken with anything that the baseline does not accept; never passed without a look."""
        states = {case.state for case in self.cases}
        if State.BROKEN in states:
            return GateDecision.BROKEN
        if states <= {State.UNJUDGED}:
            return GateDecision.NOTHING_JUDGED
        return GateDecision.PASSED

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that the decision comes to."""
        return _EXIT_CODES[self.decision]


_EXIT_CODES = {
    GateDecision.PASSED: ExitCode.DONE,
    GateDecision.BROKEN: ExitCode.BROKEN,
    GateDecision.NOTHING_JUDGED: ExitCode.INPUT,
}
