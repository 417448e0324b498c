"""Executions that a call finds running."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.analysis.history import ToolCalls
from visceral_cli.analysis.in_flight import first_end_of_running, running_beside
from visceral_cli.analysis.lanes import lay_out

_calls = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 2), st.booleans()), max_size=30
)


@settings(max_examples=200, deadline=None)
@given(rows=_calls)
def test_running_are_the_executions_that_began_before_and_have_not_ended(rows):
    rows = sorted((start, start + lasts, identity, ran) for start, lasts, identity, ran in rows)
    start, end, identity, ran = (
        (np.array(column) for column in zip(*rows, strict=True))
        if rows
        else (np.zeros(0, int),) * 4
    )
    codes = identity.astype(np.int32)
    lanes = lay_out(ToolCalls(start, end, codes, np.zeros_like(codes), np.zeros_like(codes)))
    executed = ran.astype(bool)[lanes.row]
    beside = running_beside(lanes, executed)
    waiting = np.flatnonzero(beside > 0)
    first_end = dict(
        zip(waiting.tolist(), first_end_of_running(lanes, executed, waiting).tolist(), strict=True)
    )
    for place, row in enumerate(lanes.row.tolist()):
        running = [
            end[other]
            for other in range(row)
            if identity[other] == identity[row] and ran[other] and end[other] > start[row]
        ]
        assert beside[place] == len(running)
        assert first_end.get(place) == (min(running) if running else None)
