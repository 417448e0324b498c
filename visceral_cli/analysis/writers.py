"""When writers ran: what they void for the later calls of their run."""

from __future__ import annotations

import numpy as np

from visceral_cli.analysis.columns import CallColumns
from visceral_cli.analysis.history import (
    NEVER_NS,
    Flags,
    Places,
    Times,
    Writers,
    find_writers,
)

FOREVER_NS = int(np.iinfo(np.int64).max) - 1
"""Later than any time, and one more can still be added."""


def writers_of(calls: CallColumns, *, without: Flags | None = None) -> Writers:
    """Return every execution of a writer, failed or not, ready to be asked by its run.

    ``without``: calls that are taken not to have run.
    """
    rows, start, end = write_times(calls, without=without)
    return find_writers(
        calls.run[rows],
        start,
        end,
        declared=calls.invalidates[rows],
        texts=calls.invalidates_texts,
    )


def write_times(calls: CallColumns, *, without: Flags | None = None) -> tuple[Places, Times, Times]:
    """Return the rows of all executions of writers, with their starts and ends.

    A write whose start is not known may have happened at any time of its run, one whose end is not
    known may have gone on until the end of it. ``without``: calls that are taken not to have run.
    """
    wrote = calls.writer & calls.ran
    rows = np.flatnonzero(wrote if without is None else wrote & ~without)
    start = np.where(calls.has_start[rows], calls.start_ns[rows], NEVER_NS)
    end = np.where(calls.timed[rows], calls.end_ns[rows], FOREVER_NS)
    return rows, start, end
