"""Executions that are still running when an equal call starts: what waiting for them would save."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from visceral_cli.analysis.history import Flags, Places, Times
from visceral_cli.analysis.lanes import Lanes


def running_beside(lanes: Lanes, executed: Flags) -> Places:
    """Return how many executions of its lane each call finds running when it starts."""
    count = len(lanes.row)
    began: Places = np.cumsum(executed) - executed
    ended = np.cumsum(np.bincount(lanes.finished[executed], minlength=count + 1))[:count]
    return began - ended


def first_end_of_running(lanes: Lanes, executed: Flags, waiting: Places) -> Times:
    """Return for each waiting call the earliest end of the executions it finds running.

    ``waiting`` ascends, and each of these calls must find one (`running_beside`).
    """
    if not len(waiting):
        return np.zeros(0, np.int64)
    last = np.full(int(lanes.lane[-1]) + 1, -1)
    last[lanes.lane[waiting]] = waiting
    places = np.flatnonzero(np.arange(len(lanes.row)) <= last[lanes.lane])
    start_ns = lanes.start_ns[places]
    waits = np.zeros(len(lanes.row), np.bool_)
    waits[waiting] = True
    columns = (
        lanes.lane[places],
        start_ns,
        start_ns + lanes.duration_ns[places],
        executed[places],
        waits[places],
    )
    first_end, running, own = [], list[int](), -1
    for lane, start, end, ran, is_waiting in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if lane != own:
            own, running = lane, []
        if is_waiting:
            while running[0] <= start:
                heappop(running)
            first_end.append(running[0])
        if ran:
            heappush(running, end)
    return np.array(first_end, np.int64)
