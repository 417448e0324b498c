"""The calls of the page against the rows of the same calls, on the project's sample traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.pipeline import Analysis, analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.page.detail import (
    CALLS_OF_A_GROUP,
    GROUPS,
    SPANS_OF_A_TRACE,
    TRACES,
    Bar,
    Mark,
    PageDetail,
)
from visceral_cli.report.page.gather import PageWanted
from visceral_cli.report.to_json import plain_value, report_to_json
from visceral_cli.settings import Settings

SAMPLES = str(Path(__file__).parents[3] / "sample_traces")


@pytest.fixture(scope="module")
def analysis() -> Iterator[Analysis]:
    with analyze_inputs([SAMPLES], Settings(workers=1), Silent(), PageWanted()) as analysis:
        yield analysis


@pytest.fixture(scope="module")
def detail(analysis: Analysis) -> PageDetail:
    assert analysis.page is not None
    return analysis.page


@pytest.fixture(scope="module")
def calls(analysis: Analysis) -> dict[str, dict[str, Any]]:
    rows = analysis.calls(show_arguments=False).read_all().to_pylist()
    return {row["span_id"]: row for row in rows}


def test_a_page_changes_no_figure(analysis: Analysis) -> None:
    with analyze_inputs([SAMPLES], Settings(workers=1), Silent()) as without:
        assert without.page is None
        assert report_to_json(without.report) == report_to_json(analysis.report)


def test_a_timeline_has_the_calls_of_its_group_in_order_of_time(
    analysis: Analysis, detail: PageDetail, calls: dict[str, dict[str, Any]]
) -> None:
    assert [timeline.place for timeline in detail.groups] == list(range(GROUPS))
    for timeline in detail.groups:
        group = analysis.report.groups[timeline.place]
        assert timeline.calls_in_all == group.calls
        assert 0 < len(timeline.calls) <= CALLS_OF_A_GROUP
        rows = [calls[mark.span_id] for mark in timeline.calls]
        assert {(row["tool"], row["input_hash"]) for row in rows} == {
            (group.tool, group.input_hash)
        }
        starts = [row["start_ns"] for row in rows]
        assert starts == sorted(starts)
        assert [mark.verdict for mark in timeline.calls] == [row["verdict"] for row in rows]
        assert [mark.after_seconds for mark in timeline.calls] == [
            (start - starts[0]) / 1e9 for start in starts
        ]


def test_equal_results_of_a_timeline_have_one_number_and_others_another(
    detail: PageDetail, calls: dict[str, dict[str, Any]]
) -> None:
    for timeline in detail.groups:
        numbers = {
            calls[mark.span_id]["content_hash"]: mark.result
            for mark in timeline.calls
            if mark.result is not None
        }
        known = [mark for mark in timeline.calls if mark.result is not None]
        assert all(numbers[calls[m.span_id]["content_hash"]] == m.result for m in known)
        assert sorted(filter(None, numbers.values())) == list(range(1, len(numbers) + 1))


def test_a_difference_names_the_first_change_and_hides_the_values(
    detail: PageDetail, calls: dict[str, dict[str, Any]]
) -> None:
    changed = [timeline for timeline in detail.groups if timeline.changed_span_ids]
    assert changed
    for timeline in changed:
        first, second = (calls[span] for span in timeline.changed_span_ids or ())
        assert first["content_hash"] != second["content_hash"]
        assert second["source_span_id"] == first["span_id"]
        assert timeline.difference is not None
        assert timeline.difference.first is None


def test_a_waterfall_saves_what_its_served_calls_took(
    detail: PageDetail, calls: dict[str, dict[str, Any]]
) -> None:
    assert detail.under_rules
    assert len(detail.traces) == TRACES
    saved = [trace.saved_seconds for trace in detail.traces]
    assert saved == sorted(saved, reverse=True)
    for trace in detail.traces:
        assert len(trace.spans) <= SPANS_OF_A_TRACE
        served = [calls[span.span_id] for span in trace.spans if span.bar is Bar.WOULD_SERVE]
        assert len(served) == trace.saved_calls
        assert sum(row["duration_ns"] for row in served) / 1e9 == pytest.approx(trace.saved_seconds)
        assert {row["trace_id"] for row in served} == {trace.trace_id}


def test_a_critical_path_is_as_long_as_its_trace(detail: PageDetail) -> None:
    drawn_whole = [trace for trace in detail.traces if trace.spans_in_all == len(trace.spans)]
    assert drawn_whole
    for trace in drawn_whole:
        path = [until - first for span in trace.spans for first, until in span.critical]
        assert sum(path) == pytest.approx(trace.seconds)


def test_values_come_only_when_they_are_wanted() -> None:
    wanted = PageWanted(show_values=True)
    with analyze_inputs([SAMPLES], Settings(workers=1), Silent(), wanted) as shown:
        assert shown.page is not None
        values = [timeline.difference for timeline in shown.page.groups if timeline.difference]
        assert values
        assert all(json.loads(value.first or "") is not None for value in values)
        assert plain_value(shown.page)["shows_values"] is True


def test_what_the_runtime_did_is_told_by_the_mark(
    detail: PageDetail, calls: dict[str, dict[str, Any]]
) -> None:
    for timeline in detail.groups:
        for mark in timeline.calls:
            row = calls[mark.span_id]
            expected = {
                (True, None, False): Mark.FAILED,
                (False, None, False): Mark.RAN,
                (False, None, True): Mark.SERVED,
                (False, True, True): Mark.MATCHED,
                (False, False, True): Mark.MISMATCHED,
            }[row["failed"], row["verify_match"], row["served_decision_id"] is not None]
            assert mark.mark is expected
