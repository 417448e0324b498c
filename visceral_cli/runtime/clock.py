"""The runtime's clock: nanoseconds since 1970 that a step backwards cannot rejuvenate."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns the time in integer nanoseconds since 1970-01-01 UTC."""


def _make_clock() -> Clock:
    wall = time.time_ns
    monotonic = time.monotonic_ns
    offset = wall() - monotonic()

    def now_ns() -> int:
        shown, steady = wall(), monotonic() + offset
        return shown if shown > steady else steady  # max() takes as long as the rest

    return now_ns


now_ns: Clock = _make_clock()
"""The wall clock, or what it would show if nobody had set it back since the process began.

The later of both: a machine that slept ages its results (the monotonic clock may have stood still),
and a clock set back does not make them young again.
"""
