"""A span read by the plan of its keys gives what it gives by the whole table of conventions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from visceral_cli.calls import key_plan
from visceral_cli.calls.conventions import (
    AGENT_KEYS,
    CONVENTIONS,
    MARKER_KEYS,
    SESSION_KEYS,
    USER_KEYS,
)
from visceral_cli.calls.extract import Extractor, Told
from visceral_cli.calls.key_plan import KeyPlans
from visceral_cli.ingest.read_file import read_whole_file
from visceral_cli.ingest.span import Event, Resource, Span
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


def _keys_of_table() -> Iterator[str]:
    yield from (*MARKER_KEYS, *SESSION_KEYS, *USER_KEYS, *AGENT_KEYS)
    for row in CONVENTIONS:
        for keys in (row.tool, row.arguments, row.result, row.call_id, row.cost, row.version):
            yield from keys
        yield from (key for key, _ in (*row.failed_if, *row.requires))
        yield from (key for key in (row.argument_mime, row.result_mime, row.schema) if key)
        yield from row.unless
        if row.server_side:
            yield row.server_side[0]


PARTS = (
    "visceral.input.ciphertext", "visceral.input.iv", "visceral.input.tag",
    "visceral.output.ciphertext", "visceral.output.iv", "visceral.output.tag",
    "visceral.tool.input_hash", "visceral.tool.hash_v", "visceral.tool.readonly",
    "visceral.tool.vary", "retrieval.documents.0.document.content", "retrieval.top_k",
    "reranker.output_documents.0.document.id", "reranker.query", "embedding.model_name",
    "input.value.city", "output.value.0", "gen_ai.tool.call.arguments.a.0",
    "gen_ai.completion.0.tool_calls.0.name", "gen_ai.completion.0.tool_calls.0.id",
    "gen_ai.completion.0.tool_calls.0.arguments", "service.name", "events", "note",
)  # fmt: skip
KEYS = tuple(dict.fromkeys((*_keys_of_table(), *PARTS)))
VALUES = (
    None, "", "x", "{}", '{"city":"Berlin"}', '{"city": "Bonn"}', "[1, 2]", "application/json",
    "Error: no", "ERROR", "7", 7, 0.5, True, ["a"], {"city": "Berlin"}, "a" * 16,
    "MTIzNDU2Nzg5MDEy", "MTIzNDU2Nzg5MDEyMzQ1Ng==", "promptflow", "service.mcp",
)  # fmt: skip
MARKS = tuple(
    (marker.key, value) for row in CONVENTIONS for marker in row.markers for value in marker.kinds
)
SCOPES = tuple(dict.fromkeys(scope for row in CONVENTIONS for scope in (*row.scopes, "")))
NAMES = ("execute_tool search", "ToolInvoker.run", "claude_code.tool", "Function: f", "a.start-1")
EVENTS = (
    Event("exception", {}),
    Event("gen_ai.tool.message", {"content": '{"city":"Berlin"}'}),
    Event("gen_ai.choice", {"message": "[]"}),
    Event("tool.output", {"input": "{}", "output": "1"}),
)


SECOND_KEY_ONLY = Span(
    "trace-1",
    "span-1",
    None,
    "search",
    1,
    2,
    {"openinference.span.kind": "TOOL", "gen_ai.tool.call.arguments": '{"city":"Berlin"}'},
    Resource(),
    scope="openinference.instrumentation.langchain",
)
"""Of this library only a text under the first of the keys would be a lone argument."""


@st.composite
def spans(draw: st.DrawFn) -> Span:
    attributes: dict[str, object] = dict(draw(st.lists(st.sampled_from(MARKS), max_size=2)))
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=8)):
        attributes.setdefault(key, draw(st.sampled_from(VALUES)))
    return Span(
        "trace-1",
        "span-1",
        None,
        draw(st.sampled_from(NAMES)),
        1,
        2,
        attributes,
        Resource(draw(st.sampled_from(({}, {"service.name": "agent"})))),
        draw(st.integers(0, 5)),
        draw(st.integers(0, 2)),
        "",
        draw(st.lists(st.sampled_from(EVENTS), max_size=1)),
        draw(st.sampled_from(SCOPES)),
        draw(st.sampled_from((0, 0, 1))),
    )


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
    plan = extractor._plan(span_of({"openinference.span.kind": "TOOL"}))
    for number in range(500):
        assert not extractor.calls(span_of({"openinference.span.kind": f"kind {number}"}))
        assert len(plan.candidates) <= 64
    assert extractor.calls(span_of({"openinference.span.kind": "TOOL"}))
