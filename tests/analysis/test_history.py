"""Calls and writers as columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.analysis.history import NEVER_NS, ToolCalls, find_writers, latest_writer_end


def column(values: list[int], kind: type = np.int64) -> np.ndarray:
    return np.array(values, dtype=kind)


@given(
    writers=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 9))),
    asked=st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 30)), min_size=1),
)
def test_the_latest_end_is_that_of_the_writers_of_the_run_that_had_started(writers, asked):
    run, start, length = (column([row[n] for row in writers]) for n in range(3))
    found = find_writers(run.astype(np.int32), start, start + length)
    answers = latest_writer_end(
        found, column([row[0] for row in asked], np.int32), column([row[1] for row in asked])
    )
    assert answers.tolist() == [
        max((s + n for r, s, n in writers if r == run_ and s <= at), default=NEVER_NS)
        for run_, at in asked
    ]


def test_a_writer_that_ends_before_it_starts_ends_when_it_starts():
    found = find_writers(column([0], np.int32), column([5]), column([3]))
    assert latest_writer_end(found, column([0], np.int32), column([5])).tolist() == [5]


def test_columns_must_fit_each_other():
    codes = column([0, 0], np.int32)
    with pytest.raises(ValueError, match="differ in length"):
        ToolCalls(column([1, 2]), column([1]), codes, codes, codes)
    with pytest.raises(ValueError, match="not in order"):
        ToolCalls(column([2, 1]), column([2, 2]), codes, codes, codes)
