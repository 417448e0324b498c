"""A check in words: the verdict line and the parts of a case, the same in every format."""

from __future__ import annotations

from visceral_cli.gate.finding import LIMITS, Case, CheckResult, Evidence, GateDecision, State
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted

HASH_DIGITS = 12

NOTHING_JUDGED = "nothing could be judged"


def verdict_line(result: CheckResult) -> str:
    """Return ``1 limit broken, 2 kept``: the counts that the exit code follows from."""
    if result.decision is GateDecision.NOTHING_JUDGED:
        return f"{NOTHING_JUDGED}, which is no pass"
    noun = "limit" if all(case.kind in LIMITS for case in result.cases) else "check"
    broken, kept = (len(result.of(state)) for state in (State.BROKEN, State.KEPT))
    said = [f"{counted(broken, noun)} broken, {kept:,} kept"]
    accepted, unjudged = (len(result.of(state)) for state in (State.ACCEPTED, State.UNJUDGED))
    if accepted:
        said.append(f"{accepted:,} accepted by the baseline")
    if unjudged:
        said.append(f"{unjudged:,} not judged")
    return ", ".join(said)


def subject_text(case: Case) -> str:
    """Return the tool, its namespace, the identity and the rule, as far as the case has them."""
    subject = case.subject
    parts = [plain(subject.tool)] if subject.tool else []
    if subject.namespace:
        parts.append(f"in {plain(subject.namespace)}")
    if subject.input_hash:
        parts.append(plain(subject.input_hash[:HASH_DIGITS]))
    if subject.decision_id:
        parts.append(plain(subject.decision_id))
    return " ".join(parts)


def case_text(case: Case) -> str:
    """Return what was compared and what the numbers count, in one line."""
    detail = f"  ({plain(case.detail, longest=None)})" if case.detail else ""
    return f"{plain(case.message, longest=400)}{detail}"


def evidence_text(evidence: Evidence, *, with_span: bool = True) -> str:
    """Return one piece of evidence in one line."""
    parts = [plain(evidence.tool)] if evidence.tool else []
    if evidence.input_hash:
        parts.append(plain(evidence.input_hash[:HASH_DIGITS]))
    parts.append(plain(evidence.what, longest=200))
    if evidence.span_id and with_span:
        parts.append(f"span {plain(evidence.span_id)} of trace {plain(evidence.trace_id)}")
    return "  ".join(parts)
