"""Which arguments decide the result: the worked cases, from the search to the proof."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from visceral_cli.analysis.argument_values import argument_values, define_views
from visceral_cli.analysis.figures import VaryFigures
from visceral_cli.analysis.history import find_writers
from visceral_cli.analysis.judge_arguments import judge_arguments
from visceral_cli.analysis.vary import Choice, choose_arguments, find_pairs
from visceral_cli.analysis.vary_proof import looks_like_who
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import FreshnessSettings, Settings

Arguments = Mapping[str, object]


@dataclass(frozen=True)
class Case:
    """Call i at 10 i seconds, five calls to a run."""

    calls: int
    arguments: Callable[[int], Arguments]
    result: Callable[[int], object]


CASES = {
    "a request id": Case(2400, lambda i: {"q": i % 10, "req": i}, lambda i: i % 10),
    "the request id decides": Case(2400, lambda i: {"q": i % 10, "req": i}, lambda i: i),
    "few values": Case(
        2400, lambda i: {"q": i % 10, "lang": i // 10 % 2, "req": i}, lambda i: i % 10
    ),
    "a time as well": Case(2400, lambda i: {"q": i % 10, "req": i, "ts": 10 * i}, lambda i: i % 10),
    "the user matters for 5%": Case(
        4000,
        lambda i: {"q": i % 10, "user": 7 * i % 500},
        lambda i: (i % 10, 7 * i % 500 if 7 * i % 500 % 20 == 0 else None),
    ),
    "too short": Case(400, lambda i: {"q": i % 10, "req": i}, lambda i: i % 10),
}


@pytest.fixture
def stored(recorded, call):
    """Return a function that puts the calls of a case into a store."""

    def store_of(case: Case, **told: object):
        texts = [json.dumps(case.arguments(i), sort_keys=True) for i in range(case.calls)]
        calls = [
            call(start=10 * i, arguments=text, result=repr(case.result(i)), run=f"run-{i // 5}")
            for i, text in enumerate(texts)
        ]
        return recorded(*calls, texts=[(text, text) for text in dict.fromkeys(texts)])

    return store_of


def chosen(of) -> Choice | None:
    define_views(of.store)
    (arguments,) = argument_values(
        of.store, of.columns(), by_trace=False, least=lambda facts: (2, 2)
    )
    return choose_arguments(arguments, None, 0.01)


def proposed(of, settings: Settings | None = None) -> list[VaryFigures]:
    settings = settings or Settings()
    columns = of.columns(settings)
    judged = judge_arguments(of.store, columns, writers_of(columns), settings)
    return list(judged.proposals)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a request id", Choice(("q",), ("req",), 590, 0)),
        ("the request id decides", None),
        ("few values", Choice(("lang", "q"), ("req",), 580, 0)),
        ("a time as well", Choice(("q",), ("req", "ts"), 590, 0)),
        ("the user matters for 5%", None),
        ("too short", Choice(("q",), ("req",), 90, 0)),
    ],
)
def test_the_first_quarter_chooses_the_smallest_set(name, expected, stored):
    assert chosen(stored(CASES[name])) == expected


# The last accepted candidate is 300 s; nothing is claimed beyond the largest age compared.
@pytest.mark.parametrize(
    ("name", "vary", "seconds", "serves", "observations", "bound"),
    [
        ("a request id", ("q",), 300, 1350, 450, 0.006635),
        ("few values", ("lang", "q"), 200, 900, 900, 0.003323),
        ("a time as well", ("q",), 300, 1350, 450, 0.006635),
    ],
)
def test_the_rest_proves_it(name, vary, seconds, serves, observations, bound, stored):
    (found,) = proposed(stored(CASES[name]))
    assert (found.proven, found.vary, found.freshness_seconds) == (True, vary, seconds)
    assert (found.serves, found.stale) == (serves, 0)
    assert found.effective_observations == observations
    assert found.stale_rate_at_most == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("name", ["the request id decides", "the user matters for 5%"])
def test_what_results_depend_on_is_never_left_out(name, stored):
    assert proposed(stored(CASES[name])) == []


def test_a_set_without_evidence_enough_is_shown_with_what_it_lacks(stored):
    (found,) = proposed(stored(CASES["too short"]))
    assert not found.proven
    assert found.freshness_seconds is None
    assert found.missing


def test_the_gain_is_counted_in_calls_beyond_those_that_were_equal_anyway(stored):
    (found,) = proposed(stored(CASES["a request id"]))
    # Each of 10 questions every 100 s: of four calls within 300 s three are answered.
    assert found.more_reusable == 10 * 180
    assert (found.pairs, found.differing, found.calls) == (2390, 0, 2400)


def test_equal_calls_are_no_part_of_the_gain(recorded, call):
    # Every call is made twice, 5 s apart: that second one was reusable before.
    calls = [
        call(start=10 * i + again, arguments=text, result=str(i % 10), run=f"run-{i // 5}")
        for i in range(2400)
        for text in [json.dumps({"q": i % 10, "req": i})]
        for again in (0, 5)
    ]
    of = recorded(*calls, texts=[(c.arguments, c.arguments) for c in calls[::2]])
    (found,) = proposed(of)
    assert found.proven
    assert found.more_reusable < found.calls - 2400


def test_examples_are_span_ids_and_no_figure_holds_a_value(stored):
    case = Case(2400, lambda i: {"q": f"secret-{i % 10}", "req": f"token-{i}"}, lambda i: i % 10)
    (found,) = proposed(stored(case))
    assert len(found.witnesses) == 3
    assert found.witnesses[0].earlier_span_id == "span-00000"
    assert found.witnesses[0].later_span_id == "span-00010"
    assert found.counter_examples == ()
    assert "secret" not in repr(found)
    assert "token-" not in repr(found)


def test_counter_examples_are_named(stored):
    case = Case(2400, lambda i: {"q": i % 10, "req": i}, lambda i: i % 10 if i != 1205 else -1)
    (found,) = proposed(stored(case))
    assert found.differing == 2
    assert [one.later_span_id for one in found.counter_examples] == ["span-01205", "span-01215"]


@pytest.mark.parametrize(("values", "left_out"), [(29, False), (30, False), (31, True)])
def test_an_argument_with_few_values_stays_in_the_key(values, left_out, stored):
    # The first calls of each q have none before them, so 30 values weigh a little less than 30.
    case = Case(2400, lambda i: {"q": i % 7, "n": i % values}, lambda i: i % 7)
    found = chosen(stored(case))
    assert (found is not None) is left_out


def test_a_nearly_constant_result_tells_nothing(stored):
    # 4 of 1800 results are others: no set of arguments could be told from any other.
    case = Case(
        2400, lambda i: {"q": i % 40, "req": i}, lambda i: "odd" if i in (900, 1500) else "same"
    )
    assert chosen(stored(case)) is None


def test_a_constant_result_depends_on_nothing(stored):
    case = Case(2400, lambda i: {"q": i % 40, "req": i}, lambda i: "same")
    assert chosen(stored(case)) == Choice((), ("q", "req"), 599, 0)


def test_a_missing_argument_is_a_value_of_its_own(stored):
    case = Case(
        2400,
        lambda i: {"q": i % 10, "req": i, **({"deep": True} if i % 20 < 10 else {})},
        lambda i: (i % 10, i % 20 < 10),
    )
    found = chosen(stored(case))
    assert found is not None
    assert found.kept == ("deep", "q")


def test_one_and_one_point_zero_and_the_text_one_are_three_values(stored):
    forms = (1, 1.0, "1")
    case = Case(2400, lambda i: {"q": forms[i % 3], "req": i}, lambda i: i % 3)
    found = chosen(stored(case))
    assert found is not None
    assert found.differing == 0
    assert found.pairs == 600 - 3


def test_names_that_tell_who_asks_need_a_review(stored):
    case = Case(2400, lambda i: {"q": i % 10, "user_id": i}, lambda i: i % 10)
    (found,) = proposed(stored(case))
    assert found.needs_review == ("user_id",)
    (other,) = proposed(stored(CASES["a request id"]))
    assert other.needs_review == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tenant", True),
        ("UserId", True),
        ("account_no", True),
        ("sessionId", True),
        ("req", False),
        ("ts", False),
    ],
)
def test_who_asks_is_told_by_the_name(name, expected):
    assert looks_like_who(name) is expected


def test_a_writer_between_two_calls_excuses_the_difference(stored):
    of = stored(Case(200, lambda i: {"q": 0, "req": i}, lambda i: i))
    define_views(of.store)
    (arguments,) = argument_values(
        of.store, of.columns(), by_trace=False, least=lambda facts: (2, 2)
    )
    key = arguments.key(("q",))
    assert find_pairs(arguments, key, None).differing == 199
    second = 1_000_000_000
    at = np.array([15 * second], dtype=np.int64)
    writers = find_writers(np.zeros(1, dtype=np.int32), at, at)
    assert find_pairs(arguments, key, writers).differing == 198


def test_pairs_are_at_most_an_hour_apart(recorded, call):
    starts = [0, 3600, 7200.5]
    texts = [json.dumps({"req": i}) for i in range(3)]
    calls = [call(start=s, arguments=t) for s, t in zip(starts, texts, strict=True)]
    of = recorded(*calls, texts=[(t, t) for t in texts])
    define_views(of.store)
    (arguments,) = argument_values(
        of.store, of.columns(), by_trace=False, least=lambda facts: (2, 2)
    )
    pairs = find_pairs(arguments, arguments.key(()), None)
    assert pairs.later.tolist() == [1]


def test_nothing_is_looked_for_when_the_user_says_so(stored):
    assert proposed(stored(CASES["a request id"]), Settings(find_vary=False)) == []


def test_without_texts_nothing_is_found(recorded, call):
    calls = [call(start=10 * i, arguments=f"{i}", run=f"run-{i // 5}") for i in range(2400)]
    assert proposed(recorded(*calls)) == []


def test_the_tolerated_rate_decides(stored):
    # 1.7% of the pairs in each part differ.
    case = Case(4800, lambda i: {"q": i % 10, "req": i}, lambda i: i % 10 if i % 120 else -1)
    strict = proposed(stored(case))
    loose = proposed(stored(case), Settings(freshness=FreshnessSettings(max_stale_rate=0.05)))
    assert strict == []
    assert [one.vary for one in loose] == [("q",)]
