"""Which writers clear which results, learned from spans; and writes that a runtime would miss."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.settings import ExtractSettings, Settings

KEEP = Settings(extract=ExtractSettings(keep_text=True))


@pytest.fixture
def story(tool_span):
    """Return a function that reads two orders, writes one of them and reads both again, 400 times.

    The write changes the order that it names; each round has orders and runs of its own.
    """

    def told(rounds=400, *, argument="order_id", affects=lambda i: ("written",)):
        spans = []
        for i in range(rounds):
            orders = {"written": f"o-{i}-a", "other": f"o-{i}-b"}
            before = {name: f"{order} as it was" for name, order in orders.items()}
            after = {
                name: f"{order} anew" if name in affects(i) else before[name]
                for name, order in orders.items()
            }
            at = 1000 * i
            spans += [
                tool_span(at + 1, {"order_id": orders["written"]}, before["written"], run=4 * i),
                tool_span(at + 2, {"order_id": orders["other"]}, before["other"], run=4 * i + 1),
                tool_span(
                    at + 5,
                    {argument: orders["written"], "note": f"n-{i}"},
                    "done",
                    tool="update_order",
                    run=4 * i + 2,
                ),
                tool_span(at + 8, {"order_id": orders["written"]}, after["written"], run=4 * i),
                tool_span(at + 9, {"order_id": orders["other"]}, after["other"], run=4 * i + 1),
            ]
        return spans

    return told


def test_a_writer_clears_what_has_the_same_value(analyze, story):
    report = analyze(story(), KEEP)
    (found,) = report.invalidations
    assert (found.tool, found.writer) == ("get_order", "update_order")
    assert (found.argument, found.writer_argument) == ("order_id", "order_id")
    assert (found.matching, found.matching_changed) == (400, 400)
    assert (found.other, found.other_changed) == (400, 0)
    assert found.changed_rate_at_least == pytest.approx(0.992539, abs=1e-6)
    assert found.other_rate_at_most == pytest.approx(0.007461, abs=1e-6)
    assert found.proven


def test_it_is_said_in_one_sentence_with_what_speaks_for_and_against_it(analyze, story):
    report = analyze(story(), KEEP)
    (finding,) = [one for one in report.findings if one.kind is FindingKind.CLEARED_BY_WRITER]
    assert finding.message == (
        "clear it when update_order has the same order_id: 400 of 400 results changed over such a "
        "write, 0 of 400 over writes of other values (at most 0.75%)"
    )


def test_the_argument_of_the_writer_may_have_another_name(analyze, story):
    (found,) = analyze(story(argument="id"), KEEP).invalidations
    assert (found.argument, found.writer_argument) == ("order_id", "id")


@pytest.mark.parametrize(("rounds", "proven"), [(298, False), (299, True), (300, True)])
def test_the_bound_needs_writes_enough_of_other_values(rounds, proven, analyze, story):
    (found,) = analyze(story(rounds), KEEP).invalidations
    assert found.proven is proven


def test_where_writes_of_other_values_change_results_too_the_run_stays_the_barrier(analyze, story):
    # In one of 20 rounds the write changes the other order as well.
    touched = story(affects=lambda i: ("written",) if i % 20 else ("written", "other"))
    (found,) = analyze(touched, KEEP).invalidations
    assert not found.proven
    assert found.other_changed == 20


def test_a_writer_that_changes_nothing_is_not_named(analyze, story):
    assert analyze(story(affects=lambda i: ()), KEEP).invalidations == ()


def test_changes_without_regard_to_the_writer_are_not_its_doing(analyze, story):
    everything = story(affects=lambda i: ("written", "other"))
    assert analyze(everything, KEEP).invalidations == ()


@pytest.mark.parametrize(("changes", "named"), [(4, False), (5, True), (6, True)])
def test_a_few_changes_say_nothing(changes, named, analyze, story):
    report = analyze(story(changes), KEEP)
    assert bool(report.invalidations) is named


def test_without_texts_nothing_is_learned(analyze, story):
    assert analyze(story(20)).invalidations == ()


READ = {"visceral.tool.readonly": True, "visceral.tool.replay_safe": True}
WRITE = {"visceral.tool.readonly": False, "visceral.tool.replay_safe": False}


def kinds(report):
    return {one.kind: one.calls for one in report.findings}


@pytest.fixture
def read(tool_span):
    """Return a function that makes a read of the SDK."""

    def made(start, end, **changed):
        span = tool_span(start, {"order_id": 1}, "r", end=end, attributes=READ, sdk=True)
        return replace(span, **changed)

    return made


@pytest.fixture
def write(tool_span):
    """Return a function that makes a write of the SDK, from 10 s to 20 s."""

    def made(**changed):
        span = tool_span(10, {}, "w", "update_order", end=20, attributes=WRITE, sdk=True)
        return replace(span, **changed)

    return made


@pytest.fixture
def step(tool_span):
    """Return a function that makes a span that is no call."""

    def made(start, end, **changed):
        return replace(tool_span(start, None, None, tool="step", end=end, node=True), **changed)

    return made


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(8, 10, False), (8, 10.5, True), (12, 13, True), (19.5, 21, True), (20, 21, False)],
    ids=["before", "into", "during", "out of", "after"],
)
def test_a_read_beside_a_write_is_found(start, end, found, analyze, read, write):
    report = analyze([read(start, end), write()])
    assert (FindingKind.READ_DURING_WRITE in kinds(report)) is found


def test_a_read_in_another_run_is_not_beside_the_write(analyze, read, write):
    report = analyze([read(12, 13), write(run=1)])
    assert FindingKind.READ_DURING_WRITE not in kinds(report)


def test_a_write_in_a_sibling_task_without_a_node_above_is_found(analyze, read, write, step):
    branches = [step(0, 60, span_id=1), step(0, 60, span_id=2, parent=1)]
    branches += [step(0, 60, span_id=3, parent=1)]
    calls = [read(30, 31, parent=2), write(parent=3)]
    assert kinds(analyze([*branches, *calls])) == {FindingKind.WRITE_BESIDE_RUN: 1}


def test_below_one_node_siblings_see_each_other(analyze, read, write, step):
    branches = [step(0, 60, span_id=1, sdk=True), step(0, 60, span_id=2, parent=1)]
    branches += [step(0, 60, span_id=3, parent=1)]
    calls = [read(30, 31, parent=2), write(parent=3)]
    assert kinds(analyze([*branches, *calls])) == {}


def test_steps_that_follow_each_other_share_what_they_know(analyze, read, write, step):
    steps = [step(0, 60, span_id=1), step(0, 25, span_id=2, parent=1)]
    steps += [step(25, 60, span_id=3, parent=1)]
    calls = [write(parent=2), read(30, 31, parent=3)]
    assert kinds(analyze([*steps, *calls])) == {}


@pytest.mark.parametrize(
    ("ends", "found"), [(9, {}), (15, {FindingKind.WRITE_IN_OWN_TRACE: 1})], ids=["over", "on"]
)
def test_a_write_in_a_thread_is_found_by_the_run_that_was_under_way(
    ends, found, analyze, read, write, step
):
    run = [step(0, ends, span_id=1, sdk=True), read(1, 2, parent=1)]
    assert kinds(analyze([*run, write(run=7)])) == found


def test_a_call_at_the_top_of_a_trace_is_no_run(analyze, read, write):
    assert kinds(analyze([read(0, 15), write(run=7)])) == {}


def test_only_a_run_that_is_under_way_is_concerned(analyze, read, write, step):
    elsewhere = [step(0, 60, span_id=1, sdk=True, run=3)]
    later = [step(21, 60, span_id=1, sdk=True, run=4)]
    assert kinds(analyze([*elsewhere, *later, read(1, 2, run=3, parent=1), write(run=7)])) == {
        FindingKind.WRITE_IN_OWN_TRACE: 1
    }
    assert kinds(analyze([*later, read(30, 31, run=4, parent=1), write(run=7)])) == {}
