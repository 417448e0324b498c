"""The simulation: its truth against cases worked by hand, and a few dumps of each process."""

from __future__ import annotations

import importlib.util
import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import simulate as simulate_script
from simulation.dump import write_dump
from simulation.judge import Later, judge, oracle_seconds, replay
from simulation.one_dump import SETTINGS, DumpResult, simulate
from simulation.processes import (
    PROCESSES,
    AllAtOnce,
    DailyForAll,
    Danger,
    Law,
    OddResults,
    OwnChanges,
    Process,
    Written,
)
from simulation.table import exceeding, table_of, with_table
from simulation.workload import DAY, SECOND, Shape, Workload, Writes, make_workload

from visceral_cli.analysis import binomial
from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.to_table import write_table
from visceral_cli.report.view import View

HOUR = 3600 * SECOND
PROCESS = {process.name: process for process in PROCESSES}


def process(name: str, *, later_runs: int = 500) -> Process:
    return replace(PROCESS[name], later_runs=later_runs)


def workload(
    *calls: tuple[float, float, int], writes: Sequence[tuple[float, int]] = ()
) -> Workload:
    """Calls as (start, end, identity) in seconds, a run each; writes as (moment, identity)."""
    start, end, identity = (np.array(column) for column in zip(*calls, strict=True))
    at = np.array([moment for moment, _ in writes], np.float64) * SECOND
    written = np.array([one for _, one in writes], np.int64)
    return Workload(
        start=(start * SECOND).astype(np.int64),
        end=(end * SECOND).astype(np.int64),
        identity=identity,
        run=np.arange(len(calls)),
        identities=int(identity.max()) + 1,
        runs=len(calls),
        from_time=0,
        to_time=int(end.max() * SECOND),
        writes=Writes(
            at.astype(np.int64), at.astype(np.int64), written, np.arange(len(writes)) + 1000
        ),
    )


NOTHING = workload((0, 1, 0))


def stale(law: Law, stored: float, served: float, *, later: Workload = NOTHING) -> float:
    """Return the chance for one result of identity 0; hours."""
    at = (np.array([round(moment * HOUR)]) for moment in (stored, served))
    [chance] = law.stale(later, np.zeros(1, np.int64), *at).tolist()
    return float(chance)


@pytest.mark.parametrize(
    ("calls", "writes", "freshness", "expected"),
    [
        ([(0, 0), (50, 50), (120, 120), (170, 170)], [], 100, [(50, 50), (170, 50)]),
        ([(0, 1), (10, 11), (20, 21), (30, 31)], [(15, 15)], 100, [(10, 10), (30, 10)]),
        ([(0, 1), (10, 12), (30, 31)], [(5, 20)], 100, []),
        ([(0, 10), (3, 6), (11, 12)], [], 100, [(11, 8)]),
        ([(0, 5), (3, 6), (10, 11)], [], 100, [(10, 7)]),
        ([(0, 5), (60, 61), (60.001, 61)], [], 60, [(60, 60)]),
    ],
)
def test_serving_is_replayed_as_the_method_says(calls, writes, freshness, expected):
    starts, ends = (
        [round(moment * SECOND) for moment in each] for each in zip(*calls, strict=True)
    )
    of_run = {0: [(start * SECOND, end * SECOND) for start, end in writes]}
    places: list[int] = []
    stored: list[int] = []
    replay(starts, ends, [0] * len(calls), of_run, freshness * SECOND, places, stored)
    served = [
        (starts[place] / SECOND, (starts[place] - began) / SECOND)
        for place, began in zip(places, stored, strict=True)
    ]
    assert served == expected


@pytest.mark.parametrize(
    ("law", "chance"),
    [
        (OwnChanges(np.array([0.0])), 0),
        (OwnChanges(np.array([1.0])), 1 - math.exp(-0.5)),
        (OwnChanges(np.array([1.0]), flips=True), (1 - math.exp(-1)) / 2),
        (OwnChanges(np.array([1.0]), faster_from=0, factor=10), 1 - math.exp(-5)),
        (AllAtOnce(2.0), 1 - math.exp(-1)),
        (OddResults(0.006), 0.006),
    ],
)
def test_the_chance_to_be_stale_after_twelve_hours_follows_from_the_law(law, chance):
    assert stale(law, 6, 18) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("stored", "served", "chance"), [(1, 2.9, 0), (1, 3, 1), (3, 26.9, 0), (26, 27, 1)]
)
def test_what_changes_daily_is_stale_after_three_at_night(stored, served, chance):
    assert stale(DailyForAll(), stored, served) == chance


@pytest.mark.parametrize(("stored", "served", "chance"), [(0, 0.9, 0), (0, 1, 1), (1, 2, 0)])
def test_what_was_written_between_is_stale(stored, served, chance):
    later = workload((0, 1, 0), (0, 1, 1), writes=[(3600, 0), (1800, 1), (5400, 1)])
    assert stale(Written(), stored, served, later=later) == chance


@pytest.mark.parametrize("name", [name for name in PROCESS if "last quarter" not in name])
def test_results_as_drawn_are_as_often_stale_as_the_law_says(name):
    of, drawn, expected, served = PROCESS[name], [], 0.0, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        calls = make_workload(of.shape, 300, from_time=0, to_time=7 * DAY, rng=rng)
        law = of.law(rng, calls.identities)
        results = law.results(calls, rng)
        found = Later(calls, writers_are_seen=of.writers_are_seen).served(HOUR)
        at = {
            key: result
            for *key, result in zip(
                calls.identity.tolist(), calls.start.tolist(), results.tolist(), strict=True
            )
            for key in [tuple(key)]
        }
        identity = calls.identity[found.call]
        then = [at[key] for key in zip(identity.tolist(), found.stored.tolist(), strict=True)]
        drawn.append(int(np.count_nonzero(np.array(then) != results[found.call])))
        expected += law.stale(calls, identity, found.stored, calls.start[found.call]).sum()
        served += len(then)
    # Stale results come in clusters: the spread between the draws tells how far chance goes.
    spread = np.std(drawn, ddof=1) * len(drawn) ** 0.5
    assert abs(sum(drawn) - expected) <= 4 * spread + 1
    assert served > 5000


def test_the_oracle_takes_the_worst_identity_only_as_far_as_the_promise_goes():
    clean = [(2.0 * nth, 2.0 * nth + 1, 0) for nth in range(100)]
    changing = [(2.0 * nth + 1000, 2.0 * nth + 1001, 1) for nth in range(3)]
    later = Later(workload(*clean, *changing), writers_are_seen=False)
    law = OwnChanges(np.array([0.0, 1e9]))
    # 99 clean seconds leave room for 0.99 stale ones too many: half of 2 stale of 2, each 0.99.
    assert oracle_seconds(law, later, 0.01, HOUR) == pytest.approx((100.0, 100.0))
    assert oracle_seconds(law, later, 1.0, HOUR) == pytest.approx((101.0, 101.0))
    assert oracle_seconds(OwnChanges(np.zeros(2)), later, 0.01, SECOND) == (101.0, 0.0)


def test_a_rule_is_judged_on_the_identities_it_names():
    calls = [(2.0 * nth, 2.0 * nth + 1, nth % 2) for nth in range(20)]
    later = Later(workload(*calls), writers_are_seen=False)
    law = OwnChanges(np.array([0.0, 1e9]))
    outcome = judge(law, later, HOUR, np.array([0]))
    assert (outcome.served, outcome.stale, outcome.saved_seconds) == (9, 0, 9)
    both = judge(law, later, HOUR, np.array([0, 1]))
    assert (both.served, both.stale, both.stale_rate) == (18, 9, 0.5)


def test_the_workload_is_as_described():
    rng = np.random.default_rng(1)
    calls = make_workload(Shape(), 3000, from_time=0, to_time=7 * DAY, rng=rng)
    assert len(calls) / 3000 == pytest.approx(8, rel=0.05)
    order = np.lexsort((calls.start, calls.run))
    run, start, end = calls.run[order], calls.start[order], calls.end[order]
    same_run = run[1:] == run[:-1]
    gaps = (start[1:] - end[:-1])[same_run] / SECOND
    assert np.median(gaps) == pytest.approx(8, rel=0.03)
    assert np.log(gaps).std() == pytest.approx(1, rel=0.03)
    most = np.bincount(calls.identity)[0] / len(calls)
    assert most == pytest.approx(Shape().popularity[0], rel=0.1)


def test_three_of_ten_calls_after_the_first_of_a_run_repeat_one_of_it():
    shape = Shape(identities=100_000, zipf=0.0)  # so many that drawing one twice is rare
    rng = np.random.default_rng(1)
    calls = make_workload(shape, 3000, from_time=0, to_time=7 * DAY, rng=rng)
    distinct = len(np.unique(calls.run * shape.identities + calls.identity))
    assert (len(calls) - distinct) / (len(calls) - 3000) == pytest.approx(0.3, abs=0.01)


def test_the_pipeline_reads_every_call_and_writer_of_a_dump(tmp_path):
    of = PROCESS["visible writers in half of the runs"]
    rng = np.random.default_rng(1)
    calls = make_workload(of.shape, 40, from_time=0, to_time=DAY, rng=rng)
    results = of.law(rng, calls.identities).results(calls, rng)
    path = tmp_path / "dump.jsonl"
    spans = write_dump(path, calls, results, writers_are_seen=True)
    assert spans == len(calls) + len(calls.writes)
    with analyze_inputs([str(path)], SETTINGS, Silent()) as analysis:
        report = analysis.report
    assert (report.inputs.damaged, report.inputs.traces) == (0, 40)
    assert {(tool.tool, tool.calls, tool.writer) for tool in report.tools} == {
        ("lookup", len(calls), False),
        ("update_record", len(calls.writes), True),
    }
    [lookup] = [tool for tool in report.tools if tool.tool == "lookup"]
    assert lookup.identities == len(np.unique(calls.identity))


def test_a_dump_comes_out_the_same_for_the_same_seed():
    def drawn(dump: int, seed: int) -> DumpResult:
        [result] = simulate(process("lognormal rates"), 300, [dump], seed)
        return result

    assert drawn(0, 1) == drawn(0, 1)
    assert drawn(1, 1) != replace(drawn(0, 1), dump=1)
    assert drawn(0, 2) != drawn(0, 1)


def test_the_warning_of_a_jump_at_the_end_stands_in_the_printed_report(tmp_path):
    of = PROCESS["ten times faster in the last quarter"]
    rng = np.random.default_rng(3)
    calls = make_workload(of.shape, 600, from_time=0, to_time=7 * DAY, rng=rng)
    results = of.law(rng, calls.identities).results(calls, rng)
    write_dump(tmp_path / "dump.jsonl", calls, results, writers_are_seen=False)
    out = io.BytesIO()
    with analyze_inputs([str(tmp_path / "dump.jsonl")], SETTINGS, Silent()) as analysis:
        write_table(analysis.report, out, View())
    assert analysis.report.rules
    assert Danger.LATE.is_told(json.dumps(rule.evidence) for rule in analysis.report.rules)
    assert "Beware      lookup: results changed " in out.getvalue().decode()


def test_results_are_kept_and_not_simulated_again(tmp_path, capsys):
    results = tmp_path / "results.jsonl"

    def table() -> str:
        options = ["--runs", "100", "--process", "constant", "--dumps", "2"]
        simulate_script.main([*options, "--results", str(results)])
        return capsys.readouterr().out

    two = table()
    kept = results.read_bytes()
    assert [json.loads(line)["dump"] for line in kept.splitlines()] == [0, 1]
    assert table() == two
    assert results.read_bytes() == kept
    results.write_bytes(kept[:-20])  # as a run leaves it that was killed
    assert table() == two
    whole = results.read_bytes()
    assert table() == two
    assert results.read_bytes() == whole


def some_dump(name: str, dump: int, stale_rate: float, *warnings: str) -> DumpResult:
    return DumpResult(
        name, 600, dump, 60.0, False, 1000, stale_rate, 40.0, 80.0, 50.0, warnings, None
    )


def test_the_table_counts_rules_that_break_their_promise_and_warnings():
    name = "all together daily"
    dumps = [some_dump(name, nth, 0.01) for nth in range(8)]
    dumps += [some_dump(name, 8, 0.0101, "changed together"), some_dump(name, 9, 0.5)]
    dumps.append(replace(dumps[0], dump=10, freshness_seconds=None, saved_seconds=0.0))
    assert exceeding(dumps) == dumps[8:10]
    assert table_of(dumps, 600).splitlines()[2:] == [
        "| all together daily | 11 | 91% | 1 min | 20.0% | 2.5% to 55.6% | 45% | 73% | 10% | 50% |"
    ]
    assert len(table_of(dumps, 3000).splitlines()) == 2


def test_a_table_takes_the_place_of_the_one_under_its_heading():
    page = (
        "# All\n\n## 600 runs\n\nSeed 1.\n\n| a |\n|---|\n| 1 |\n\n## 3,000 runs\n\n| a |\n| 2 |\n"
    )
    written = with_table(page, "| new |\n", 600)
    assert written == (
        "# All\n\n## 600 runs\n\nSeed 1.\n\n| new |\n\n## 3,000 runs\n\n| a |\n| 2 |\n"
    )
    assert with_table(written, "| b |\n", 3000).endswith("## 3,000 runs\n\n| b |\n")
    with pytest.raises(ValueError, match="no heading"):
        with_table(page, "| new |\n", 60)


@pytest.mark.skipif(
    importlib.util.find_spec("orjson") is None, reason="half a minute: with the benchmarks only"
)
def test_rules_break_their_promise_no_oftener_than_one_in_twenty_where_changes_are_independent():
    ruled = wrong = 0
    for of in PROCESSES:
        results = list(simulate(replace(of, later_runs=3000), 600, range(3), seed=2))
        if of.danger is None:
            ruled += sum(one.freshness_seconds is not None for one in results)
            wrong += len(exceeding(results))
    assert ruled >= 25
    assert binomial.lower(wrong, ruled, 0.001) <= 0.05
