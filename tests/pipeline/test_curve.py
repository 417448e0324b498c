"""What other freshnesses and store sizes would have given, from spans to the curve."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from visceral_cli.errors import UsageError
from visceral_cli.pipeline import curve_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.curve import curve_json, write_curve_table
from visceral_cli.report.view import View
from visceral_cli.settings import Settings

NOBODY = Settings(answers_depend_on_who=False)


@pytest.fixture
def curve(tmp_path, write_spans):
    """Return a function that writes spans and returns the curves of a tool."""

    def found(spans, settings=NOBODY, tool="get_order"):
        path = tmp_path / "curve.jsonl"
        write_spans(path, spans)
        return curve_inputs(tool, [str(path)], settings, Silent())

    return found


def table_of(curves, **view):
    out = io.BytesIO()
    write_curve_table(curves, out, View(**view))
    return out.getvalue().decode()


@pytest.fixture
def pairs(tool_span):
    """Return 300 questions asked twice, 60 s apart; a call takes 2 s, the last result changed."""
    return [
        tool_span(
            start := 1000 * i + age,
            {"order": i},
            "changed" if (i, age) == (299, 60) else "same",
            run=i,
            end=start + 2,
        )
        for i in range(300)
        for age in (0, 60)
    ]


def test_a_curve_goes_from_never_to_the_largest_age_seen(curve, pairs):
    (found,) = curve(pairs)
    assert [row.freshness_seconds for row in found.by_freshness] == [0, 1, 2, 5, 10, 15, 30, 60]
    assert [row.served for row in found.by_freshness] == [0] * 7 + [300]
    last = found.by_freshness[-1]
    assert (last.compared, last.stale, last.saved_seconds) == (300, 1, 600)
    assert last.seconds_per_1000_runs.mean == 2000
    assert last.stale_rate_low == pytest.approx(0.0000844, abs=1e-6)
    assert last.stale_rate_high == pytest.approx(0.018431, abs=1e-6)


def test_the_proposed_point_is_marked(curve, pairs, tool_span):
    steady = [replace(span, result="same") for span in pairs]
    (found,) = curve(steady)
    assert found.proposed_freshness_seconds == 60
    assert [row.freshness_seconds for row in found.by_freshness if row.proposed] == [60]
    assert found.missing is None
    text = table_of([found])
    (marked,) = [line for line in text.splitlines() if line.endswith("<- proposed")]
    assert marked.split()[:3] == ["1m", "300", "0"]


def test_a_curve_is_whole_on_80_columns(curve, pairs):
    found = curve([replace(span, result="same") for span in pairs])
    narrow, wide = table_of(found, width=80), table_of(found)
    assert max(map(len, narrow.splitlines())) <= 80
    assert sorted(narrow.split()) == sorted(wide.split())
    assert "    <- proposed\n" in narrow


def test_without_a_proposal_it_says_what_is_missing(curve, pairs):
    (found,) = curve(pairs)
    assert found.proposed_freshness_seconds is None
    assert not any(row.proposed for row in found.by_freshness)
    assert "No freshness is proven: " in table_of([found])


def test_a_small_store_forgets(curve, tool_span):
    # Three questions in turn, over and over: a store of two has always dropped the one asked.
    spans = [tool_span(10 * i, {"order": i % 3}, i % 3, run=i) for i in range(300)]
    (found,) = curve(spans)
    served = {row.store_size: row.served for row in found.by_store_size}
    assert list(served) == [1, 2, 3]
    assert (served[1], served[2]) == (0, 0)
    assert served[3] > 250


def test_the_json_holds_all_figures(curve, pairs):
    document = json.loads(curve_json(curve(pairs)))
    assert document["format"] == 1
    (found,) = document["curves"]
    assert len(found["by_freshness"]) == 8
    assert found["by_freshness"][-1]["seconds_per_1000_runs"]["runs"] == 300


def test_results_are_shared_as_widely_as_the_rule_would_share_them(curve, pairs):
    (found,) = curve(pairs, Settings())
    assert found.scope == "run"


def test_a_wrong_name_is_told_with_one_that_is_near(curve, pairs):
    with pytest.raises(UsageError) as error:
        curve(pairs, tool="get_ordr")
    assert error.value.hint == 'did you mean "get_order"?'
