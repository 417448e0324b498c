"""What the outcomes of all calls say of each rule, and of the rules of one tool together.

A comparison is a serve of the replay whose two results are known, a verify sample that the runtime
recorded, or a call that was made again while its result may still be served. So is a call whose
stored result was voided by a write of another run alone: the proof of a freshness does not heed
such writes, and clients that do not hear of them serve it, so it holds the rule to its promise.
Where a call of the replay was recorded as a sample, what was recorded counts: it is what the agent
really got.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec
import numpy as np
from numpy.typing import NDArray

from visceral_cli.analysis import binomial
from visceral_cli.analysis.columns import NANO, CallColumns
from visceral_cli.analysis.history import Flags, Places
from visceral_cli.analysis.sequential import evidence_of_staleness, judge_rule
from visceral_cli.analysis.stale_curve import allowed_error
from visceral_cli.settings import FreshnessSettings
from visceral_cli.verify.outcome import (
    ExecutedCall,
    Execution,
    Judgement,
    Outcome,
    Recorded,
    RecordedServe,
    RuleOutcome,
)
from visceral_cli.verify.replay import Replay
from visceral_cli.verify.rule_cover import CODE, OUTCOMES, Cover, reuses


class Promise(msgspec.Struct, frozen=True):
    """What the rules have to keep to."""

    max_stale_rate: float
    delta: float
    """1 - confidence."""
    max_mismatch_rate: float | None = None
    """What may be observed, whatever chance there is behind it; ``None``: no such limit."""

    @classmethod
    def of(cls, settings: FreshnessSettings, max_mismatch_rate: float | None = None) -> Promise:
        """Return the promise that rules proven with these settings give."""
        return cls(settings.max_stale_rate, allowed_error(settings), max_mismatch_rate)


class Observation(msgspec.Struct, frozen=True):
    """One comparison of a stored result with the real one."""

    start_ns: int
    row: int
    mismatch: bool
    made_again: bool = False
    """The call of ``row`` was made again, then, by the user's own function."""


def thinned(observations: Iterable[Observation], freshness_ns: int) -> list[Observation]:
    """Return the observations of one identity that test different stored results, in order of time.

    Of those less than a freshness apart only the first counts.
    """
    chosen: list[Observation] = []
    for observation in sorted(observations, key=lambda one: (one.start_ns, one.row)):
        if not chosen or observation.start_ns - chosen[-1].start_ns >= freshness_ns:
            chosen.append(observation)
    return chosen


def judge(mismatches: int, samples: int, promise: Promise) -> Judgement:
    """Judge the promise by so many mismatches among so many samples."""
    rate, delta = promise.max_stale_rate, promise.delta
    return Judgement(
        samples=samples,
        mismatches=mismatches,
        evidence=evidence_of_staleness(mismatches, samples, rate),
        state=judge_rule(mismatches, samples, rate, delta),
    )


class JudgedRule(msgspec.Struct, frozen=True):
    """A rule's outcome with the observations behind it."""

    outcome: RuleOutcome
    observations: Sequence[Observation]
    """Those that count."""
    mismatched_rows: Places
    """The calls of the replay that would have got a stale result."""


class Case(msgspec.Struct, frozen=True):
    """All that is known of the calls."""

    calls: CallColumns
    cover: Cover
    replay: Replay
    sampled: Flags
    """The calls whose comparison counts, should they be served."""
    serve_rows: Places
    serves: Sequence[RecordedServe]
    """What the runtime recorded, one for each of ``serve_rows``."""
    executions: Sequence[ExecutedCall] = ()


def judge_rules(case: Case, promise: Promise) -> list[JudgedRule]:
    """Return what became of the calls of every rule, in the order of the document."""
    by_place = _rows_by_place(case)
    recorded = _serves_by_place(case)
    nothing = np.zeros(0, np.int64)
    return [
        _judge_one(case, place, by_place.get(place, nothing), recorded.get(place, {}), promise)
        for place in range(len(case.cover.rules))
    ]


def _rows_by_place(case: Case) -> dict[int, Places]:
    rows = np.flatnonzero(case.replay.outcome >= 0)
    place = case.cover.rule[rows]
    rows = rows[np.argsort(place, kind="stable")]
    places, first = np.unique(case.cover.rule[rows], return_index=True)
    return dict(zip(places.tolist(), np.split(rows, first[1:]), strict=bool(len(places))))


def _serves_by_place(case: Case) -> dict[int, dict[int, RecordedServe]]:
    found: dict[int, dict[int, RecordedServe]] = {}
    for row, serve in zip(case.serve_rows.tolist(), case.serves, strict=True):
        found.setdefault(int(case.cover.decided_by[row]), {})[row] = serve
    return found


def _judge_one(
    case: Case,
    place: int,
    rows: Places,
    recorded: Mapping[int, RecordedServe],
    promise: Promise,
) -> JudgedRule:
    rule = case.cover.rules[place]
    freshness_ns = _freshness_ns(case, place, [*rows.tolist(), *recorded])
    codes = _codes(case, rows)
    wrong, right = (codes == CODE[one] for one in (Outcome.MISMATCHED, Outcome.MATCHED))
    across = _compared_elsewhere(case, rows)
    stale_across = across[_differs(case, across)]
    observed = _observations(
        case,
        np.concatenate((rows[wrong | right], across)),
        {*rows[wrong].tolist(), *stale_across.tolist()},
        recorded,
    )
    observed += _made_again(case, place)
    counted = thinned(observed, freshness_ns or 0)
    low, high, rate = _stale_rate(case, rows[wrong | right], int(wrong.sum()), promise)
    outcome = RuleOutcome(
        decision_id=rule.decision_id,
        namespace=", ".join(rule.match.proven_in),
        tool=rule.match.tool_name,
        input_hash=rule.match.input_hash if reuses(rule) else None,
        freshness_seconds=None if freshness_ns is None else freshness_ns / NANO,
        replayed=reuses(rule),
        calls=len(rows),
        outcomes=_counts(codes),
        voided_elsewhere=int(np.count_nonzero(case.replay.voided[rows] >= 0)),
        stale_elsewhere=len(stale_across),
        recorded=dict(Counter(serve.recorded for serve in recorded.values())),
        stale_rate=rate,
        stale_rate_low=low,
        stale_rate_high=high,
        oldest_mismatch_seconds=_oldest(case, rows[wrong]),
        judgement=judge(sum(one.mismatch for one in counted), len(counted), promise),
        over_limit=passes_limit(
            sum(one.mismatch for one in observed), len(observed), promise.max_mismatch_rate
        ),
    )
    return JudgedRule(outcome, counted, rows[wrong])


def _compared_elsewhere(case: Case, rows: Places) -> Places:
    """Return the calls that only a write of another run kept from being served, if compared."""
    content, voided = case.calls.content, case.replay.voided[rows]
    across = (voided >= 0) & case.sampled[rows] & (content[rows] >= 0) & (content[voided] >= 0)
    return rows[across]


def _differs(case: Case, rows: Places) -> Flags:
    content = case.calls.content
    differs: Flags = content[rows] != content[case.replay.voided[rows]]
    return differs


def _freshness_ns(case: Case, place: int, rows: Sequence[int]) -> int | None:
    """Return the freshness in effect; without a call of the rule, the one that it names."""
    tools = {int(case.calls.tool[row]) for row in rows}
    if tools:
        return min(case.cover.freshness_ns(place, tool) for tool in tools) or None
    named = case.cover.rules[place].action.freshness_seconds
    return None if named is None else int(min(named, 1e9) * NANO)


def _codes(case: Case, rows: Places) -> NDArray[np.int16]:
    codes = case.replay.outcome[rows]
    codes[(case.replay.source[rows] >= 0) & ~case.sampled[rows]] = CODE[Outcome.NOT_SAMPLED]
    return codes


def _counts(codes: NDArray[np.int16]) -> dict[Outcome, int]:
    counts = np.bincount(codes, minlength=len(OUTCOMES)).tolist()
    return {outcome: count for outcome, count in zip(OUTCOMES, counts, strict=True) if count}


def _observations(
    case: Case, compared: Places, wrong: set[int], recorded: Mapping[int, RecordedServe]
) -> list[Observation]:
    observed = {
        row: Observation(int(case.calls.start_ns[row]), row, row in wrong)
        for row in compared.tolist()
    }
    for row, serve in recorded.items():
        if serve.recorded is not Recorded.SERVED:
            mismatch = serve.recorded is Recorded.MISMATCH
            observed[row] = Observation(serve.start_ns, row, mismatch)
    return list(observed.values())


def _made_again(case: Case, place: int) -> list[Observation]:
    return [
        Observation(
            start_ns=int(case.calls.start_ns[one.call_key]) + round(one.age_seconds * NANO),
            row=one.call_key,
            mismatch=one.execution is Execution.DIFFERENT,
            made_again=True,
        )
        for one in case.executions
        if one.is_sample and case.cover.rule[one.call_key] == place
    ]


def _stale_rate(
    case: Case, compared: Places, stale: int, promise: Promise
) -> tuple[float, float, float | None]:
    """Return the interval of the stale rate and the rate, of the serves of the replay.

    Clopper and Pearson (1934), two-sided; serves from one stored result are one observation in
    effect, as in the proof of a freshness.
    """
    if not len(compared):
        return 0.0, 1.0, None
    _, per_result = np.unique(case.replay.source[compared], return_counts=True)
    observations = binomial.effective(per_result)
    rate, half = stale / len(compared), promise.delta / 2
    bad = observations * rate
    return binomial.lower(bad, observations, half), binomial.upper(bad, observations, half), rate


def _oldest(case: Case, rows: Places) -> float | None:
    if not len(rows):
        return None
    start_ns = case.calls.start_ns
    return float((start_ns[rows] - start_ns[case.replay.source[rows]]).max()) / NANO


def passes_limit(mismatches: int, compared: int, limit: float | None) -> bool:
    """Return whether more mismatch than allowed; exact, neither side is rounded."""
    if limit is None or not compared:
        return False
    return Fraction(mismatches, compared) > Fraction(repr(limit))
