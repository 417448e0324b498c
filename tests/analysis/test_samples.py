"""Verify samples of known age, held to executions that the traces do not have."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.freshness import Bound, freshness_bounds
from visceral_cli.analysis.histories import histories
from visceral_cli.analysis.samples import with_sources
from visceral_cli.settings import FreshnessSettings

SECOND = 1_000_000_000


def sources(recorded_calls):
    """Return the calls of the only tool with what was put back, as seconds and results."""
    columns = recorded_calls.columns()
    (tool,) = histories(columns)
    found = with_sources(tool, columns)
    starts = (found.start_ns / SECOND).tolist()
    return list(zip(starts, found.identity.tolist(), found.content.tolist(), strict=True))


def test_the_execution_that_a_sample_was_held_to_is_put_back(recorded, call):
    history = recorded(call(100, 101, verify_match=True, served_start=40))
    assert sources(history) == [(40, 0, 0), (100, 0, 0)]


def test_what_did_not_match_equals_nothing(recorded, call):
    history = recorded(call(100, 101, verify_match=False, served_start=40), call(200, 201))
    assert sources(history) == [(40, 0, 1), (100, 0, 0), (200, 0, 0)]


@pytest.mark.parametrize(
    ("made", "put_back"), [(9, True), (10, False), (10.5, False), (11, False), (11.5, True)]
)
def test_an_execution_in_the_traces_is_not_put_back(recorded, call, made, put_back):
    history = recorded(call(10, 11), call(100, 101, verify_match=True, served_start=made))
    assert (len(sources(history)) == 3) is put_back


def test_samples_of_one_stored_result_put_back_one_and_a_mismatch_is_believed(recorded, call):
    history = recorded(
        call(100, 101, verify_match=True, served_start=40),
        call(110, 111, result="new", verify_match=False, served_start=40),
    )
    assert [start for start, _, _ in sources(history)] == [40, 100, 110]
    assert sources(history)[0][2] not in (0, 1)


@pytest.mark.parametrize(
    "sample",
    [
        {"verify_match": True},  # as the SDK records it
        {"verify_match": True, "served_start": 101},  # after the sample
        {"verify_match": True, "served_start": 40, "result": None},
        {"verify_match": True, "served_start": 40, "arguments": None},
    ],
)
def test_a_sample_that_tells_too_little_puts_nothing_back(recorded, call, sample):
    assert len(sources(recorded(call(100, 101, **sample)))) == 1


@pytest.mark.parametrize(("pairs", "proven"), [(298, False), (299, True)])
def test_samples_of_known_age_prove_a_freshness(recorded, call, pairs, proven):
    history = recorded(
        *(
            call(
                1000 * i + 60,
                arguments=f"a{i}",
                run=f"run-{i}",
                verify_match=True,
                served_start=1000 * i + 1,
            )
            for i in range(pairs)
        )
    )
    columns = history.columns()
    (tool,) = histories(columns)
    (bound,) = freshness_bounds([with_sources(tool, columns)], None, FreshnessSettings())
    assert isinstance(bound, Bound) is proven
    if proven:
        assert bound.freshness_ns == 59 * SECOND
