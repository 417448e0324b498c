"""A clock that a step backwards cannot rejuvenate, and that ages with a machine asleep."""

from __future__ import annotations

import time

from visceral_cli.runtime import clock


def test_the_later_of_wall_clock_and_elapsed_time(monkeypatch):
    shown = {"wall": 1_000, "elapsed": 50}
    monkeypatch.setattr(time, "time_ns", lambda: shown["wall"])
    monkeypatch.setattr(time, "monotonic_ns", lambda: shown["elapsed"])
    now = clock._make_clock()
    assert now() == 1_000
    shown.update(wall=1_010, elapsed=60)
    assert now() == 1_010
    shown.update(wall=200, elapsed=70)  # somebody has set it back
    assert now() == 1_020
    shown.update(wall=5_000, elapsed=70)  # asleep: no time seems to have passed
    assert now() == 5_000
