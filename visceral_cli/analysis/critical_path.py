"""The critical path of a trace: the spans that its length rests on.

From the end of a trace backwards, each moment is charged to the deepest span that was waited for:
the child that ended last, then the child that had ended last when that one began, and so on; what
is left of a span is its own time. This is the path that Jaeger and CRISP (Zhang et al., USENIX ATC
2022) show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

_ROOT = -1


class Stretch(msgspec.Struct, frozen=True):
    """A part of the path: one span, from one moment to another."""

    span: int
    """Its place among the spans that were given."""
    from_ns: int
    until_ns: int


def critical_path(
    start_ns: Sequence[int], end_ns: Sequence[int], parent: Sequence[int]
) -> list[Stretch]:
    """Return the path of one trace, in order of time; ``parent`` is a place, or -1 for a root.

    A child that outlives its parent counts up to the parent's end: nobody waited for the rest.
    Spans that damaged parents put inside of themselves are on no path. Between the roots of a trace
    there may be time that belongs to no span.
    """
    children: defaultdict[int, list[int]] = defaultdict(list)
    for span, above in enumerate(parent):
        children[above].append(span)
    if not children[_ROOT]:
        return []
    found: list[Stretch] = []
    open_ = [(_ROOT, min(start_ns), max(end_ns))]
    while open_:
        span, from_ns, until_ns = open_.pop()
        cursor = until_ns
        inner = sorted(
            ((min(end_ns[child], until_ns), max(start_ns[child], from_ns), child))
            for child in children[span]
        )
        for child_end, child_start, child in reversed(inner):
            if child_end > cursor or child_start >= child_end:
                continue
            if span != _ROOT and child_end < cursor:
                found.append(Stretch(span, child_end, cursor))
            open_.append((child, child_start, child_end))
            cursor = child_start
        if span != _ROOT and from_ns < cursor:
            found.append(Stretch(span, from_ns, cursor))
    return sorted(found, key=lambda stretch: (stretch.from_ns, stretch.until_ns, stretch.span))
