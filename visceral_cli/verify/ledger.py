"""The trust ledger: what every verification of a rule has found, one JSON line for each.

A comparison is kept under a key of its span, so that dumps may overlap and the same dump may be
verified again: nothing counts twice. Whoever reads the ledger adds up all lines.

A rule may come back with another freshness. What was compared at a longer freshness was the harder
test, and counts for it; what broke it at a shorter one would break it again, and keeps it retired.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from visceral_cli.analysis.columns import NANO
from visceral_cli.analysis.sequential import (
    RuleState,
    evidence_of_freshness,
    judge_rule,
)
from visceral_cli.contract.identity import canonical_json, content_hash
from visceral_cli.contract.rule import Rule, rule_to_json
from visceral_cli.errors import UsageError
from visceral_cli.verify.judge import JudgedRule, Observation, Promise, thinned
from visceral_cli.verify.outcome import Trust, TrustRecord

LEDGER_FORMAT = 1
"""The number of the format of a line; within one number members are only added."""

_BISECTIONS = 50


def observation_key(
    trace_id: str, span_id: str, input_hash: str | None, made_again_ns: int | None = None
) -> str:
    """Return what a comparison is known by in every dump: 16 hex digits that tell nothing else."""
    again = "" if made_again_ns is None else str(made_again_ns)
    text = "\x1f".join((trace_id, span_id, input_hash or "", again))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fingerprint(rule: Rule) -> str:
    """Return what makes a rule the same rule, whatever its freshness: what it matches."""
    return content_hash(canonical_json(rule_to_json(rule)["config"]["match"]))[:16]


class Entry(msgspec.Struct, frozen=True):
    """What one verification found of one rule."""

    decision_id: str
    tool: str
    rule: str
    """Its `fingerprint`."""
    freshness_ns: int
    """What the rule names; where it names none, what was in effect."""
    observations: tuple[tuple[str, int, bool], ...]
    """Key, start and whether it mismatched, for each comparison."""


class Line(msgspec.Struct, frozen=True):
    """One verification."""

    first_ns: int | None
    """When the traces begin, and when they end."""
    last_ns: int | None
    max_stale_rate: float
    confidence: float
    entries: tuple[Entry, ...]


def line_of(
    rules: Sequence[Rule],
    judged: Sequence[JudgedRule],
    keys: Mapping[Observation, str],
    promise: Promise,
    first_ns: int | None,
    last_ns: int | None,
) -> Line:
    """Return the line for one verification; ``keys`` are those of the observations."""
    return Line(
        first_ns=first_ns,
        last_ns=last_ns,
        max_stale_rate=promise.max_stale_rate,
        confidence=1 - promise.delta,
        entries=tuple(
            Entry(
                decision_id=rule.decision_id,
                tool=rule.match.tool_name,
                rule=fingerprint(rule),
                freshness_ns=_named_ns(rule) or round((one.outcome.freshness_seconds or 0) * NANO),
                observations=tuple(
                    (keys[found], found.start_ns, found.mismatch) for found in one.observations
                ),
            )
            for rule, one in zip(rules, judged, strict=True)
        ),
    )


class _Sum(msgspec.Struct):
    """The comparisons of some verifications of one rule, in their order."""

    seen: dict[str, Observation] = msgspec.field(default_factory=dict)
    samples: int = 0
    mismatches: int = 0
    proven: bool = False
    """Whether it was proven after any of them."""
    broken: bool = False
    """Whether it was broken after any of them."""

    def add(self, entry: Entry, promise: Promise) -> None:
        """Add one verification."""
        for key, start_ns, mismatch in entry.observations:
            self.seen.setdefault(key, Observation(start_ns, len(self.seen), mismatch))
        counted = thinned(self.seen.values(), entry.freshness_ns)
        self.samples = len(counted)
        self.mismatches = sum(one.mismatch for one in counted)
        rate, delta = promise.max_stale_rate, promise.delta
        state = judge_rule(self.mismatches, self.samples, rate, delta)
        self.broken |= state is RuleState.BROKEN
        evidence = evidence_of_freshness(self.mismatches, self.samples, rate)
        self.proven |= evidence >= 1 / delta


def trust_records(
    lines: Sequence[Line], rules: Sequence[Rule], promise: Promise
) -> tuple[TrustRecord, ...]:
    """Return the record of each rule, in their order, over all lines in theirs."""
    entries: dict[tuple[str, str], list[tuple[Line, Entry]]] = {}
    for line in lines:
        for entry in line.entries:
            entries.setdefault((entry.decision_id, entry.rule), []).append((line, entry))
    return tuple(
        _record(rule, entries.get((rule.decision_id, fingerprint(rule)), []), promise)
        for rule in rules
    )


def _record(rule: Rule, found: Sequence[tuple[Line, Entry]], promise: Promise) -> TrustRecord:
    freshness_ns = _freshness_ns(rule, found)
    as_hard, as_easy = _Sum(), _Sum()
    for _, entry in found:
        if entry.freshness_ns >= freshness_ns:
            as_hard.add(entry, promise)
        if entry.freshness_ns <= freshness_ns:
            as_easy.add(entry, promise)
    trust = Trust.ACTIVE if as_hard.proven else Trust.PROPOSED
    shown = as_hard
    if as_easy.broken:
        trust, shown = Trust.RETIRED, as_easy
    outcomes = [_outcome(entry) for _, entry in found]
    return TrustRecord(
        decision_id=rule.decision_id,
        tool=rule.match.tool_name,
        trust=trust,
        held=outcomes.count("held"),
        mismatched=outcomes.count("mismatched"),
        broken=sum(_breaks(entry, promise) for _, entry in found),
        idle=outcomes.count("idle"),
        samples=shown.samples,
        mismatches=shown.mismatches,
        exposure_days=_length_ns([line for line, _ in found]) / NANO / 86_400,
        stale_rate_at_most=anytime_upper(shown.mismatches, shown.samples, promise.delta),
    )


def _freshness_ns(rule: Rule, found: Sequence[tuple[Line, Entry]]) -> int:
    """Return the freshness of the rule; where it names none, the one it was last verified with."""
    named_ns = _named_ns(rule)
    if named_ns is not None:
        return named_ns
    return found[-1][1].freshness_ns if found else 0


def _named_ns(rule: Rule) -> int | None:
    named = rule.action.freshness_seconds
    return None if named is None else round(min(named, 1e9) * NANO)


def _outcome(entry: Entry) -> str:
    if not entry.observations:
        return "idle"
    mismatched = any(mismatch for _, _, mismatch in entry.observations)
    return "mismatched" if mismatched else "held"


def _breaks(entry: Entry, promise: Promise) -> bool:
    alone = _Sum()
    alone.add(entry, promise)
    return alone.broken


def with_trust(rules: Sequence[Rule], path: Path, promise: Promise) -> list[Rule]:
    """Return the rules with the record that the ledger ``path`` holds of each in their evidence.

    Raises:
        UsageError: the ledger cannot be read.
    """
    records = trust_records(read_ledger(path), rules, promise)
    return [
        replace(rule, evidence={**(rule.evidence or {}), "trust": trust_to_json(record)})
        for rule, record in zip(rules, records, strict=True)
    ]


def is_retired(rule: Rule) -> bool:
    """Return whether the record in the evidence of a rule says that it is retired."""
    trust = (rule.evidence or {}).get("trust")
    return isinstance(trust, dict) and trust.get("state") == Trust.RETIRED


def trust_to_json(record: TrustRecord) -> dict[str, Any]:
    """Return a record as the member ``trust`` of a rule's evidence."""
    return {
        "state": record.trust.value,
        "held": record.held,
        "mismatched": record.mismatched,
        "broken": record.broken,
        "idle": record.idle,
        "samples": record.samples,
        "mismatches": record.mismatches,
        "exposure_days": round(record.exposure_days, 6),
        "stale_rate_at_most": round(record.stale_rate_at_most, 6),
    }


def anytime_upper(mismatches: int, samples: int, delta: float) -> float:
    """Return the smallest stale rate that the e-value of the comparisons rules out; 1 if none.

    Holds however often one looks: the chance that the true rate is ever above it is at most
    ``delta``.
    """
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if evidence_of_freshness(mismatches, samples, middle) >= 1 / delta:
            high = middle
        else:
            low = middle
    return high


def _length_ns(lines: Sequence[Line]) -> int:
    """Return how much time the traces cover, overlaps once."""
    spans = sorted(
        (line.first_ns, line.last_ns)
        for line in lines
        if line.first_ns is not None and line.last_ns is not None
    )
    covered, until = 0, None
    for first, last in spans:
        begin = first if until is None else max(first, until)
        covered += max(0, last - begin)
        until = last if until is None else max(until, last)
    return covered


def read_ledger(path: Path) -> list[Line]:
    """Return the lines of a ledger; none if there is no such file.

    Raises:
        UsageError: it cannot be read, or is no ledger of this format.
    """
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "not text").lower()
        raise UsageError(f"{path}: cannot be read: {reason}") from None
    return [_read_line(path, number, text) for number, text in enumerate(texts, 1) if text.strip()]


def append_to_ledger(path: Path, lines: Sequence[Line], line: Line) -> list[Line]:
    """Add ``line`` unless the ledger ``path``, which holds ``lines``, has an equal one.

    Returns all lines.

    Raises:
        UsageError: it cannot be written to.
    """
    if line in lines:
        return list(lines)
    text = json.dumps(_written(line), separators=(",", ":")) + "\n"
    try:
        with path.open("a", encoding="ascii", newline="\n") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {_reason(error)}") from None
    return [*lines, line]


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _written(line: Line) -> dict[str, Any]:
    return {
        "format": LEDGER_FORMAT,
        "first_ns": line.first_ns,
        "last_ns": line.last_ns,
        "max_stale_rate": line.max_stale_rate,
        "confidence": line.confidence,
        "rules": [
            {
                "decision_id": entry.decision_id,
                "tool": entry.tool,
                "rule": entry.rule,
                "freshness_ns": entry.freshness_ns,
                "observations": [list(one) for one in entry.observations],
            }
            for entry in line.entries
        ],
    }


def _read_line(path: Path, number: int, text: str) -> Line:
    try:
        found = json.loads(text)
        if found["format"] != LEDGER_FORMAT:
            raise UsageError(
                f"{path}:{number}: a line of another format than {LEDGER_FORMAT}",
                hint="verify with the version that wrote it, or begin another ledger",
            )
        return Line(
            first_ns=found["first_ns"],
            last_ns=found["last_ns"],
            max_stale_rate=float(found["max_stale_rate"]),
            confidence=float(found["confidence"]),
            entries=tuple(
                Entry(
                    decision_id=str(entry["decision_id"]),
                    tool=str(entry["tool"]),
                    rule=str(entry["rule"]),
                    freshness_ns=int(entry["freshness_ns"]),
                    observations=tuple(
                        (str(key), int(start), bool(mismatch))
                        for key, start, mismatch in entry["observations"]
                    ),
                )
                for entry in found["rules"]
            ),
        )
    except (ValueError, KeyError, TypeError):
        raise UsageError(
            f"{path}:{number}: no line of a ledger", hint="visceral verify --ledger writes them"
        ) from None
