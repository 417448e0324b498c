import numpy as np
import pytest

from visceral_cli.analysis.freshness import Bound, NoBound, freshness_bounds
from visceral_cli.analysis.history import ToolCalls
from visceral_cli.analysis.missing import Shortfall
from visceral_cli.analysis.stability import InstabilityKind
from visceral_cli.analysis.tools import ToolFacts, ToolName
from visceral_cli.rules.evidence import IdentityServes
from visceral_cli.rules.gather import KIND_OF_INSTABILITY, KIND_OF_SHORTFALL, gather_evidence
from visceral_cli.rules.propose import RulePolicy, propose_rules
from visceral_cli.rules.refusal import RefusalKind
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000
FACTS = ToolFacts(
    name=ToolName("shop", "search", "tool"),
    readonly=True,
    replay_safe=True,
    writer=False,
    declared_by="span",
    freshness_cap_seconds=None,
    price_usd=None,
)


def pairs(count: int, *, age: int = 60, differing: tuple[int, ...] = ()) -> ToolCalls:
    """Identity i is called at 1000 i and again ``age`` seconds later, each pair in a run."""
    identity = np.repeat(np.arange(count, dtype=np.int32), 2)
    start = (identity.astype(np.int64) * 1000 + np.tile([0, age], count)) * SECOND
    content = np.zeros(2 * count, dtype=np.int32)
    for nth in differing:
        content[2 * nth + 1] = 1
    return ToolCalls(
        start_ns=start, end_ns=start.copy(), identity=identity, run=identity, content=content
    )


def found_in(calls: ToolCalls) -> Bound | NoBound:
    (found,) = freshness_bounds([calls], None, FreshnessSettings())
    return found


def hashes_of(codes) -> list[str]:
    return [f"{code:064x}" for code in codes.tolist()]


def test_a_bound_becomes_the_evidence_of_its_rules():
    evidence = gather_evidence(FACTS, found_in(pairs(300)), 0, [], hashes_of)
    bound = evidence.bound
    assert evidence.missing is None
    assert bound is not None
    assert (bound.freshness_seconds, bound.serves, bound.stale, bound.runs) == (60, 300, 0, 300)
    assert bound.stored_results == bound.effective_observations == 300
    assert bound.largest_age_seconds == 60
    assert bound.span_seconds == 299_060
    assert bound.confidence == pytest.approx(0.95)
    assert bound.stale_rate_at_most == pytest.approx(0.009936, abs=1e-6)
    assert bound.shared_change_bound == pytest.approx(1.4979 * 60 / 299_060, rel=1e-4)
    assert bound.smallest_passing_stale_rate is None
    assert evidence.serves == {
        f"{code:064x}": IdentityServes(1, 0, volatile=False, in_scope=True) for code in range(300)
    }


def test_a_missing_bound_tells_both_numbers_and_what_passes_today():
    evidence = gather_evidence(FACTS, found_in(pairs(298)), 0, [], hashes_of)
    assert evidence.missing is not None
    assert evidence.missing.kind is RefusalKind.TOO_FEW_OBSERVATIONS
    assert evidence.missing.message == "298 clean observations, needs 299"
    assert evidence.bound is not None
    assert evidence.bound.freshness_seconds == 60
    assert evidence.bound.smallest_passing_stale_rate == pytest.approx(0.010002, abs=1e-6)
    assert evidence.bound.shared_change_bound is None
    assert len(evidence.serves) == 298


def test_an_identity_that_changed_is_marked_volatile():
    evidence = gather_evidence(FACTS, found_in(pairs(600, differing=(10,))), 0, [], hashes_of)
    assert evidence.missing is None
    assert [name for name, one in evidence.serves.items() if one.volatile] == [f"{10:064x}"]
    # Serves of the first of the eight blocks are not counted once any serve was stale.
    assert sum(one.in_scope for one in evidence.serves.values()) == 525


def test_of_traces_without_repeats_nothing_is_said():
    evidence = gather_evidence(FACTS, found_in(pairs(0)), 0, [], hashes_of)
    assert evidence.bound is None
    assert evidence.missing is not None
    assert evidence.missing.kind is RefusalKind.NO_REPEATS
    assert evidence.serves == {}


def test_a_result_that_is_new_every_time_is_told_before_all_else():
    calls = pairs(20, differing=tuple(range(20)))
    evidence = gather_evidence(FACTS, found_in(calls), 0, [], hashes_of)
    assert evidence.missing is not None
    assert evidence.missing.kind is RefusalKind.NEW_EVERY_TIME
    assert evidence.missing.message == (
        "20 of 20 results at most a minute after an equal call were others"
    )


def test_identities_that_share_a_hash_are_added_up():
    evidence = gather_evidence(
        FACTS,
        found_in(pairs(600, differing=(10,))),
        0,
        [],
        lambda codes: ["one" if code in (10, 11) else str(code) for code in codes.tolist()],
    )
    assert evidence.serves["one"] == IdentityServes(2, 1, volatile=True, in_scope=False)
    assert len(evidence.serves) == 599


def test_evidence_without_calls_of_any_identity_proposes_nothing():
    evidence = gather_evidence(FACTS, found_in(pairs(300)), 0, [], hashes_of)
    proposal = propose_rules([evidence], RulePolicy())
    assert proposal.rules == proposal.candidates == ()


def test_everything_that_can_be_missing_has_a_kind_of_refusal():
    assert set(KIND_OF_SHORTFALL) == set(Shortfall)
    assert set(KIND_OF_INSTABILITY) == set(InstabilityKind)
