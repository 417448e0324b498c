"""Every safe repeat is found and nothing else is, whatever the order and the files of the spans."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_truth import EVERYWHERE, Truth, World, make_world
from recorded_span import as_file

from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.settings import Settings

Row = dict[str, object]


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=20260302)


def write_files(world: World, folder: Path, seed: int) -> list[Path]:
    """Spans in another order, some exported twice, over files of several kinds."""
    rng = random.Random(seed)
    spans = list(world.spans)
    spans += rng.sample(spans, len(spans) // 20)
    rng.shuffle(spans)
    paths = []
    while spans:
        size = rng.randrange(1, 2 * len(world.spans) // 3)
        kind = rng.choice(("json", "json.gz", "proto"))
        path = folder / f"part-{len(paths):03d}.{rng.randrange(100):02d}.{kind}"
        path.write_bytes(as_file(spans[:size], kind, rng.choice((1, 17, 200))))
        del spans[:size]
        paths.append(path)
    rng.shuffle(paths)
    return paths


def analysed(world: World, folder: Path, seed: int) -> tuple[list[Row], float]:
    """All rows of the calls, under the span ids of the truth; the seconds of the report."""
    paths = write_files(world, folder, seed)
    with analyze_inputs(tuple(map(str, paths)), Settings(), Silent()) as analysis:
        rows = analysis.calls(show_arguments=False).read_all().to_pylist()
        seconds = analysis.report.totals.repeat_seconds
    for row in rows:
        for key in ("span_id", "source_span_id"):
            row[key] = world.also_told_by.get(row[key], row[key])
    return rows, seconds


@pytest.fixture(scope="module", params=range(4), ids=lambda seed: f"split {seed}")
def found(
    request: pytest.FixtureRequest, world: World, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Row], float]:
    rows, seconds = analysed(world, tmp_path_factory.mktemp("split"), request.param)
    assert Counter(row["span_id"] for row in rows) == Counter(world.truths.keys())
    return {str(row["span_id"]): row for row in rows}, seconds


def reusable(truths: dict[str, Truth]) -> set[str]:
    return {span_id for span_id, truth in truths.items() if "reusable" in truth.verdicts}


def test_recall_and_precision_on_reusable_calls_are_one(
    world: World, found: tuple[dict[str, Row], float]
) -> None:
    rows, _ = found
    claimed = {span_id for span_id, row in rows.items() if row["verdict"] == "reusable"}
    true = reusable(world.truths)
    missed = Counter(world.truths[span_id].scenario for span_id in true - claimed)
    wrong = Counter(world.truths[span_id].scenario for span_id in claimed - true)
    assert (missed, wrong) == (Counter(), Counter())


def test_every_verdict_is_the_true_one(world: World, found: tuple[dict[str, Row], float]) -> None:
    rows, _ = found
    wrong = Counter(
        (truth.scenario, "|".join(sorted(truth.verdicts)), rows[span_id]["verdict"])
        for span_id, truth in world.truths.items()
        if rows[span_id]["verdict"] not in truth.verdicts
    )
    assert wrong == Counter()


def test_the_source_is_the_newest_finished_execution(
    world: World, found: tuple[dict[str, Row], float]
) -> None:
    rows, _ = found
    wrong = Counter(
        world.truths[span_id].scenario
        for span_id in reusable(world.truths)
        if rows[span_id]["source_span_id"] != world.truths[span_id].source
    )
    assert wrong == Counter()


def test_the_saved_tool_time_is_the_true_one_within_one_percent(
    world: World, found: tuple[dict[str, Row], float]
) -> None:
    rows, reported = found
    true = sum(world.truths[span_id].seconds for span_id in reusable(world.truths))
    in_rows = sum(
        float(str(row["duration_ns"])) for row in rows.values() if row["verdict"] == "reusable"
    )
    assert in_rows / 1e9 == pytest.approx(true, rel=0.01)
    assert reported == pytest.approx(true, rel=0.01)


@pytest.fixture(scope="module")
def small_world() -> World:
    stories = [(story, name) for story in EVERYWHERE for name in ("genai", "visceral")]
    return make_world(seed=1, rounds=1, stories=stories)


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32))
def test_any_order_and_any_split_of_the_files_gives_the_truth(
    seed: int, small_world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows, seconds = analysed(small_world, tmp_path_factory.mktemp("files"), seed)
    verdicts = {str(row["span_id"]): row["verdict"] for row in rows}
    truths = small_world.truths
    wrong = [truths[one].scenario for one in truths if verdicts[one] not in truths[one].verdicts]
    assert wrong == []
    true = sum(truths[span_id].seconds for span_id in reusable(truths))
    assert seconds == pytest.approx(true, rel=0.01)


def test_one_call_in_three_of_the_known_truth_can_be_answered(world: World) -> None:
    share = len(reusable(world.truths)) / len(world.truths)
    assert 0.2 < share < 0.5
    assert len(world.truths) > 1_000
