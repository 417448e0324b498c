"""The replay of a cache, against worked cases and against a literal one in plain Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.analysis import replay as replay_module
from visceral_cli.analysis.history import ToolCalls, Writers, find_writers
from visceral_cli.analysis.lanes import Lanes, lay_out, narrow
from visceral_cli.analysis.replay import replay

SECOND = 1_000_000_000


@dataclass(frozen=True)
class Call:
    """One call; ``out`` is -1 when its result is unknown."""

    start: int
    end: int
    out: int = 0
    identity: int = 0
    run: int = 0


@dataclass(frozen=True)
class Writer:
    start: int
    end: int
    run: int = 0


def seconds(text: str) -> list[Call]:
    """Read calls such as ``"0-1 A r, 60.001-61 B q"``: times, result (``?``: none), run."""
    calls = []
    for part in text.split(", "):
        times, out, run = [*part.split(), "r"][:3]
        start, end = (round(float(time) * SECOND) for time in (times.split("-") * 2)[:2])
        calls.append(Call(start, end, -1 if out == "?" else ord(out), run=ord(run)))
    return calls


def tool_calls(calls: list[Call]) -> ToolCalls:
    rows = sorted(calls, key=lambda call: (call.start, call.end))
    return ToolCalls(
        start_ns=np.array([call.start for call in rows], dtype=np.int64),
        end_ns=np.array([call.end for call in rows], dtype=np.int64),
        identity=np.array([call.identity for call in rows], dtype=np.int32),
        run=np.array([call.run for call in rows], dtype=np.int32),
        content=np.array([call.out for call in rows], dtype=np.int32),
    )


def writers_of(writers: list[Writer]) -> Writers:
    return find_writers(
        np.array([writer.run for writer in writers], dtype=np.int32),
        np.array([writer.start for writer in writers], dtype=np.int64),
        np.array([writer.end for writer in writers], dtype=np.int64),
    )


def plain_replay(calls: list[Call], writers: list[Writer], freshness: int) -> list[tuple[int, int]]:
    """Return (row of the served call, row of its source), as the definition says, word by word."""
    rows = sorted(calls, key=lambda call: (call.start, call.end))
    stored: list[int] = []
    served = []
    for row, call in enumerate(rows):
        if call.identity < 0:
            continue
        own = [writer for writer in writers if writer.run == call.run]
        finished = [
            source
            for source in stored
            if rows[source].identity == call.identity and rows[source].end <= call.start
        ]
        source = max(finished, key=lambda other: (rows[other].start, other), default=None)
        if (
            source is not None
            and call.start - rows[source].start <= freshness
            and not any(
                writer.start <= call.start and rows[source].start <= writer.end for writer in own
            )
        ):
            served.append((row, source))
        elif call.out >= 0 and not any(
            writer.start <= call.end and call.start <= writer.end for writer in own
        ):
            stored.append(row)
    return served


def fast_replay(calls: list[Call], writers: list[Writer], freshness: int) -> list[tuple[int, int]]:
    return served_rows(lay_out(tool_calls(calls), writers_of(writers)), freshness)


def served_rows(lanes: Lanes, freshness: int) -> list[tuple[int, int]]:
    serves = replay(lanes, freshness)
    assert np.all(np.diff(serves.source) >= 0)
    return sorted(
        zip(lanes.row[serves.call].tolist(), lanes.row[serves.source].tolist(), strict=True)
    )


WORKED = [
    # calls, writers, freshness, served: start, age, stale (None: unknown)
    ("0 a, 50 a, 120 a, 170 a", "", 100, [(50, 50, False), (170, 50, False)]),
    ("0 A, 100 B, 200 A", "", 250, [(100, 100, True), (200, 200, False)]),
    ("0 A, 100 B, 200 A", "", 100, [(100, 100, True)]),
    (
        "0-1 A, 10-11 A, 20-21 B, 30-31 B",
        "15-15",
        100,
        [(10, 10, False), (30, 10, False)],
    ),
    ("0-1 A, 10-12 A, 30-31 B", "5-20", 100, []),
    ("0-10 A, 3-6 B, 11-12 B", "", 100, [(11, 8, False)]),
    ("0-1 A r, 20-21 B q", "15-15", 100, [(20, 20, True)]),
    ("0-5 A, 3-6 A, 10-11 A", "", 100, [(10, 7, False)]),
    ("0-5 A, 60-61 A, 60.001-61 A", "", 60, [(60, 60, False)]),
    ("14-14.5 A q, 20-21 B", "10-15", 100, []),
    ("15-15.5 A q, 20-21 B", "10-15", 100, []),
    ("15.001-15.5 A q, 20-21 B", "10-15", 100, [(20, 4.999, True)]),
    ("0-1 A q, 9.999-11 B", "10-15", 100, [(9.999, 9.999, True)]),
    ("0-1 A q, 10-11 B", "10-15", 100, []),
    ("5-9.999 A, 20-21 B q", "10-15", 100, [(20, 15, True)]),
    ("5-10 A, 20-21 B q", "10-15", 100, []),
    ("0-1 ?, 10-11 A, 20-21 ?, 30-31 A", "", 100, [(20, 10, None), (30, 20, False)]),
]


@pytest.mark.parametrize(("text", "writer", "freshness", "expected"), WORKED)
def test_the_worked_replays(text, writer, freshness, expected):
    calls = seconds(text)
    writers = (
        [Writer(call.start, call.end, ord("r")) for call in seconds(f"{writer} x")]
        if writer
        else []
    )
    served = fast_replay(calls, writers, freshness * SECOND)
    rows = sorted(calls, key=lambda call: (call.start, call.end))
    assert [
        (
            rows[call].start / SECOND,
            (rows[call].start - rows[source].start) / SECOND,
            None if rows[call].out < 0 else rows[call].out != rows[source].out,
        )
        for call, source in served
    ] == expected


times = st.integers(0, 40)
call_strategy = st.builds(
    lambda start, length, out, identity, run: Call(start, start + length, out, identity, run),
    times,
    st.one_of(st.just(0), st.integers(0, 12)),
    st.sampled_from([-1, 0, 0, 0, 1]),
    st.integers(-1, 2),
    st.integers(0, 2),
)
writer_strategy = st.builds(
    lambda start, length, run: Writer(start, start + length, run),
    times,
    st.integers(0, 6),
    st.integers(0, 3),
)


@pytest.mark.parametrize(
    ("rounds", "cost"), [(6, 20), (0, 1), (10**6, 10**9)], ids=["as is", "walked", "repaired"]
)
@settings(max_examples=250, deadline=None)
@given(
    calls=st.lists(call_strategy, max_size=40),
    writers=st.one_of(st.just([]), st.lists(writer_strategy, max_size=6)),
    freshness=st.integers(0, 30),
)
def test_the_replay_is_that_of_the_definition(rounds, cost, calls, writers, freshness):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay_module, "_MAX_ROUNDS", rounds)
        patch.setattr(replay_module, "_WALK_COST", cost)
        assert fast_replay(calls, writers, freshness) == plain_replay(calls, writers, freshness)


@settings(max_examples=200, deadline=None)
@given(
    calls=st.lists(call_strategy, max_size=30),
    writers=st.one_of(st.just([]), st.lists(writer_strategy, max_size=6)),
    freshness=st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8)),
)
def test_lanes_narrowed_for_one_freshness_serve_it_and_shorter_ones_alike(
    calls, writers, freshness
):
    lanes = lay_out(tool_calls(calls), writers_of(writers))
    for shorter in sorted(freshness, reverse=True):
        lanes = narrow(lanes, shorter)
        assert served_rows(lanes, shorter) == plain_replay(calls, writers, shorter)


def test_a_dense_history_is_replayed_as_the_definition_says():
    """One identity, thousands of calls, overlaps, writers and unknown results in it."""
    random = np.random.default_rng(7)
    calls = [
        Call(int(start), int(start + length), int(out), run=int(run))
        for start, length, out, run in zip(
            np.sort(random.integers(0, 10_000, 1500)),
            random.integers(0, 12, 1500),
            random.choice([-1, 0, 1], 1500, p=[0.1, 0.7, 0.2]),
            random.integers(0, 40, 1500),
            strict=True,
        )
    ]
    writers = [
        Writer(int(at), int(at) + 30, run % 40) for run, at in enumerate(range(0, 10_000, 97))
    ]
    for freshness in (1, 10, 100, 1000, 5_000):
        expected = plain_replay(calls, writers, freshness)
        assert fast_replay(calls, writers, freshness) == expected
