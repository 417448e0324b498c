import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.contract.decide import (
    WRITER_RUNNING,
    Decision,
    StoredResult,
    Write,
    decide,
    last_write_end,
    may_store,
)


def answer(
    stored: tuple[int, int] | None, *, now: int, freshness: int = 100, writes: Sequence[Write] = ()
) -> Decision:
    return decide(
        None if stored is None else StoredResult(*stored),
        now_ns=now,
        freshness_ns=freshness,
        last_write_end_ns=last_write_end(writes, by_ns=now),
    )


def test_without_a_stored_result_the_tool_runs():
    assert answer(None, now=5) is Decision.NO_RESULT


@pytest.mark.parametrize(
    ("now", "expected"),
    [(109, Decision.SERVE), (110, Decision.SERVE), (111, Decision.EXPIRED)],
    ids=["younger than the freshness", "as old as the freshness", "older"],
)
def test_the_age_counts_from_the_start_of_the_execution(now, expected):
    assert answer((10, 60), now=now) is expected


@pytest.mark.parametrize(
    ("freshness", "expected"),
    [(-1, Decision.EXPIRED), (0, Decision.EXPIRED), (1, Decision.SERVE)],
)
def test_a_freshness_of_zero_or_less_serves_nothing_not_even_at_age_zero(freshness, expected):
    assert answer((10, 10), now=10, freshness=freshness) is expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (9, Decision.IN_FLIGHT),
        (19, Decision.IN_FLIGHT),
        (20, Decision.SERVE),
        (21, Decision.SERVE),
    ],
    ids=["begins in the future", "still running", "ends at this moment", "ended"],
)
def test_an_execution_answers_only_once_it_has_ended(now, expected):
    assert answer((10, 20), now=now) is expected


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (Write(1, 9), Decision.SERVE),
        (Write(1, 10), Decision.WRITER),
        (Write(1, 11), Decision.WRITER),
        (Write(10, 10), Decision.WRITER),
        (Write(15, 15), Decision.WRITER),
        (Write(30, 40), Decision.WRITER),
        (Write(31, 40), Decision.SERVE),
        (Write(29), Decision.WRITER),
        (Write(30), Decision.WRITER),
        (Write(31), Decision.SERVE),
    ],
    ids=[
        "ended before the execution began",
        "ended at the moment it began",
        "ended while it ran",
        "touches its start",
        "wholly between",
        "starts with the call",
        "starts after the call",
        "still running",
        "still running, started with the call",
        "still running, started after the call",
    ],
)
def test_a_writer_overtakes_what_began_before_it_ended(write, expected):
    assert answer((10, 20), now=30, writes=[write]) is expected


def test_among_several_writers_the_one_that_ends_last_counts():
    assert answer((10, 20), now=30, writes=[Write(1, 12), Write(2, 3)]) is Decision.WRITER
    assert answer((10, 20), now=30, writes=[Write(1, 2), Write(2, 3)]) is Decision.SERVE


def test_an_expired_result_is_called_expired_though_a_writer_overtook_it_too():
    assert answer((10, 20), now=200, writes=[Write(15, 16)]) is Decision.EXPIRED


@pytest.mark.parametrize(
    ("write", "kept"),
    [
        (Write(1, 9), True),
        (Write(1, 10), False),
        (Write(12, 13), False),
        (Write(20, 30), False),
        (Write(21, 30), True),
        (Write(5), False),
    ],
    ids=[
        "before",
        "ends as the execution begins",
        "inside",
        "begins as the execution ends",
        "after",
        "still running",
    ],
)
def test_what_was_read_while_a_writer_ran_is_not_kept(write, kept):
    assert may_store(10, 20, [write]) is kept


def test_without_writers_a_result_is_kept():
    assert may_store(10, 20, [])


# A replay of one identity, written from the rules' wording: (start, end, result) per call, the
# writers of the run, the bound; expected are the served calls as (start, age).
REPLAYS = [
    ("0 a, 50 a, 120 a, 170 a", [], 100, [(50, 50), (170, 50)]),
    ("0 A, 100 B, 200 A", [], 250, [(100, 100), (200, 200)]),
    ("0 A, 100 B, 200 A", [], 100, [(100, 100)]),
    ("0-1 A, 10-11 A, 20-21 B, 30-31 B", [Write(15, 15)], 100, [(10, 10), (30, 10)]),
    ("0-1 A, 10-12 A, 30-31 B", [Write(5, 20)], 100, []),
    ("0-10 A, 3-6 B, 11-12 B", [], 100, [(11, 8)]),
    ("0-5 A, 3-6 A, 10-11 A", [], 100, [(10, 7)]),
    ("0-5 A, 60-61 A, 60.001-61 A", [], 60, [(60, 60)]),
]


def calls_of(text: str) -> list[tuple[int, int]]:
    found = []
    for call in text.split(", "):
        start, _, end = call.split(" ")[0].partition("-")
        found.append((round(float(start) * 1000), round(float(end or start) * 1000)))
    return found


def replay(
    calls: list[tuple[int, int]], writes: list[Write], freshness: int
) -> list[tuple[int, int]]:
    kept: list[StoredResult] = []
    served = []
    for start, end in sorted(calls):
        finished = [stored for stored in kept if stored.end_ns <= start]
        stored = max(finished, key=lambda one: one.start_ns, default=None)
        write_end = last_write_end(writes, by_ns=start)
        decision = decide(stored, now_ns=start, freshness_ns=freshness, last_write_end_ns=write_end)
        if decision is Decision.SERVE:
            served.append((start, start - stored.start_ns))
        elif may_store(start, end, writes):
            kept.append(StoredResult(start, end))
    return served


@pytest.mark.parametrize(("calls", "writes", "bound", "expected"), REPLAYS)
def test_a_replay_by_the_decision_serves_what_the_rules_say(calls, writes, bound, expected):
    in_ms = [Write(write.start_ns * 1000, write.end_ns * 1000) for write in writes]
    found = replay(calls_of(calls), in_ms, bound * 1000)
    assert [(start / 1000, age / 1000) for start, age in found] == expected


times = st.integers(0, 12)
spans = st.tuples(times, times).map(lambda pair: (min(pair), max(pair)))


@settings(deadline=None)
@given(spans, st.lists(spans, max_size=3), times, st.integers(-1, 12))
def test_a_served_result_is_fresh_finished_and_untouched_by_any_writer(
    stored, writes, now, freshness
):
    found = answer(stored, now=now, freshness=freshness, writes=[Write(*w) for w in writes])
    fresh = freshness > 0 and now - stored[0] <= freshness
    overtaken = any(start <= now and stored[0] <= end for start, end in writes)
    assert (found is Decision.SERVE) == (stored[1] <= now and fresh and not overtaken)


@settings(deadline=None)
@given(spans, st.lists(spans, max_size=3), times)
def test_the_end_of_a_running_writer_need_not_be_known(stored, writes, now):
    known = [Write(*write) for write in writes]
    as_seen = [w if w.end_ns <= now else Write(w.start_ns, WRITER_RUNNING) for w in known]
    for freshness in (1, 100):
        assert answer(stored, now=now, freshness=freshness, writes=known) is answer(
            stored, now=now, freshness=freshness, writes=as_seen
        )


def test_every_decision_is_reached():
    reached = {
        answer(stored, now=now, freshness=5, writes=writes)
        for stored, now, writes in itertools.product(
            [None, (10, 12)], [11, 13, 40], [[], [Write(11, 12)]]
        )
    }
    assert reached == set(Decision)
