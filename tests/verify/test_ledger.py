"""The record of a rule over many verifications."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.analysis.sequential import evidence_of_freshness
from visceral_cli.errors import UsageError
from visceral_cli.verify.ledger import anytime_upper, read_ledger
from visceral_cli.verify.outcome import Trust


def day(call, number, *, pairs=200, differing=0):
    """Return calls of one day: pairs 400 s apart, of which the first few differ."""
    return [
        call(
            86_400 * number + 400 * i + at,
            run=f"run-{number}-{i}",
            span=f"{number}-{i}-{at}",
            result="other" if at and i < differing else "r",
        )
        for i in range(pairs)
        for at in (0, 10)
    ]


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.jsonl"


def test_a_rule_becomes_active_once_it_is_proven_whenever_one_looks(recorded, call, rule, ledger):
    found = []
    for number in range(3):
        verification = recorded(*day(call, number)).verify(rule(), ledger=ledger)
        found.append(verification.trust[0])
    assert [record.trust for record in found] == [Trust.PROPOSED, Trust.ACTIVE, Trust.ACTIVE]
    assert [record.samples for record in found] == [200, 400, 600]
    assert (found[2].held, found[2].mismatched, found[2].idle) == (3, 0, 0)
    assert found[2].exposure_days == pytest.approx(3 * (199 * 400 + 10) / 86_400)
    assert found[1].stale_rate_at_most < 0.01 < found[0].stale_rate_at_most


def test_verifying_a_dump_again_changes_nothing(recorded, call, rule, ledger):
    first = recorded(*day(call, 0)).verify(rule(), ledger=ledger)
    written = ledger.read_bytes()
    again = recorded(*day(call, 0)).verify(rule(), ledger=ledger)
    assert again.trust == first.trust
    assert ledger.read_bytes() == written


def test_dumps_that_overlap_count_each_comparison_once(recorded, call, rule, ledger):
    recorded(*day(call, 0)).verify(rule(), ledger=ledger)
    grown = recorded(*day(call, 0), *day(call, 1)).verify(rule(), ledger=ledger)
    (record,) = grown.trust
    assert (record.held, record.samples) == (2, 400)
    assert record.exposure_days == pytest.approx((86_400 + 199 * 400 + 10) / 86_400)


def test_a_broken_rule_is_retired_and_stays_so(recorded, call, rule, ledger):
    recorded(*day(call, 0)).verify(rule(), ledger=ledger)
    broken = recorded(*day(call, 1, differing=20)).verify(rule(), ledger=ledger)
    assert broken.trust[0].trust is Trust.RETIRED
    assert broken.trust[0].mismatches == 20
    assert (broken.trust[0].held, broken.trust[0].mismatched, broken.trust[0].broken) == (1, 1, 1)
    later = recorded(*day(call, 2, pairs=5)).verify(rule(), ledger=ledger)
    assert later.trust[0].trust is Trust.RETIRED
    assert later.broken == ()
    assert not later.passed
    assert later.withdrawn == {"r-get_weather-a"}


def test_a_retired_rule_does_not_come_back_with_a_longer_freshness(recorded, call, rule, ledger):
    recorded(*day(call, 0, differing=20)).verify(rule(freshness=60), ledger=ledger)
    longer = recorded(*day(call, 1)).verify(rule(freshness=61), ledger=ledger)
    assert longer.trust[0].trust is Trust.RETIRED
    # Its results may be fine while they are younger; but that is not proven by old ones.
    shorter = recorded(*day(call, 2)).verify(rule(freshness=30), ledger=ledger)
    assert shorter.trust[0].trust is Trust.PROPOSED
    assert (shorter.trust[0].samples, shorter.trust[0].mismatches) == (600, 20)


def test_what_held_at_a_longer_freshness_speaks_for_a_shorter_one_and_not_the_reverse(
    recorded, call, rule, ledger
):
    recorded(*day(call, 0), *day(call, 1)).verify(rule(freshness=60), ledger=ledger)
    shorter = recorded(call(3 * 86_400)).verify(rule(freshness=30), ledger=ledger)
    assert (shorter.trust[0].trust, shorter.trust[0].samples) == (Trust.ACTIVE, 400)
    longer = recorded(call(3 * 86_400)).verify(rule(freshness=90), ledger=ledger)
    assert (longer.trust[0].trust, longer.trust[0].samples) == (Trust.PROPOSED, 0)


def test_a_shorter_declared_freshness_is_the_same_rule(recorded, call, rule, ledger):
    for number in range(2):
        calls = [replace(one, freshness_override=30.0) for one in day(call, number)]
        verification = recorded(*calls).verify(rule(freshness=60), ledger=ledger)
    assert verification.rules[0].freshness_seconds == 30
    assert (verification.trust[0].trust, verification.trust[0].samples) == (Trust.ACTIVE, 400)


def test_a_mismatch_that_chance_explains_breaks_nothing(recorded, call, rule, ledger):
    verification = recorded(*day(call, 0, differing=1)).verify(rule(), ledger=ledger)
    (record,) = verification.trust
    assert (record.trust, record.mismatched, record.broken) == (Trust.PROPOSED, 1, 0)


def test_a_day_without_comparison_is_idle(recorded, call, rule, ledger):
    verification = recorded(call(0)).verify(rule(), ledger=ledger)
    (record,) = verification.trust
    assert (record.held, record.mismatched, record.idle) == (0, 0, 1)
    assert record.stale_rate_at_most == 1


def test_a_ledger_holds_no_names_of_spans(recorded, call, rule, ledger):
    recorded(call(0, run="secret-run"), call(1, run="secret-run")).verify(rule(), ledger=ledger)
    assert "secret" not in ledger.read_text()


@pytest.mark.parametrize(
    "text", ["{}", "not json", '{"format": 1, "rules": 3}', '{"format": 2}', "[1]"]
)
def test_what_is_no_ledger_is_refused_with_its_line(ledger, text):
    ledger.write_text(f"\n{text}\n")
    with pytest.raises(UsageError, match=r"ledger\.jsonl:2: "):
        read_ledger(ledger)


def test_without_a_file_there_is_no_line(ledger):
    assert read_ledger(ledger) == []


@given(st.integers(0, 5), st.integers(1, 2000))
def test_the_bound_is_the_smallest_rate_that_is_ruled_out(mismatches, samples):
    mismatches = min(mismatches, samples)
    bound = anytime_upper(mismatches, samples, 0.05)
    assert mismatches / samples <= bound <= 1
    if bound < 1:
        assert evidence_of_freshness(mismatches, samples, bound) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize(("samples", "proven"), [(362, False), (363, True)])
def test_one_percent_takes_363_matches(samples, proven):
    assert (anytime_upper(0, samples, 0.05) <= 0.01) is proven
