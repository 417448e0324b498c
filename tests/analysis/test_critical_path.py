from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.analysis.critical_path import critical_path


def path(*spans: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The path of spans given as (start, end, parent), as (span, from, until)."""
    starts, ends, parents = zip(*spans, strict=True)
    found = critical_path(starts, ends, parents)
    return [(stretch.span, stretch.from_ns, stretch.until_ns) for stretch in found]


def test_a_span_without_children_is_its_own_path() -> None:
    assert path((0, 10, -1)) == [(0, 0, 10)]


def test_time_between_children_is_the_parents_own() -> None:
    assert path((0, 10, -1), (1, 4, 0), (6, 9, 0)) == [
        (0, 0, 1),
        (1, 1, 4),
        (0, 4, 6),
        (2, 6, 9),
        (0, 9, 10),
    ]


def test_of_two_children_side_by_side_the_one_that_ends_last_was_waited_for() -> None:
    assert path((0, 10, -1), (0, 7, 0), (0, 10, 0)) == [(2, 0, 10)]


def test_a_child_that_outlives_its_parent_counts_up_to_the_parents_end() -> None:
    assert path((0, 10, -1), (8, 99, 0), (99, 100, -1)) == [(0, 0, 8), (1, 8, 10), (2, 99, 100)]


def test_the_path_goes_into_the_children_of_children() -> None:
    assert path((0, 10, -1), (0, 10, 0), (2, 8, 1)) == [(1, 0, 2), (2, 2, 8), (1, 8, 10)]


def test_spans_inside_of_themselves_are_on_no_path() -> None:
    assert path((0, 10, -1), (0, 10, 2), (0, 10, 1)) == [(0, 0, 10)]
    assert path((0, 10, 1), (0, 10, 0)) == []


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    count = draw(st.integers(1, 12))
    spans = [(0, draw(st.integers(1, 50)), -1)]
    for nth in range(1, count):
        start = draw(st.integers(-5, 60))
        spans.append((start, start + draw(st.integers(0, 30)), draw(st.integers(0, nth - 1))))
    return spans


@given(trees())
def test_the_path_covers_the_root_once(spans: list[tuple[int, int, int]]) -> None:
    found = [stretch for stretch in path(*spans) if stretch[1] < stretch[2]]
    begin, end = 0, spans[0][1]
    inside = [(max(first, begin), min(until, end)) for _, first, until in found]
    assert sum(until - first for first, until in inside if first < until) == end - begin
    assert all(one[2] <= other[1] for one, other in itertools.pairwise(found))
