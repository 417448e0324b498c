"""Findings that are known and accepted."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from msgspec.structs import replace

from visceral_cli.errors import UsageError
from visceral_cli.gate.baseline import (
    accept_all,
    apply_baseline,
    baseline_change,
    baseline_text,
    read_baseline,
)
from visceral_cli.gate.finding import Case, CheckKind, CheckResult, GateDecision, State, Subject

BROKEN = Case(
    CheckKind.DUPLICATE_RATE, Subject(), State.BROKEN, "22.8% > 20.0%", measured=Fraction(71, 312)
)
WRITER = Case(CheckKind.BECAME_WRITER, Subject("shop", "search/x"), State.BROKEN, "it writes")
KEPT = Case(CheckKind.REPEATS, Subject(), State.KEPT, "3 <= 4", measured=Fraction(3))


def written(tmp_path, cases):
    file = tmp_path / "baseline.json"
    file.write_text(baseline_text(cases))
    return file


def test_what_was_written_is_accepted_and_passes(tmp_path):
    accepted = read_baseline(written(tmp_path, [BROKEN, WRITER, KEPT]))
    assert accepted == {"duplicate-rate////": Fraction(71, 312), WRITER.fingerprint: None}
    cases, stale = apply_baseline([BROKEN, WRITER, KEPT], accepted)
    assert [case.state for case in cases] == [State.ACCEPTED, State.ACCEPTED, State.KEPT]
    assert stale == ()
    assert CheckResult("0.1.0", cases).decision is GateDecision.PASSED


@pytest.mark.parametrize(
    ("measured", "state"),
    [
        (Fraction(70, 312), State.ACCEPTED),
        (Fraction(71, 312), State.ACCEPTED),
        (Fraction(72, 312), State.BROKEN),
    ],
    ids=["better", "same", "worse"],
)
def test_a_finding_is_accepted_until_it_gets_worse(measured, state):
    cases, stale = apply_baseline(
        [replace(BROKEN, measured=measured)], {BROKEN.fingerprint: Fraction(71, 312)}
    )
    assert [case.state for case in cases] == [state]
    assert stale == ()


def test_an_entry_that_nothing_broken_has_is_stale():
    _, stale = apply_baseline([KEPT], {KEPT.fingerprint: Fraction(9), "repeats/shop/gone//": None})
    assert stale == (KEPT.fingerprint, "repeats/shop/gone//")


def test_writing_it_anew_says_what_changes():
    before = {BROKEN.fingerprint: Fraction(1, 2), "cost////": None}
    change = baseline_change([BROKEN, WRITER, KEPT], before)
    assert change.added == (WRITER.fingerprint,)
    assert change.gone == ("cost////",)
    assert change.changed == (BROKEN.fingerprint,)
    assert {case.state for case in accept_all([BROKEN, WRITER])} == {State.ACCEPTED}


def test_the_same_findings_give_the_same_bytes():
    assert baseline_text([BROKEN, WRITER]) == baseline_text([WRITER, BROKEN, KEPT])


def test_a_slash_in_a_name_does_not_move_the_parts_of_a_fingerprint():
    assert WRITER.fingerprint == "became-writer/shop/search%2Fx//"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "no baseline"),
        ('{"format": 2, "accepted": []}', "another format than 1"),
        ('{"format": 1, "accepted": [{}]}', 'entry 1: no "fingerprint"'),
        (
            json.dumps({"format": 1, "accepted": [{"fingerprint": "x", "measured": "1/0"}]}),
            'entry 1: "measured" is no fraction',
        ),
    ],
)
def test_what_is_no_baseline_is_told_by_its_place(tmp_path, text, message):
    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        read_baseline(file)
    assert str(caught.value).startswith(str(file))


def test_a_baseline_that_is_not_there_is_no_empty_one(tmp_path):
    with pytest.raises(UsageError, match="no such file") as caught:
        read_baseline(tmp_path / "none.json")
    assert "--update-baseline" in (caught.value.hint or "")
