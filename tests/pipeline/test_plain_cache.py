"""What rules are worth in a cache that knows no writers: from the spans to the evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.rules.exports.cached_tool import select_tools
from visceral_cli.rules.exports.target import Target
from visceral_cli.rules.plain_cache import plain_cache_of
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

DECLARED = {
    "get_order": ToolDeclaration(read_only=True, replay_safe=True),
    "set_order": ToolDeclaration(read_only=False),
}
SETTINGS = Settings(
    extract=ExtractSettings(tools=DECLARED),
    answers_depend_on_who=False,
    for_plain_caches=True,
)


@pytest.fixture
def spans(tool_span):
    """Return a function that asks ``count`` questions twice in one run each, 60 s apart.

    In the runs ``written`` a writer runs between the two; ``changes``: and changes the result.
    """

    def asked(count=320, *, written=(), changes=False, lasts=0.5, **more):
        made = []
        for i in range(count):
            begin, wrote = 1000 * i, i in written
            more_told = [("before", 0), ("after" if wrote and changes else "before", 60)]
            for told, later in more_told:
                start = begin + later
                made.append(tool_span(start, {"order": i}, told, run=i, end=start + lasts, **more))
            if wrote:
                start = begin + 30
                made.append(
                    tool_span(start, {"order": i}, "done", "set_order", run=i, end=start + 1)
                )
        return sorted(made, key=lambda span: span.start)

    return asked


def plain_caches(report):
    found = [plain_cache_of(rule) for rule in report.rules]
    assert found
    assert None not in found
    return found


def test_without_a_writer_the_freshness_is_that_of_the_rule(analyze, spans):
    report = analyze(spans(), SETTINGS)
    for found in plain_caches(report):
        assert (found.freshness_seconds, found.longest_call_seconds) == (60, 0.5)
        assert (found.missing, found.vary, found.cleared_by) == (None, None, ())
        assert found.any_arguments
    (tool,) = select_tools(report.rules, Target.CREWAI).tools
    assert set(tool.seconds.values()) == {59}


def test_no_rule_says_so_unless_it_is_asked_for(analyze, spans):
    report = analyze(spans(), replace(SETTINGS, for_plain_caches=False))
    assert not any("plain_cache" in rule.evidence for rule in report.rules)


def test_results_that_a_write_leaves_as_they_were_outlive_it(analyze, spans):
    written = range(20)
    report = analyze(spans(400, written=written), SETTINGS)
    assert len(report.rules) == 400
    assert {found.missing for found in plain_caches(report)} == {None}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (range(40), "40 of 40 results after a write of the same run had changed"),
        (range(399, 400), "1 of 1 results after a write of the same run had changed"),
    ],
    ids=["at the beginning", "the last one"],
)
def test_results_that_only_a_barrier_keeps_fresh_have_no_place(analyze, spans, written, said):
    report = analyze(spans(400, written=written, changes=True), SETTINGS)
    assert len(report.rules) == 400
    assert {found.missing for found in plain_caches(report)} == {said}
    for target in Target:
        assert select_tools(report.rules, target).tools == ()


def test_a_writer_after_which_results_change_is_named(analyze, spans):
    kept = replace(SETTINGS, extract=replace(SETTINGS.extract, keep_text=True))
    report = analyze(spans(1200, written=range(600, 607), changes=True), kept)
    assert {found.cleared_by for found in plain_caches(report)} == {("set_order",)}
    (left_out,) = {one.why for one in select_tools(report.rules, Target.FASTMCP).left_out}
    assert left_out.startswith("results change after 'set_order'")


def test_the_longest_call_counts_also_where_another_was_asked(analyze, spans, tool_span):
    slow = tool_span(900_000, {"order": "x"}, "late", run=9999, end=900_007)
    failed = tool_span(910_000, {"order": "y"}, "no", run=9998, end=910_099, failed=True)
    report = analyze([*spans(), slow, failed], SETTINGS)
    assert {found.longest_call_seconds for found in plain_caches(report)} == {7}


def test_the_version_and_the_keyed_arguments_are_those_that_are_declared(analyze, spans):
    told = {"get_order": replace(DECLARED["get_order"], vary=("order",), version="7")}
    settings = replace(SETTINGS, extract=ExtractSettings(tools=told))
    found = plain_caches(analyze(spans(), settings))
    assert {(one.version, one.vary) for one in found} == {("7", ("order",))}


def test_not_any_arguments_may_be_kept_where_an_identity_has_no_rule(analyze, spans):
    empty = [
        replace(span, result="") if span.arguments == {"order": 7} else span for span in spans()
    ]
    report = analyze(empty, SETTINGS)
    assert len(report.rules) == 319
    assert {found.any_arguments for found in plain_caches(report)} == {False}
