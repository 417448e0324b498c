"""Writes of other runs: proven harmless they void nothing, else what they may have changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.contract.rule import Sharing
from visceral_cli.pipeline import verify_inputs
from visceral_cli.progress import Silent
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration
from visceral_cli.verify.outcome import Outcome
from visceral_cli.verify.verify import VerifyRequest

READ = ToolDeclaration(read_only=True, replay_safe=True)
ALL = Settings(
    extract=ExtractSettings(tools={"get_order": READ}), answers_depend_on_who=False, workers=1
)


@pytest.fixture
def fleet(tool_span):
    """Return a function that asks 700 questions twice each, a minute apart, in runs of their own.

    In the first ``written`` rounds another run writes between the two, which changes what is asked
    in the rounds of ``changed``.
    """

    def told(written, *, changed=(), write=None):
        spans = []
        for i in range(700):
            at, asked = 1000 * i, {"order_id": f"o-{i}"}
            before, after = f"r-{i}", f"r-{i}-new" if i in changed else f"r-{i}"
            spans += [
                tool_span(at, asked, before, run=3 * i),
                tool_span(at + 60, asked, after, run=3 * i + 1),
            ]
            if i < written:
                spans.append(
                    tool_span(
                        at + 30, {}, "ok", tool="update_stock", run=3 * i + 2, **(write or {})
                    )
                )
        return spans

    return told


@pytest.mark.parametrize(
    ("written", "harmless", "saved"),
    [(0, None, 700), (298, False, 402), (299, True, 700), (700, True, 700)],
)
def test_it_takes_299_serves_over_writes_of_other_runs_to_prove_them_harmless(
    analyze, fleet, written, harmless, saved
):
    report = analyze(fleet(written), ALL)
    assert report.savings.calls == saved
    assert len(report.rules) == 700
    for rule in report.rules:
        assert rule.action.writers is (Sharing.RUN if harmless else None)
        told = (rule.evidence or {}).get("writers_elsewhere")
        assert told is None if harmless is None else told["harmless"] is harmless
    if harmless is not None:
        assert (told["serves"], told["stale"]) == (written, 0)


def test_changes_over_writes_of_other_runs_keep_these_from_being_harmless(analyze, fleet):
    report = analyze(fleet(400, changed=(120,)), ALL)  # too few to refute the freshness
    told = report.rules[0].evidence["writers_elsewhere"]
    # With a change only what follows the first of eight blocks counts: rounds 87 to 399.
    assert (told["harmless"], told["serves"], told["stale"]) == (False, 313, 1)
    assert report.savings.stale_calls == 0


def test_the_funnel_leaves_out_what_writes_of_other_runs_void(analyze, fleet):
    funnel = {step.name: step.calls for step in analyze(fleet(100), ALL).funnel}
    assert (funnel["within-freshness"], funnel["no-writer-between"]) == (700, 600)
    assert funnel["avoidable"] == 600


@pytest.mark.parametrize("written", [100, 400])
def test_verify_serves_what_the_analysis_counted(analyze, fleet, tmp_path, written):
    report = analyze(fleet(written), ALL)
    request = VerifyRequest(report.rules)
    found = verify_inputs(list(report.inputs.names), ALL, request, Silent()).verification
    assert sum(rule.served for rule in found.rules) == report.savings.calls
    voided = sum(rule.outcomes.get(Outcome.WRITER, 0) for rule in found.rules)
    assert voided == 700 - report.savings.calls


def test_what_other_runs_void_holds_a_rule_to_its_promise(analyze, fleet):
    report = analyze(fleet(100), ALL)
    rules = report.rules
    changed = analyze(fleet(700, changed=range(0, 700, 20)), ALL)
    request = VerifyRequest(rules)
    found = verify_inputs(list(changed.inputs.names), ALL, request, Silent()).verification
    assert sum(rule.served for rule in found.rules) == 0
    assert sum(rule.voided_elsewhere for rule in found.rules) == 700
    assert sum(rule.stale_elsewhere for rule in found.rules) == 35
    assert [tool.tool for tool in found.broken_tools] == ["get_order"]


def test_a_writer_that_names_other_tools_voids_nothing(analyze, fleet):
    declared = {"attributes": {"visceral.tool.readonly": False, "visceral.tool.invalidates": "x"}}
    report = analyze(fleet(100, write={**declared, "sdk": True}), ALL)
    assert report.savings.calls == 700


def test_a_learned_writer_reaches_all_runs_and_is_told_in_the_rules(analyze, tool_span):
    spans = []
    for i in range(700):
        at, asked = 1000 * i, {"order_id": f"o-{i}"}
        changes = i % 100 == 50
        spans += [
            tool_span(at, asked, "before", run=3 * i),
            tool_span(at + 60, asked, "after" if changes else "before", run=3 * i),
        ]
        if changes:
            spans.append(tool_span(at + 30, asked, "ok", tool="update_order", run=3 * i + 1))
    kept = replace(ALL, extract=replace(ALL.extract, keep_text=True))
    report = analyze(spans, kept)
    (learned,) = report.invalidations
    assert (learned.matching, learned.matching_changed) == (7, 7)
    for rule in report.rules:
        assert rule.action.writers is Sharing.ALL
        (told,) = rule.evidence["cleared_by"]
        assert (told["writer"], told["argument"]) == ("update_order", "order_id")
        assert (told["matching"], told["matching_changed"], told["proven"]) == (7, 7, False)
    assert report.savings.stale_calls == 0
