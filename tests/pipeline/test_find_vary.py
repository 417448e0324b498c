"""From span files to the arguments that matter."""

from __future__ import annotations

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.settings import ExtractSettings, Settings

KEEP = Settings(extract=ExtractSettings(keep_text=True), find_vary=True)
DECLARED = {"visceral.tool.readonly": True, "visceral.tool.replay_safe": True}


def spans_with_a_request_id(tool_span, calls=2400):
    return [
        tool_span(10 * i, {"order_id": i % 10, "request_id": f"r-{i}"}, i % 10, run=i // 5)
        for i in range(calls)
    ]


def test_a_request_id_is_found_because_results_do_not_depend_on_it(analyze, tool_span):
    report = analyze(spans_with_a_request_id(tool_span), KEEP)
    (found,) = report.vary
    assert found.proven
    assert (found.vary, found.left_out) == (("order_id",), ("request_id",))
    (finding,) = [one for one in report.findings if one.kind is FindingKind.SMALLER_KEY]
    assert finding.message.startswith('vary = ["order_id"] would make 1,800 more calls reusable')


def test_without_being_asked_nothing_is_kept_or_looked_for(analyze, tool_span):
    report = analyze(spans_with_a_request_id(tool_span, 200))
    assert report.vary == ()
