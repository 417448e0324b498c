"""Tools whose results change at once."""

from __future__ import annotations

import numpy as np
import pytest

from visceral_cli.analysis.history import ToolCalls, find_writers
from visceral_cli.analysis.lanes import lay_out
from visceral_cli.analysis.stability import InstabilityKind, find_instability
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000


def lanes_of(outputs: list[int], *, apart: float = 10, writers=None):
    """One identity, called every ``apart`` seconds with these results."""
    start = np.arange(len(outputs), dtype=np.int64) * round(apart * SECOND)
    codes = np.zeros(len(outputs), dtype=np.int32)
    return lay_out(ToolCalls(start, start, codes, codes, np.array(outputs, np.int32)), writers)


NEW, AT_ONCE = InstabilityKind.ALWAYS_NEW, InstabilityKind.CHANGES_AT_ONCE


@pytest.mark.parametrize(
    ("outputs", "kind", "pairs", "differing", "at_least"),
    [
        ([0, 1, 2, 3, 4, 5], NEW, 5, 5, 0.549280),
        ([0, 1, 2, 3, 4], None, 4, 4, None),
        ([0, 1, 0, 1, 0, 1], AT_ONCE, 5, 5, 0.549280),
        ([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3], AT_ONCE, 10, 3, 0.087264),
        ([0] * 50 + [1] * 51, None, 100, 1, None),
        ([0, -1, 1, -1, 2, 3, 4, -1, 5], NEW, 5, 5, 0.549280),
        ([], None, 0, 0, None),
    ],
    ids=["always new", "too few", "to and fro", "3 of 10", "1 of 100", "some unknown", "none"],
)
def test_results_that_differ_seconds_apart(outputs, kind, pairs, differing, at_least):
    found = find_instability(lanes_of(outputs), FreshnessSettings())
    if kind is None:
        assert found is None
    else:
        assert (found.kind, found.pairs, found.differing) == (kind, pairs, differing)
        assert found.differing_rate_at_least == pytest.approx(at_least, abs=1e-6)


@pytest.mark.parametrize(("apart", "seen"), [(59.999, True), (60, True), (60.001, False)])
def test_only_executions_a_minute_apart_are_compared(apart, seen):
    found = find_instability(lanes_of([0, 1, 2, 3, 4, 5], apart=apart), FreshnessSettings())
    assert (found is not None) is seen


def test_what_a_writer_changed_is_no_instability():
    code, time = np.zeros(1, np.int32), np.array([25 * SECOND])
    lanes = lanes_of([0, 0, 0, 1, 1, 1, 1], writers=find_writers(code, time, time))
    assert find_instability(lanes, FreshnessSettings()) is None
    assert find_instability(lanes_of([0, 0, 0, 1, 1, 1]), FreshnessSettings()).differing == 1
