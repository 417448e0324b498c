"""What is said of the things in the sample traces; they hold every verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from visceral_cli.analysis.figures import Verdict
from visceral_cli.contract.rule import decision_id
from visceral_cli.errors import UsageError
from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.explain.evidence import Evidence, with_texts
from visceral_cli.report.explain.explanation import Explanation
from visceral_cli.report.explain.layout import as_text
from visceral_cli.report.explain.pages import pages
from visceral_cli.report.explain.subjects import explain_subject
from visceral_cli.report.explain.to_json import as_json
from visceral_cli.settings import Settings

SAMPLES = Path(__file__).parents[3] / "sample_traces"


@pytest.fixture(scope="module")
def evidence() -> Iterator[Evidence]:
    inputs = [str(SAMPLES)]
    settings = with_texts(Settings(), inputs)
    with analyze_inputs(inputs, settings, Silent()) as analysis:
        yield Evidence(analysis.report, analysis.store, {}, show_arguments=False, top=10)


def said(evidence: Evidence, what: str) -> str:
    return as_text(explain_subject(evidence, what, {}), width=None)


def line(text: str, label: str) -> str:
    """Return what stands under a label, lines that go on included."""
    lines = text.splitlines()
    first = next(n for n, one in enumerate(lines) if one.startswith(f"{label}  "))
    found = [lines[first][len(label) :].strip()]
    for one in lines[first + 1 :]:
        if not one.startswith("   "):
            break
        found.append(one.strip())
    return " | ".join(found)


def span_with(evidence: Evidence, verdict: str, tool: str) -> str:
    return next(
        spans[0] for key, _, spans in evidence.calls_with("verdict", verdict) if key.tool == tool
    )


@pytest.mark.parametrize("verdict", [*Verdict])
def test_a_call_of_every_verdict_can_be_explained(evidence: Evidence, verdict: str) -> None:
    found = evidence.calls_with("verdict", verdict)
    if verdict in (Verdict.NO_IDENTITY, Verdict.UNVERIFIABLE):
        assert not found, "the samples have one now: test it too"
        return
    for _, _, spans in found:
        text = said(evidence, spans[0])
        assert f"span {spans[0]}" in text.splitlines()[0]
        assert text.splitlines()[0].endswith(f": {verdict}")
        assert line(text, "verdict").startswith(f"{verdict}. ")


def test_a_changed_call_names_the_place_of_the_difference_and_no_value(evidence: Evidence) -> None:
    text = said(evidence, span_with(evidence, "changed", "search_flights"))
    assert "another result" in line(text, "earlier")
    assert line(text, "first difference").startswith("$[0].")
    assert line(text, "writers") == "none between the two in this run"
    assert "OSL" not in text
    assert "EUR" not in text


def test_a_call_after_a_writer_names_the_writer_and_its_span(evidence: Evidence) -> None:
    text = said(evidence, span_with(evidence, "after-writer", "get_seat_map"))
    writer = line(text, "writers")
    assert writer.startswith("change_seat (span ")
    named = writer.partition("(span ")[2].partition(")")[0]
    assert evidence.calls_of_span(named)[0].verdict == "writer"
    assert "read-only = true under [tool.visceral.tools.change_seat]" in line(text, "other verdict")


def test_a_first_call_names_its_nearest_twin_and_the_argument_that_differs(
    evidence: Evidence,
) -> None:
    text = said(evidence, span_with(evidence, "first", "find_booking"))
    assert "request_id differs: other value" in line(text, "nearest twins")
    assert line(text, "rule").startswith("none")
    assert "no-repeats" in line(text, "blocked by")
    assert "computed from the arguments on the span (otel-genai)" in line(text, "identity")


def test_a_declared_vary_is_named_with_what_it_leaves_out(evidence: Evidence) -> None:
    text = said(evidence, span_with(evidence, "reusable", "traveller_profile"))
    assert "traveller_id" in line(text, "keyed arguments")
    assert line(text, "keyed arguments").endswith("vary leaves out request_id")


def test_the_rule_of_a_call_says_from_which_span_it_would_have_been_served(
    evidence: Evidence,
) -> None:
    rule = evidence.report.rules[0]
    input_hash = rule.match.input_hash or ""
    identity = said(evidence, input_hash[:12])
    assert line(identity, "rule").startswith(rule.decision_id)
    calls = served(evidence, input_hash)
    saved, _ = evidence.report.savings.by_identity[
        (rule.match.namespace, rule.match.tool_name, input_hash)
    ]
    assert len(calls) == saved
    text = said(evidence, calls[0])
    assert f"{rule.decision_id}   serve up to" in line(text, "rule")
    assert "would have served it from span" in line(text, "rule")


def served(evidence: Evidence, input_hash: str) -> list[str]:
    found = [key for key, digits in evidence.identities_like(input_hash) if digits == input_hash]
    calls = evidence.calls_of_identity(found[0], input_hash)
    return [call.span_id for call in calls if evidence.served_from(call.call_key) is not None]


def test_a_rule_is_explained_with_its_evidence_and_its_identity(evidence: Evidence) -> None:
    rule = evidence.report.rules[0]
    found = explain_subject(evidence, rule.decision_id[:10], {})
    assert [one.kind for one in found] == ["rule", "identity"]
    text = as_text(found, width=None)
    assert "confidence" in line(text, "evidence")
    assert str(rule.match.input_hash) in line(text, "for")


def test_a_rule_that_is_not_proposed_is_known_by_its_identity(evidence: Evidence) -> None:
    names = {rule.decision_id for rule in (*evidence.report.rules, *evidence.report.candidates)}
    key, hash_v, input_hash = next(
        one for one in evidence.identities() if one[0].tool == "find_booking"
    )
    name = decision_id(key.namespace, key.tool, input_hash, hash_v=hash_v)
    assert name not in names
    text = said(evidence, name)
    assert text.startswith(f"{name}   not proposed from these traces\n")
    assert "no-repeats" in line(text, "blocked by")


def test_a_tool_is_explained_with_what_tells_its_identities_apart(evidence: Evidence) -> None:
    text = said(evidence, "find_booking")
    apart = re.fullmatch(
        r"request_id: without it (\d+) identities would be (\d+)", line(text, "told apart by")
    )
    assert apart is not None
    assert int(apart[1]) > int(apart[2]) > 0
    assert line(text, "declared") == "nothing: visceral explain declarations"
    text = said(evidence, "search_flights")
    assert line(text, "declared").startswith("read-only, replay-safe, by span")
    assert re.fullmatch(
        r"[\d,]+: recorded on [\d,]+ spans, hash_v 1 \(visceral\)", line(text, "identities")
    )
    assert line(text, "first difference").startswith("$[0].")
    assert "verify-mismatch" in line(text, "findings")


def test_a_tool_and_its_rules_are_explained_with_who_may_share_a_result(
    evidence: Evidence,
) -> None:
    text = said(evidence, "visa_rules")
    assert re.fullmatch(
        r"by all: [\d,]+ results of other users compared, 0 stale"
        r" \| other runs: 0 of \d+ pairs of calls within an hour differ, at most \d+%; .+"
        r" \| other users: 0 of \d+ pairs of calls within an hour differ, at most 0\.\d+%; "
        r"0 of [\d,]+ of one user",
        line(text, "shared"),
    )
    rule = next(one for one in evidence.report.rules if one.match.tool_name == "search_flights")
    shared = as_text(explain_subject(evidence, rule.decision_id, {})[:1], width=None)
    assert line(shared, "shared").startswith(
        "within one run: sharing between users is not proven: "
    )


def test_the_readme_shows_what_is_said(evidence: Evidence) -> None:
    readme = (SAMPLES.parent / "README.md").read_text("utf-8")
    shown = readme.partition("$ visceral explain find_booking sample_traces/\n")[2]
    assert shown
    assert said(evidence, "find_booking").startswith(shown.partition("…\n")[0])


@pytest.mark.parametrize(
    ("what", "message", "hint"),
    [
        ("3fa", '"3fa" is too short', "give six or more digits"),
        ("search_flight", 'nothing explains "search_flight"', 'did you mean "search_flights"?'),
        ("r-000000000000", 'nothing explains "r-000000000000"', "give a span id, six digits"),
        ("0123456789abcdef", "nothing explains", "give a span id, six digits"),
    ],
)
def test_what_nothing_explains_is_told_with_the_next_step(
    evidence: Evidence, what: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        explain_subject(evidence, what, {})
    assert message in str(caught.value)
    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize("name", sorted({page.name for page in pages()}))
def test_every_word_can_be_looked_up_in_traces(evidence: Evidence, name: str) -> None:
    found = explain_subject(evidence, name, {"conventions": lambda: "-"})
    assert found[0].page
    assert json.loads(as_json(name, found))["explanations"][0]["page"]
    for one in found:
        assert (
            one.rows is not None or "Not in these traces." in one.page or "places" not in one.facts
        )


def test_a_refusal_lists_the_tools_and_what_would_change_it(evidence: Evidence) -> None:
    (refusal,) = explain_subject(evidence, "not-declared", {})
    assert refusal.rows is not None
    assert "get_weather" in [row[0] for row in refusal.rows.rows]
    assert all("write read-only = true" in row[-1] for row in refusal.rows.rows)


def test_a_finding_lists_its_spans(evidence: Evidence) -> None:
    (finding,) = explain_subject(evidence, "repeated-write", {})
    assert finding.rows is not None
    for span in finding.rows.rows[0][3].split():
        assert evidence.calls_of_span(span)[0].tool == "change_seat"


def test_no_explanation_holds_a_value_unless_it_is_asked_for(evidence: Evidence) -> None:
    for what in ("get_weather", "search_flights", "not-declared"):
        found = explain_subject(evidence, what, {})
        for text in (as_text(found, width=None), as_json(what, found)):
            assert "Oslo" not in text
            assert "LIS" not in text


def test_values_are_shown_when_asked(evidence: Evidence) -> None:
    found: list[Explanation] = []
    span = span_with(evidence, "changed", "get_weather")
    evidence.show_arguments = True
    try:
        found = explain_subject(evidence, span, {})
    finally:
        evidence.show_arguments = False
    text = as_text(found, width=None)
    assert 'city = "' in line(text, "keyed arguments")
    assert " before, " in line(text, "first difference")
    facts = json.loads(as_json(span, found))["explanations"][0]
    assert set(facts["argument_values"]) == {"city"}
