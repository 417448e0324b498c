"""What users of other tools have reported about tool calls and reuse: files in, report out.

Each test is one kind of report; the inputs are the smallest that show it. What concerns only the
reading of files is in ``tests/ingest/test_reported_faults.py``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.report import Report
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

SECOND = 1_000_000_000
BEGIN_NS = 1_772_442_000 * SECOND
KEEP = Settings(extract=ExtractSettings(keep_text=True))


@dataclass
class Found:
    report: Report
    calls: list[dict[str, Any]]

    @property
    def verdicts(self) -> list[str]:
        return [call["verdict"] for call in self.calls]

    @property
    def identities(self) -> int:
        return len({call["input_hash"] for call in self.calls} - {None})

    def findings(self, kind: FindingKind) -> list[Any]:
        return [one for one in self.report.findings if one.kind is kind]


def span(
    at: float,
    arguments: object = ...,
    result: object = ...,
    *,
    tool: str = "search",
    seconds: float = 0.1,
    number: int = 0,
    parent: str = "",
    run: int = 0,
    failed: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return a span of OpenInference; a text stands on it as it is."""
    attributes: dict[str, Any] = {"openinference.span.kind": "TOOL", "tool.name": tool}
    for key, value in (("input.value", arguments), ("output.value", result)):
        if value is not ...:
            attributes[key] = value if isinstance(value, str) else json.dumps(value)
    attributes |= more.pop("attributes", {})
    begin_ns = BEGIN_NS + round(at * SECOND)
    return {
        "traceId": f"{run + 1:032x}",
        "spanId": f"{number or round(at * 1000) + 1:016x}",
        "parentSpanId": parent,
        "name": tool,
        "startTimeUnixNano": str(begin_ns),
        "endTimeUnixNano": str(begin_ns + round(seconds * SECOND)),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
        "status": {"code": 2} if failed else {},
        **more,
    }


def line(*spans: dict[str, Any], service: str = "docs") -> str:
    named = [{"key": "service.name", "value": {"stringValue": service}}]
    return json.dumps(
        {
            "resourceSpans": [
                {"resource": {"attributes": named}, "scopeSpans": [{"spans": list(spans)}]}
            ]
        }
    )


@pytest.fixture
def analyzed(tmp_path: Path) -> Callable[..., Found]:
    def analyze(*lines: str, settings: Settings = KEEP) -> Found:
        path = tmp_path / "spans.jsonl"
        path.write_text("\n".join(lines) + "\n")
        with analyze_inputs([str(path)], settings, Silent()) as analysis:
            rows = analysis.calls(show_arguments=True).read_all().to_pylist()
            report = msgspec.structs.replace(analysis.report, groups=tuple(analysis.report.groups))
            return Found(report, rows)

    return analyze


def test_three_exports_of_a_span_are_one_call_and_the_factor_is_told(analyzed):
    one = line(span(0, {"q": 1}, {"rows": 1}))
    found = analyzed(one, one, one)
    assert found.verdicts == ["first"]
    assert found.report.inputs.copies_per_span == 3


def test_a_call_inside_a_span_of_the_same_call_is_one(analyzed):
    outer = span(0, {"q": 1}, {"rows": 1}, seconds=0.1, number=7)
    inner = span(0.005, {"q": 1}, {"rows": 1}, seconds=0.09, number=8, parent=f"{7:016x}")
    assert analyzed(line(outer, inner)).verdicts == ["first"]


def test_a_call_whose_parent_never_arrived_is_a_call(analyzed):
    found = analyzed(line(span(0, {"q": 1}, {"rows": 1}, parent="00000000000000ff")))
    assert (found.verdicts, found.report.inputs.orphan_spans) == (["first"], 1)


def test_half_an_emoji_in_a_result_is_read(analyzed):
    found = analyzed(*(line(span(at, {"q": 1}, '{"text":"ok \ud83d"}')) for at in (0, 1)))
    assert found.verdicts == ["first", "reusable"]


def test_no_arguments_are_not_empty_arguments(analyzed):
    found = analyzed(line(span(0, ..., {"rows": 1}), span(1, ..., {"rows": 1})))
    assert found.verdicts == ["no-identity", "no-identity"]
    assert found.report.inputs.without_identity == {"not-captured": 2}
    found = analyzed(line(span(0, {}, {"rows": 1}), span(1, {}, {"rows": 1})))
    assert found.verdicts == ["first", "reusable"]


@pytest.mark.parametrize(
    "hidden", ["__REDACTED__", "[REDACTED]", "***", '{"q":"x","key":"__REDACTED__"}']
)
def test_what_was_redacted_is_unknown_and_never_equal(hidden, analyzed):
    found = analyzed(line(span(0, hidden, {"rows": 1}), span(1, hidden, {"rows": 1})))
    assert found.verdicts == ["no-identity", "no-identity"]
    assert found.report.inputs.without_identity == {"redacted": 2}


def test_arguments_of_a_span_that_lost_attributes_are_unknown(analyzed):
    lost = {"droppedAttributesCount": 12}
    found = analyzed(line(*(span(at, {"q": 1}, {"rows": 1}, **lost) for at in (0, 1))))
    assert found.verdicts == ["no-identity", "no-identity"]
    assert found.report.inputs.without_identity == {"dropped-attributes": 2}


def test_texts_that_end_at_one_round_length_were_probably_cut(analyzed):
    texts = [('{"q":"' + letter + "x" * 2000)[:1200] for letter in "aab"]
    found = analyzed(line(*(span(at, text, {"rows": 1}) for at, text in enumerate(texts))))
    assert found.verdicts == ["no-identity"] * 3
    assert found.report.inputs.without_identity == {"truncated": 3}


def test_a_python_literal_is_read_and_equals_its_json(analyzed):
    spellings = ("{'a': (1, 2), 'b': None}", '{"a":[1,2],"b":null}')
    found = analyzed(line(*(span(at, text, "ok") for at, text in enumerate(spellings))))
    assert found.verdicts == ["first", "reusable"]


def test_spaces_and_the_order_of_keys_make_no_difference_but_the_order_of_lists_does(analyzed):
    same = ('{"f":{"b":1,"a":2}}', '{ "f" : { "a" : 2, "b" : 1 } }')
    found = analyzed(line(*(span(at, text, "ok") for at, text in enumerate(same))))
    assert found.verdicts == ["first", "reusable"]
    other = ("[1,2]", "[2,1]", "12345678901234567890", "12345678901234567891")
    found = analyzed(line(*(span(at, f'{{"f":{text}}}', "ok") for at, text in enumerate(other))))
    assert found.verdicts == ["first"] * 4


def test_two_unicode_spellings_stay_two_questions_and_are_reported(analyzed):
    spellings = ('{"q":"caf\\u00e9"}', '{"q":"cafe\\u0301"}')
    found = analyzed(line(*(span(at, text, "ok") for at, text in enumerate(spellings))))
    assert (found.verdicts, found.identities) == (["first", "first"], 2)
    (finding,) = found.findings(FindingKind.NEAR_DUPLICATE)
    assert finding.message == (
        "2 spellings of one question, kept apart: they differ only in Unicode form"
    )


def test_one_in_six_types_is_six_questions(analyzed):
    values = ('{"k":1}', '{"k":1.0}', '{"k":"1"}', '{"k":true}', '{"k":null}', "{}")
    found = analyzed(line(*(span(at, text, "ok") for at, text in enumerate(values))))
    assert (found.verdicts, found.identities) == (["first"] * 6, 6)


def test_equal_writes_are_reported_and_never_a_rule_or_a_saving(analyzed):
    sent = [span(at, {"to": "x"}, {"ok": 1}, tool="create_ticket") for at in (0, 1, 2)]
    found = analyzed(line(*sent))
    assert found.verdicts == ["writer"] * 3
    (finding,) = found.findings(FindingKind.REPEATED_WRITE)
    assert (finding.calls, len(finding.span_ids)) == (3, 3)
    assert (found.report.rules, found.report.savings.calls) == ((), 0)


def test_what_follows_errors_is_a_retry(analyzed):
    asked = [span(at, {"q": 1}, ..., failed=True) for at in (0, 1)]
    found = analyzed(line(*asked, span(2, {"q": 1}, {"rows": 1})))
    assert found.verdicts == ["failed", "failed", "retry"]
    assert found.report.totals.same_result == 0


def test_an_empty_result_may_be_no_rule_unless_the_user_says_so(analyzed):
    declared = ExtractSettings(tools={"search": ToolDeclaration(read_only=True, replay_safe=True)})
    asked = [
        line(span(1000 * n + at, {"q": n}, "[]", run=n, number=2 * n + at // 60 + 1))
        for n in range(320)
        for at in (0, 60)
    ]
    found = analyzed(*asked, settings=Settings(extract=declared))
    assert Counter(found.verdicts) == {"first": 320, "reusable": 320}
    assert found.report.rules == ()
    assert {one.kind.value for one in found.report.refusals} == {"empty-result"}
    allowed = Settings(extract=declared, include_empty_results=True)
    assert len(analyzed(*asked, settings=allowed).report.rules) == 320


@pytest.mark.parametrize("keep_text", [True, False])
def test_a_key_that_leaves_out_what_changes_the_answer_is_refused_by_name(analyzed, keep_text):
    declared = ToolDeclaration(read_only=True, replay_safe=True, vary=("q",))
    settings = Settings(extract=ExtractSettings(tools={"search": declared}, keep_text=keep_text))
    found = analyzed(
        line(
            span(0, {"q": "a", "lang": "en"}, {"r": 1}), span(1, {"q": "a", "lang": "de"}, {"r": 2})
        ),
        settings=settings,
    )
    (finding,) = found.findings(FindingKind.UNKEYED_ARGUMENT)
    assert "leaves out lang: 1 of 1 pairs" in finding.message
    assert "unkeyed-argument" in {one.kind.value for one in found.report.refusals}


def test_tools_of_one_name_in_two_services_are_two(analyzed):
    found = analyzed(
        line(span(0, {"q": "x"}, {"r": 1}), service="docs"),
        line(span(1, {"q": "x"}, {"r": 2}), service="shop"),
    )
    assert found.verdicts == ["first", "first"]
    assert [tool.namespace for tool in found.report.tools] == ["docs", "shop"]


def test_one_name_with_two_sets_of_arguments_is_pointed_at(analyzed):
    asked = [span(at, {"q": at}, "ok") for at in range(3)]
    found = analyzed(line(*asked, *(span(9 + at, {"table": at}, "ok") for at in range(3))))
    (finding,) = found.findings(FindingKind.SAME_NAME_OTHER_SCHEMA)
    assert (finding.tool, finding.calls) == ("search", 3)


def test_a_repeat_that_starts_before_the_first_has_ended_is_counted_apart(analyzed):
    two = (span(0, {"q": 1}, {"r": 1}, seconds=0.1), span(0.05, {"q": 1}, {"r": 1}, seconds=0.1))
    found = analyzed(line(*two))
    assert found.verdicts == ["first", "in-flight"]
    assert (found.report.totals.same_result, found.report.totals.in_flight) == (0, 1)


def test_analyzing_twice_in_one_process_gives_the_same(analyzed):
    lines = [
        line(span(at, {"q": at % 3}, {"r": at // 5, "list": [1, 2]}, run=at)) for at in range(20)
    ]
    first, second = analyzed(*lines), analyzed(*lines)
    assert first.calls == second.calls
    assert first.report == second.report
