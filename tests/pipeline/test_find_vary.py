"""From span files to the arguments that matter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

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


def spans_of_users(tool_span, calls=2400):
    """Each user has other orders; a request id is made for every call."""
    return [
        tool_span(
            10 * i,
            {"page": i % 10, "request_id": f"r-{i}"},
            {"of": i // 10 % 2, "page": i % 10},
            run=i // 5,
            attributes={"user.id": f"u-{i // 10 % 2}"},
        )
        for i in range(calls)
    ]


def test_what_users_are_told_differently_is_compared_within_each_of_them(analyze, tool_span):
    report = analyze(spans_of_users(tool_span), KEEP)
    (found,) = report.vary
    assert (found.proven, found.within) == (True, "user")
    assert (found.vary, found.left_out) == (("page",), ("request_id",))
    assert (found.pairs, found.differing) == (2380, 0)
    (finding,) = [one for one in report.findings if one.kind is FindingKind.SMALLER_KEY]
    assert "2,380 pairs of one user differ only in request_id, none in the result" in (
        finding.message
    )


@pytest.mark.parametrize("find_vary", [True, None])
def test_users_who_are_told_different_things_do_not_refute_a_declared_vary(
    analyze, tool_span, find_vary
):
    declared = ToolDeclaration(read_only=True, replay_safe=True, vary=("page",))
    settings = Settings(
        extract=ExtractSettings(tools={"get_order": declared}, keep_text=bool(find_vary)),
        find_vary=find_vary,
    )
    report = analyze(spans_of_users(tool_span, 1200), settings)
    assert not [one for one in report.findings if one.kind is FindingKind.UNKEYED_ARGUMENT]

    told = spans_of_users(tool_span, 1200)
    again = replace(
        told[0],
        start=5,
        arguments={"page": 0, "request_id": "r", "deep": True},
        result="more",
        run=999,
    )
    report = analyze([*told, again], settings)
    (finding,) = [one for one in report.findings if one.kind is FindingKind.UNKEYED_ARGUMENT]
    assert "leaves out deep, request_id: 1 of 1 pairs" in finding.message
    assert "unkeyed-argument" in {one.kind.value for one in report.refusals}
    assert report.rules == ()
