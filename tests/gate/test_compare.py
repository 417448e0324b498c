"""What changed between two analyses, and what of it is noise."""

from __future__ import annotations

import random

import pytest

from visceral_cli.analysis.figures import Projection
from visceral_cli.analysis.projection import project
from visceral_cli.gate.compare import Direction, Measured, _share_difference, compare
from visceral_cli.gate.finding import CheckKind, State, Subject
from visceral_cli.gate.regression import regression_cases


@pytest.fixture
def measured(tool, per_run):
    """An analysis of one tool, from its repeats in each run."""

    def build(by_run, groups=(), name="search"):
        found = project([float(count) for count in by_run])
        rows = [per_run(found), per_run(found, tool=name)]
        calls = sum(by_run) + len(by_run)
        tools = [tool(tool=name, calls=calls, repeats=sum(by_run))] if by_run else []
        return Measured(len(by_run), rows, tools, groups)

    return build


def test_shares_are_compared_as_newcombe_did():
    """Table II of Newcombe, Statistics in Medicine 17 (1998): 56/70 and 48/80, method 10."""
    found = _share_difference((48, 80), (56, 70), 1)
    assert found.low == pytest.approx(52.4, abs=0.05)
    assert found.high == pytest.approx(333.9, abs=0.05)


def test_no_change_is_within_noise(measured):
    same = measured([0, 1, 2] * 20)
    comparison = compare(same, same)
    assert comparison.total.direction is Direction.SAME
    assert comparison.tools[0].direction is Direction.SAME
    assert (comparison.total.repeats.before, comparison.total.repeats.after) == (1000, 1000)


def test_clearly_more_repeats_are_more(measured):
    comparison = compare(measured([0, 1] * 20), measured([3, 4] * 20))
    assert comparison.total.repeats.is_more
    assert comparison.tools[0].direction is Direction.GROWN
    back = compare(measured([3, 4] * 20), measured([0, 1] * 20))
    assert back.total.repeats.is_less
    assert back.tools[0].direction is Direction.SHRUNK


@pytest.mark.parametrize(("runs", "is_told"), [(19, False), (20, True), (21, True)])
def test_a_small_dump_tells_nothing(measured, runs, is_told):
    comparison = compare(measured([0] * 40), measured([5] * runs))
    assert comparison.total.repeats.is_told is is_told
    assert comparison.total.repeats.is_more is is_told
    cases = regression_cases(comparison)
    states = {case.state for case in cases if case.kind is CheckKind.MORE_REPEATS}
    assert states == {State.BROKEN if is_told else State.UNJUDGED}
    if not is_told:
        assert cases[0].message == (f"too few calls to tell: 40 runs before, {runs} now, 20 needed")


def test_chance_alone_is_seldom_called_more(measured):
    """Two dumps of one source, where runs differ a lot: at most about 1 of 40 is called more."""
    draw = random.Random(7)

    def dump():
        return measured([draw.choice([0, 0, 0, 1, 2, 9]) for _ in range(60)])

    called = sum(compare(dump(), dump()).total.repeats.is_more for _ in range(200))
    assert called <= 12


def test_the_level_is_shared_over_all_tools(tool, per_run):
    """A difference that one tool alone would be told by is none among a hundred."""

    def one_of(tools, mean):
        found = Projection(mean, mean - 100.0, mean + 100.0, 50)
        nothing = Projection(0.0, 0.0, 0.0, 50)
        names = [f"tool{number}" for number in range(tools)]
        rows = [per_run(nothing)]
        rows += [per_run(found if name == "tool0" else nothing, tool=name) for name in names]
        return Measured(50, rows, [tool(tool=name, calls=50) for name in names], ())

    alone = compare(one_of(1, 300.0), one_of(1, 450.0)).tools[0]
    among = compare(one_of(100, 300.0), one_of(100, 450.0)).tools[0]
    assert (alone.tool, alone.direction) == ("tool0", Direction.GROWN)
    assert (among.tool, among.direction) == ("tool0", Direction.SAME)


def test_a_tool_is_new_or_gone_by_its_calls(measured):
    comparison = compare(measured([0] * 30, name="old"), measured([2] * 30, name="new"))
    directions = {change.tool: change.direction for change in comparison.tools}
    assert directions == {"old": Direction.GONE, "new": Direction.NEW}
    broken = [case for case in regression_cases(comparison) if case.state is State.BROKEN]
    assert Subject("shop", "new") in {case.subject for case in broken}
    assert Subject("shop", "old") not in {case.subject for case in broken}


def test_groups_are_new_gone_grown_and_shrunk(measured, group):
    def groups(**traces):
        return [
            group(input_hash=name * 64, traces=count, repeats=count)
            for name, count in traces.items()
        ]

    before = measured([1] * 60, groups(a=1, b=50, c=1, e=5))
    after = measured([1] * 60, groups(b=1, c=50, d=55, e=6))
    found = {change.input_hash[0]: change for change in compare(before, after).groups}
    assert {name: change.direction for name, change in found.items()} == {
        "a": Direction.GONE,
        "b": Direction.SHRUNK,
        "c": Direction.GROWN,
        "d": Direction.NEW,
    }
    assert not found["a"].is_beyond_noise
    assert found["d"].is_beyond_noise
    kinds = {
        case.subject.input_hash[0]: case.kind
        for case in regression_cases(compare(before, after))
        if case.subject.input_hash
    }
    assert kinds == {"c": CheckKind.GROWN_GROUP, "d": CheckKind.NEW_GROUP}


def test_a_group_of_one_run_is_new_by_chance(measured, group):
    after = measured([1] * 60, [group(traces=1, repeats=40)])
    (change,) = compare(measured([1] * 60), after).groups
    assert (change.direction, change.is_beyond_noise) == (Direction.NEW, False)


def test_groups_of_single_traces_are_added_up(measured, group):
    by_trace = [group(trace_id=f"{number}", traces=1, repeats=1) for number in range(40)]
    (change,) = compare(measured([1] * 60), measured([1] * 60, by_trace)).groups
    assert (change.repeats_after, change.runs.after) == (40, pytest.approx(1000 * 40 / 60))
