"""Results that differ although nothing changed: named, left out when asked, and then provable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

DECLARED = ToolDeclaration(read_only=True, replay_safe=True)


def settings(**changed: object) -> Settings:
    tools = {"get_order": replace(DECLARED, **changed)}
    return Settings(extract=ExtractSettings(tools=tools, keep_text=True))


@pytest.fixture
def pairs(tool_span):
    """Return a function that asks 320 questions twice, 20 s apart, in a run each."""

    def told(result, count=320):
        return [
            tool_span(1000 * i + 20 * again, {"order": i}, result(i, again), run=i)
            for i in range(count)
            for again in (0, 1)
        ]

    return told


def observed(i, again):
    return {"state": f"s-{i}", "observed_at": f"2026-04-01T10:{i % 60:02d}:{again:02d}Z"}


def test_a_time_in_the_result_is_named_with_its_path(analyze, pairs):
    report = analyze(pairs(observed), settings())
    (found,) = report.unstable
    assert (found.pairs, found.differing, found.compared) == (320, 320, 200)
    assert [(one.path, one.pairs, one.holds) for one in found.parts] == [
        ("$.observed_at", 200, "time")
    ]
    assert found.ignore_result == ("$.observed_at",)
    assert report.rules == ()
    (finding,) = [one for one in report.findings if one.kind is FindingKind.VARYING_RESULT]
    assert finding.message.endswith('ignore-result = ["$.observed_at"], if they do not count')
    assert "2026" not in finding.message


def test_without_it_results_are_equal_and_the_rule_says_so(analyze, pairs):
    report = analyze(pairs(observed), settings(ignore_result=("$.observed_at",)))
    assert report.unstable == ()
    assert len(report.rules) == 320
    assert report.rules[0].evidence["results_compared_without"] == ["$.observed_at"]


def test_another_difference_still_counts(analyze, pairs):
    told = pairs(lambda i, again: observed(i, again) | {"state": again})
    report = analyze(told, settings(ignore_result=("$.observed_at",)))
    assert report.rules == ()


@pytest.mark.parametrize(
    ("result", "parts", "proposed"),
    [
        (
            lambda i, again: {"id": f"{i:08d}-aaaa-4aaa-8aaa-{again:012d}"},
            [("$.id", "uuid")],
            ("$.id",),
        ),
        (lambda i, again: {"at": 1_790_000_000 + again}, [("$.at", "time")], ("$.at",)),
        (lambda i, again: {"took": f"{again + 1} ms"}, [("$.took", "duration")], ("$.took",)),
        (lambda i, again: {"words": f"w{i}{again}"}, [("$.words", "")], ("$.words",)),
        (
            lambda i, again: {"rows": [{"t": 5, "seen": again}, {"t": 6, "seen": again}]},
            [("$.rows[*].seen", "")],
            ("$.rows[*].seen",),
        ),
        (lambda i, again: {"rows": [1, 2][:: 1 - 2 * again]}, [("$.rows", "order")], ()),
        (lambda i, again: f"text {again}", [("$", "")], ()),
        (lambda i, again: {"rows": [1] * (1 + again)}, [("$.rows", "")], ("$.rows",)),
        (
            lambda i, again: {str(n): again for n in range(6)},
            [(f"$['{n}']", "") for n in range(6)],
            (),
        ),
    ],
    ids=["id", "epoch", "duration", "words", "in a list", "order", "text", "length", "too many"],
)
def test_each_sort_of_difference(result, parts, proposed, analyze, pairs):
    (found,) = analyze(pairs(result, 40), settings()).unstable
    assert [(one.path, one.holds) for one in found.parts] == parts
    assert found.ignore_result == proposed


def test_a_part_that_differs_now_and_then_is_not_offered(analyze, pairs):
    told = pairs(lambda i, again: observed(i, again) | {"stock": again if i % 2 else 0}, 40)
    (found,) = analyze(told, settings()).unstable
    assert [one.path for one in found.parts] == ["$.observed_at", "$.stock"]
    assert found.ignore_result == ()


def test_without_the_texts_no_place_is_named(analyze, pairs):
    told = replace(settings(), extract=replace(settings().extract, keep_text=False))
    assert analyze(pairs(observed, 40), told).unstable == ()
