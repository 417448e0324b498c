"""A span read by the plan of its keys gives what it gives by the whole table of conventions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_spans import SECOND_KEY_ONLY, spans

from visceral_cli.calls import key_plan
from visceral_cli.calls.extract import Extractor, Told
from visceral_cli.calls.key_plan import KeyPlans
from visceral_cli.ingest.read_file import read_whole_file
from visceral_cli.ingest.span import Span
from visceral_cli.settings import ExtractSettings


@contextmanager
def whole_rows() -> Iterator[None]:
    """Within, rows keep the keys that a span does not have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_plan, "narrowed", lambda row, keys: row)
        yield


def by_plan(spans: Iterable[Span]) -> list[Told]:
    extractor = Extractor(ExtractSettings())
    return [extractor.read(span) for span in spans]


def by_table(spans: Iterable[Span]) -> list[Told]:
    """Each span alone: nothing is remembered of the one before."""
    with whole_rows():
        return [Extractor(ExtractSettings()).read(span) for span in spans]


def test_plans_change_nothing_in_the_corpus(shared: Path) -> None:
    files = sorted((shared / "traces").rglob("*.otlp.jsonl"))
    assert files
    for file in files:
        spans = read_whole_file(file).spans
        assert by_plan(spans) == by_table(spans), file.name


def test_plans_change_nothing_in_the_sample_traces(sample_traces: Path) -> None:
    spans = [
        span
        for file in sorted(sample_traces.rglob("*.jsonl"))
        for span in read_whole_file(file).spans
    ][:2000]
    told = by_plan(spans)
    assert any(calls for calls, _, _ in told)
    assert told == by_table(spans)


@settings(max_examples=400, deadline=None)
@given(st.lists(spans(), min_size=1, max_size=6))
@example([SECOND_KEY_ONLY])
def test_plans_change_nothing_whatever_the_keys(made: list[Span]) -> None:
    assert by_plan([*made, *made]) == by_table([*made, *made])


def test_spans_with_the_same_keys_share_a_plan(span_of: Callable[..., Span]) -> None:
    plans = KeyPlans()
    first = plans.of(span_of({"a": 1, "b": 2}, scope="s"))
    assert plans.of(span_of({"a": 3, "b": None}, scope="s")) is first


@pytest.mark.parametrize(
    ("keys", "scope"), [(("b", "a"), "s"), (("a",), "s"), (("a", "b"), "t"), (("a", "b"), "")]
)
def test_other_keys_or_another_scope_have_another_plan(
    span_of: Callable[..., Span], keys: tuple[str, ...], scope: str
) -> None:
    plans = KeyPlans()
    first = plans.of(span_of({"a": 1, "b": 2}, scope="s"))
    assert plans.of(span_of(dict.fromkeys(keys), scope=scope)) is not first


def test_a_scope_is_not_taken_for_a_key(span_of: Callable[..., Span]) -> None:
    plans = KeyPlans()
    first = plans.of(span_of({"session.id": 1}, scope="a"))
    assert plans.of(span_of({}, scope="session.id")) is not first


@pytest.mark.parametrize(("keys", "is_kept"), [(62, True), (63, True), (64, False)])
def test_sets_of_many_keys_are_not_remembered(
    span_of: Callable[..., Span], keys: int, is_kept: bool
) -> None:
    plans = KeyPlans()
    span = span_of({f"key.{number}": number for number in range(keys)})
    assert (plans.of(span) is plans.of(span)) is is_kept


def test_what_is_remembered_is_bounded(span_of: Callable[..., Span]) -> None:
    plans = KeyPlans()
    first = plans.of(span_of({"first": 1}))
    for number in range(1500):
        plans.of(span_of({f"key.{number}": number}))
    assert plans.of(span_of({"first": 1})) is not first


def test_a_marker_of_ever_other_values_is_bounded(span_of: Callable[..., Span]) -> None:
    extractor = Extractor(ExtractSettings())
    plan = extractor.plan_of(span_of({"openinference.span.kind": "TOOL"}))
    for number in range(500):
        assert not extractor.calls(span_of({"openinference.span.kind": f"kind {number}"}))
        assert len(plan.candidates) <= 64
    assert extractor.calls(span_of({"openinference.span.kind": "TOOL"}))
