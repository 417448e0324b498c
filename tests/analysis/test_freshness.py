"""Freshness bounds: the worked rules, and the whole method against a literal one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from visceral_cli.analysis.binomial import effective, lower, needed, upper
from visceral_cli.analysis.candidates import GRID_SECONDS
from visceral_cli.analysis.freshness import (
    Bound,
    NoBound,
    Scope,
    freshness_bounds,
    shared_change_rate,
)
from visceral_cli.analysis.history import ToolCalls, Writers, find_writers
from visceral_cli.analysis.missing import Shortfall
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000
DAY = 86400


@dataclass(frozen=True)
class Call:
    """A call of no length."""

    identity: object
    start: float
    out: object = "same"
    run: int = 0
    host: int = 0


def tool(calls: list[Call], *, declared: float | None = None, hosts: bool = False) -> ToolCalls:
    rows = sorted(calls, key=lambda call: call.start)
    names: dict[object, int] = {None: -1}
    outs: dict[object, int] = {None: -1}
    start = np.array([round(call.start * SECOND) for call in rows], dtype=np.int64)
    return ToolCalls(
        start_ns=start,
        end_ns=start,
        identity=np.array(
            [names.setdefault(call.identity, len(names) - 1) for call in rows], dtype=np.int32
        ),
        run=np.array([call.run for call in rows], dtype=np.int32),
        content=np.array(
            [outs.setdefault(call.out, len(outs) - 1) for call in rows], dtype=np.int32
        ),
        host=np.array([call.host for call in rows], dtype=np.int32) if hosts else None,
        declared_freshness_seconds=declared,
    )


def pairs(
    count: int,
    age: float,
    differing: Collection[int] = (),
    *,
    name: str = "i",
    first: float = 0,
    apart: float = 1000,
    run: Callable[[int], int] = lambda i: i,
) -> list[Call]:
    """Two calls of each of ``count`` identities, ``age`` seconds apart; equal but for some."""
    calls = []
    for i in range(count):
        start = first + apart * i
        calls.append(Call((name, i), start, (name, i), run(i)))
        later = (name, i, "later") if i in differing else (name, i)
        calls.append(Call((name, i), start + age, later, run(i)))
    return calls


def bound_of(calls: list[Call], **changed: object) -> Bound | NoBound:
    (found,) = freshness_bounds([tool(calls)], None, replace(FreshnessSettings(), **changed))
    return found


def point_at(found: Bound | NoBound, seconds: float):
    (point,) = [each for each in found.curve.points if each.freshness_seconds == seconds]
    return point


def excluded(found: Bound, calls: list[Call]) -> set[object]:
    order = dict.fromkeys(call.identity for call in sorted(calls, key=lambda call: call.start))
    return {list(order)[code] for code in found.identities.excluded.tolist()}


CHANGING = [
    Call(("v", j), 1000 * (75 * k + 2 * j) + 300 + age, ("v", j, k, age), 10_000 + 100 * k + j)
    for j in range(30)
    for k in range(8)
    for age in (0, 60)
]
DENSE = [Call("one", 10 * i, run=i // 20) for i in range(17_280)]


def bursts(runs: int) -> list[Call]:
    return [Call(run, 100_000 * run + i, run=run) for run in range(runs) for i in range(100)]


PROVEN = {
    # traces, epsilon: T, S, X, N, U, excluded
    "300 pairs": (pairs(300, 60), 0.01, (60, 300, 0, 300, 0.009936), set()),
    "one of 600 pairs differs early": (
        pairs(600, 60, {10}),
        0.01,
        (60, 525, 0, 525, 0.005690),
        {("i", 10)},
    ),
    "one of 600 pairs differs late": (
        pairs(600, 60, {590}),
        0.01,
        (60, 525, 1, 525, 0.009004),
        {("i", 590)},
    ),
    "a good age and a bad age": (
        pairs(400, 60) + pairs(400, 600, range(0, 400, 10), name="k", first=500),
        0.01,
        (60, 400, 0, 400, 0.007461),
        set(),
    ),
    "one identity all the time": (DENSE, 0.01, (300, 16_722, 0, 557.640103, 0.005358), set()),
    "40 bursts": (bursts(40), 0.01, (10, 3600, 0, 360, 0.008287), set()),
    "59 pairs at 5 %": (pairs(59, 60), 0.05, (60, 59, 0, 59, 0.049508), set()),
    "identities that change": (
        pairs(600, 60) + CHANGING,
        0.01,
        (60, 525, 0, 525, 0.005690),
        {("v", j) for j in range(30)},
    ),
}


@pytest.mark.parametrize(("calls", "rate", "expected", "left_out"), PROVEN.values(), ids=PROVEN)
def test_proven_bounds(calls, rate, expected, left_out):
    found = bound_of(calls, max_stale_rate=rate)
    assert isinstance(found, Bound)
    assert (
        found.freshness_seconds,
        found.point.counted_serves,
        found.point.counted_stale,
        found.point.counted_observations,
        found.stale_rate_bound,
    ) == pytest.approx(expected, abs=1e-6)
    assert excluded(found, calls) == left_out
    assert found.level == 0.05


UNPROVEN = {
    # traces: kind, has, needs, message, bound at the named candidate, rate it would pass at
    "298 pairs": (
        pairs(298, 60),
        (Shortfall.OBSERVATIONS, 298, 299, "298 clean observations, needs 299"),
        0.010002,
        0.010002,
    ),
    "one of 300 pairs differs": (
        pairs(300, 60, {150}),
        (
            Shortfall.STALE,
            263,
            473,
            "1 stale of 263 observations; with no further stale one it needs 473",
        ),
        0.017910,
        0.017910,
    ),
    "three of 600 pairs differ": (
        pairs(600, 60, {300, 400, 500}),
        (
            Shortfall.STALE,
            525,
            773,
            "3 stale of 525 observations; with no further stale one it needs 773",
        ),
        0.014702,
        0.014702,
    ),
    "10 bursts": (bursts(10), (Shortfall.RUNS, 10, 30, "10 of 30 runs"), 0.005974, None),
    "20 runs": (
        pairs(300, 60, run=lambda i: i % 20),
        (Shortfall.RUNS, 20, 30, "20 of 30 runs"),
        0.009936,
        None,
    ),
    "26 minutes": (
        pairs(300, 60, apart=5),
        (Shortfall.SPAN, 1555, 1800, "needs 30 min of traces, has 25.9 min"),
        0.009936,
        None,
    ),
}


@pytest.mark.parametrize(
    ("calls", "missing", "bound", "passes_at"), UNPROVEN.values(), ids=UNPROVEN
)
def test_what_is_missing_is_named(calls, missing, bound, passes_at):
    found = bound_of(calls)
    assert isinstance(found, NoBound)
    first = found.missing[0]
    assert (first.kind, first.has, first.needs, first.message) == missing
    assert found.point.stale_rate_bound == pytest.approx(bound, abs=1e-6)
    assert found.passes_at == (None if passes_at is None else pytest.approx(passes_at, abs=1e-6))


def test_the_curve_of_a_good_and_a_bad_age():
    found = bound_of(*PROVEN["a good age and a bad age"][:1])
    point = point_at(found, 600)
    assert (point.counted_serves, point.counted_stale) == (701, 35)
    assert point.stale_rate_bound == pytest.approx(0.065655, abs=1e-6)
    assert not point_at(found, 300).supported  # nothing was compared between 120 and 300 s


@pytest.mark.parametrize(
    ("calls", "seconds", "observations"),
    [
        (DENSE, 10, 8640),
        (DENSE, 60, 2468.750025),
        (DENSE, 600, 283.462357),
        (bursts(40), 2, 1320),
        (bursts(40), 5, 673.740831),
        (bursts(40), 15, 254.569536),
        (bursts(40), 120, 40),
    ],
)
def test_one_stored_result_is_one_observation(calls, seconds, observations):
    point = point_at(bound_of(calls), seconds)
    assert point.observations == pytest.approx(observations, abs=1e-6)


def test_a_burst_in_each_of_ten_runs_is_ten_observations():
    point = point_at(bound_of(bursts(10)), 120)
    assert (point.serves, point.observations, point.runs) == (990, 10, 10)


@pytest.mark.parametrize("count", [298, 299, 300])
def test_the_smallest_rate_named_is_enough_and_a_smaller_one_is_not(count):
    calls = pairs(count, 60, {count // 2})
    rate = bound_of(calls).passes_at
    assert isinstance(bound_of(calls, max_stale_rate=rate), Bound)
    assert isinstance(bound_of(calls, max_stale_rate=rate * 0.9999), NoBound)


def test_ten_good_tools_do_not_spoil_each_other():
    found = freshness_bounds([tool(pairs(300, 60))] * 10, None, FreshnessSettings())
    assert [type(each) for each in found] == [Bound] * 10
    assert {each.level for each in found} == {0.05}


@pytest.mark.parametrize(
    ("count", "kind", "bound"),
    [(527, NoBound, 0.010004), (528, Bound, 0.009985), (600, Bound, 0.008792)],
)
def test_one_good_tool_among_nine_bad_ones_needs_more_evidence(count, kind, bound):
    bad = tool(pairs(300, 60, range(300)))
    found = freshness_bounds([tool(pairs(count, 60)), *[bad] * 9], None, FreshnessSettings())
    assert [type(each) for each in found] == [kind] + [NoBound] * 9
    assert found[0].level == 0.005
    assert found[0].curve.points[6].bound_at(0.005) == pytest.approx(bound, abs=1e-6)
    if kind is NoBound:
        first = found[0].missing[0]
        assert (first.kind, first.has, first.needs) == (Shortfall.SHARED_CONFIDENCE, count, 528)


def test_the_confidence_may_be_each_tools_own():
    bad = tool(pairs(300, 60, range(300)))
    own = replace(FreshnessSettings(), false_discovery_control=False)
    found = freshness_bounds([tool(pairs(300, 60)), *[bad] * 9], None, own)
    assert isinstance(found[0], Bound)
    assert found[0].level == 0.05


@pytest.mark.parametrize(
    ("identities", "again", "scope"),
    [(299, 0, Scope.TOOL), (299, 1, Scope.IDENTITIES), (302, 1, Scope.TOOL)],
)
def test_a_bound_for_any_arguments_needs_evenly_many_different_ones(identities, again, scope):
    calls = pairs(identities, 60) + pairs(again, 60, first=10**6)
    found = bound_of(calls)
    assert found.point.observations == identities + again
    assert found.scope is scope


def test_a_bound_for_one_identity_names_it():
    found = bound_of(DENSE)
    assert found.scope is Scope.IDENTITIES
    assert found.identities.included.tolist() == [0]
    assert found.identities.serves.tolist() == [16_722]


def test_the_evidence_of_each_identity():
    found = bound_of(pairs(600, 60, {10, 590}), max_stale_rate=0.02)
    evidence = found.identities
    assert evidence.serves.tolist() == [1] * 600
    assert np.flatnonzero(evidence.stale).tolist() == [10, 590]
    assert np.flatnonzero(evidence.volatile).tolist() == [10, 590]
    assert evidence.counted_serves.tolist() == [0] * 75 + [1] * 525
    assert evidence.included.tolist() == [i for i in range(75, 600) if i != 590]


@pytest.mark.parametrize(("old", "stale", "worse"), [(35, 1, False), (36, 2, False), (35, 2, True)])
def test_a_warning_where_old_serves_are_worse_than_the_average(old, stale, worse):
    quick = pairs(3000, 20)
    found = bound_of(quick + pairs(old, 50, range(30, 30 + stale), name="old", first=10**6 + 500))
    assert found.freshness_seconds == 50
    half = found.old_half
    assert (half.serves, half.stale, half.worse) == (old, stale, worse)


@pytest.mark.parametrize("age", [59.999, 60, 60.001])
def test_nothing_older_than_what_was_compared_is_proposed(age):
    found = bound_of(pairs(300, age))
    assert found.freshness_seconds == age
    assert found.point.freshness_seconds == (60 if age <= 60 else 120)


@pytest.mark.parametrize(
    ("declared", "user", "freshness"),
    [
        (None, None, 60),
        (61, None, 60),
        (60, None, 60),
        (59, None, None),
        (3600, 60, 60),
        (3600, 59, None),
        (float("inf"), None, 60),
    ],
)
def test_a_declared_freshness_only_shortens(declared, user, freshness):
    settings = replace(FreshnessSettings(), max_freshness_seconds=user)
    calls = tool(pairs(300, 60), declared=declared)
    (found,) = freshness_bounds([calls], None, settings)
    assert (found.freshness_seconds if isinstance(found, Bound) else None) == freshness
    if freshness is None:
        assert found.missing[0].kind is Shortfall.NO_REPEAT


def test_a_declared_freshness_between_two_candidates_becomes_one():
    (found,) = freshness_bounds([tool(DENSE, declared=200)], None, FreshnessSettings())
    assert [point.freshness_seconds for point in found.curve.points][-2:] == [120, 200]
    assert found.freshness_seconds == 200


@pytest.mark.parametrize("declared", [0, -1, float("nan")])
def test_a_tool_declared_never_to_be_served_gets_no_bound(declared):
    (found,) = freshness_bounds([tool(DENSE, declared=declared)], None, FreshnessSettings())
    assert found.missing[0].kind is Shortfall.DECLARED_NEVER
    assert found.curve.points == ()


def test_no_repeat_no_bound():
    found = bound_of([Call(i, 1000 * i) for i in range(50)])
    assert found.missing[0].kind is Shortfall.NO_REPEAT
    assert found.missing[0].message == "no call repeats an earlier one within the bound"
    assert (found.largest_age_ns, found.passes_at, found.point) == (0, None, None)
    assert bound_of([]).missing[0].kind is Shortfall.NO_REPEAT


def test_a_small_dump_is_a_candidate_with_what_was_seen():
    found = bound_of(pairs(187, 60, run=lambda i: i % 20))
    assert [each.kind for each in found.missing] == [Shortfall.OBSERVATIONS, Shortfall.RUNS]
    assert found.missing[0].message == "187 clean observations, needs 299"
    assert found.largest_age_seconds == 60
    assert found.point.freshness_seconds == 60
    assert len(found.identities.identity) == 187


def test_calls_without_identity_are_no_history():
    unknown = [Call(None, -1_000_000 + 1000 * i) for i in range(1000)]
    with_, without = bound_of(unknown + pairs(300, 60, {10})), bound_of(pairs(300, 60, {10}))
    assert with_.curve == without.curve


def test_results_that_a_writer_voids_are_not_served():
    calls = pairs(600, 60)
    run = np.arange(300, dtype=np.int32)
    start = run.astype(np.int64) * 1000 * SECOND + 30 * SECOND
    writers = find_writers(run, start, start)
    (found,) = freshness_bounds([tool(calls)], writers, FreshnessSettings())
    assert found.point.serves == 300


@pytest.mark.parametrize(
    ("age", "hosts", "note"),
    [(4.999, 2, True), (4.999, 1, False), (5, 2, False), (5.001, 2, False)],
)
def test_bounds_under_five_seconds_mind_the_clocks_of_several_hosts(age, hosts, note):
    calls = [replace(call, host=i % hosts) for i, call in enumerate(pairs(300, age))]
    (found,) = freshness_bounds([tool(calls, hosts=True)], None, FreshnessSettings())
    assert found.clocks_differ is note


def test_the_shared_change_rate():
    week = 7 * DAY * SECOND
    assert shared_change_rate(3600 * SECOND, week, 0.05) == pytest.approx(0.008916, abs=1e-6)
    assert shared_change_rate(week // 30, week, 0.05) == pytest.approx(0.05, abs=1e-4)
    assert shared_change_rate(week // 150, week, 0.05) == pytest.approx(0.01, abs=1e-4)


# The method once more, word by word, in plain Python.


def plain_serves(rows: list[Call], writers: list[tuple[int, float, float]], freshness: float):
    """Return (row, source) of the serves; calls have no length, so each is stored at once."""
    served = []
    stored: dict[object, int] = {}
    for row, call in enumerate(rows):
        source = stored.get(call.identity)
        own = [(start, end) for run, start, end in writers if run == call.run]
        if (
            source is not None
            and call.start - rows[source].start <= freshness
            and not any(start <= call.start and rows[source].start <= end for start, end in own)
        ):
            served.append((row, source))
        elif call.out is not None and not any(start <= call.start <= end for start, end in own):
            stored[call.identity] = row
    return [(row, source) for row, source in served if rows[row].out is not None]


def plain_bound(calls: list[Call], writers, settings: FreshnessSettings):
    """Return T, S, X, N, U and the excluded identities, or ``None``."""
    delta, epsilon = 1 - settings.confidence, settings.max_stale_rate
    rows = sorted(calls, key=lambda call: call.start)
    if not rows:
        return None
    span = rows[-1].start - rows[0].start
    accepted, previous = None, 0
    for freshness in GRID_SECONDS:
        band, previous = previous, freshness
        serves = plain_serves(rows, writers, freshness)
        near = {s for row, s in serves if rows[row].start - rows[s].start > band}
        if (
            freshness * settings.span_factor > span
            or len(near) < settings.min_results
            or len({rows[row].run for row, _ in serves}) < settings.min_runs
        ):
            continue
        stale = {row for row, s in serves if rows[row].out != rows[s].out}

        def is_volatile(identity, block, serves=serves, stale=stale):
            past = [
                row
                for row, _ in serves
                if rows[row].identity == identity and row * settings.blocks // len(rows) < block
            ]
            return lower(len(stale.intersection(past)), len(past), delta) > epsilon

        counted = serves
        if stale:
            counted = [
                (row, s)
                for row, s in serves
                if row * settings.blocks // len(rows) > 0
                and not is_volatile(rows[row].identity, row * settings.blocks // len(rows))
            ]
        observations = effective([sum(s == t for _, t in counted) for s in {t for _, t in counted}])
        uncut = effective([sum(s == t for _, t in serves) for s in {t for _, t in serves}])
        wrong = sum(row in stale for row, _ in counted)
        if observations < needed(0, epsilon, delta):
            continue
        bound = upper(observations * wrong / len(counted), observations, delta)
        if bound <= epsilon:
            out = {i for i in {rows[row].identity for row, _ in serves} if is_volatile(i, 10**9)}
            accepted = (freshness, len(counted), wrong, observations, bound, out)
        elif uncut >= needed(1, epsilon, delta):
            break
    return accepted


random_calls = st.lists(
    st.builds(
        Call,
        identity=st.integers(0, 3),
        start=st.integers(0, 150).map(lambda half: half / 2),
        out=st.sampled_from(["a", "a", "a", "a", "a", "b", None]),
        run=st.integers(0, 5),
    ),
    max_size=60,
)
random_writers = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 70), st.integers(0, 3)).map(
        lambda writer: (writer[0], writer[1], writer[1] + writer[2])
    ),
    max_size=3,
)


def as_writers(writers: list[tuple[int, float, float]]) -> Writers:
    run, start, end = np.array(writers, dtype=np.int64).reshape(-1, 3).T
    return find_writers(run.astype(np.int32), start * SECOND, end * SECOND)


@hypothesis_settings(max_examples=200, deadline=None)
@given(
    calls=random_calls,
    writers=random_writers,
    rate=st.sampled_from([0.2, 0.4, 0.6]),
    blocks=st.sampled_from([1, 3, 8]),
    guard=st.integers(1, 3),
)
def test_the_bound_is_that_of_the_definition(calls, writers, rate, blocks, guard):
    settings = FreshnessSettings(
        max_stale_rate=rate,
        confidence=0.8,
        blocks=blocks,
        span_factor=2.5,
        min_results=guard,
        min_runs=guard,
    )
    (found,) = freshness_bounds([tool(calls)], as_writers(writers), settings)
    expected = plain_bound(calls, writers, settings)
    assert isinstance(found, NoBound) is (expected is None)
    if expected is not None:
        point = found.point
        assert (
            point.freshness_seconds,
            point.counted_serves,
            point.counted_stale,
            point.counted_observations,
            found.stale_rate_bound,
        ) == pytest.approx(expected[:5], rel=1e-9)
        assert excluded(found, calls) == expected[5]
    elif found.passes_at is not None and found.passes_at < 1:
        (passing,) = freshness_bounds(
            [tool(calls)],
            as_writers(writers),
            replace(settings, max_stale_rate=found.passes_at),
        )
        assert isinstance(passing, Bound)
