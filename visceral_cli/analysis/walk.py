"""The replay of single stretches, execution by execution, where no shortcut is sound.

The walk jumps over served calls, so it costs what the executions cost, not what the calls do.
Columns are read through memory views, which make a Python number only of what is looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush

import msgspec

from visceral_cli.analysis.history import Flags, Times
from visceral_cli.analysis.lanes import Lanes


class Walker(msgspec.Struct, frozen=True):
    """Walks stretches of lanes under one freshness."""

    starts: memoryview[int]
    finished: memoryview[int]
    voided: memoryview[int]
    voids: memoryview[int]
    """The calls for which a writer voids something, ascending, and an end no call reaches."""
    storable: memoryview[int]
    freshness_ns: int

    @classmethod
    def over(cls, lanes: Lanes, storable: Flags, freshness_ns: int) -> Walker:
        """Return a walker; ``storable`` are the calls whose result can serve others."""
        return cls(
            starts=_view(lanes.start_ns),
            finished=_view(lanes.finished),
            voided=_view(lanes.voided),
            voids=_view(lanes.voids),
            storable=_view(storable),
            freshness_ns=freshness_ns,
        )

    def walk_chain(self, first: int, end: int, ran: list[int]) -> None:
        """Add the places of the storable calls that run to ``ran``, ascending.

        Every call of the stretch must end before the next begins, and no writer interfere.
        """
        starts, storable, freshness_ns = self.starts, self.storable, self.freshness_ns
        step = self._step(first, end)
        place = first
        while place < end:
            if storable[place]:
                ran.append(place)
                last_ns, near = starts[place] + freshness_ns, place + step
                high = near if near < end and starts[near] > last_ns else end
                place = bisect_right(starts, last_ns, place + 1, high)
            else:
                place += 1

    def walk_busy(self, first: int, end: int, ran: list[int]) -> None:
        """Do the same where executions overlap, or writers void results."""
        finished, storable = self.finished, self.storable
        running = [(end, end)]  # (finished, place) of executions, the next to finish first
        nth_void = bisect_right(self.voids, first - 1)
        stored, expiry, step = -1, first, self._step(first, end)
        place = first
        while place < end:
            newest = stored
            while running[0][0] <= place:
                newest = max(newest, heappop(running)[1])
            if newest != stored:
                stored, expiry = newest, self._expiry(newest, end, step)
            stop = running[0][0] if place >= expiry else place + 1
            if place >= expiry or self.voided[place] >= stored:
                while place < stop:  # whatever starts until something new is stored
                    if storable[place]:
                        ran.append(place)
                        heappush(running, (finished[place], place))
                        stop = min(stop, finished[place])
                    place += 1
            else:
                while self.voids[nth_void] <= place:
                    nth_void += 1
                place = min(expiry, running[0][0], self.voids[nth_void])

    def _step(self, first: int, end: int) -> int:
        """Return a number of calls that seldom fit into one freshness."""
        length_ns = self.starts[end - 1] - self.starts[first] + 1
        return 8 + 3 * (end - first) * self.freshness_ns // length_ns

    def _expiry(self, source: int, end: int, step: int) -> int:
        """Return the first place for which the result of ``source`` is too old."""
        last_ns = self.starts[source] + self.freshness_ns
        near = source + step
        high = near if near < end and self.starts[near] > last_ns else end
        return bisect_right(self.starts, last_ns, source + 1, high)


def _view(column: Times | Flags) -> memoryview[int]:
    return memoryview(column)  # type: ignore[arg-type]  # NumPy's stubs leave the buffer out
