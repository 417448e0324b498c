"""Many spans read at once give what each of them gives alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_spans import attested_spans, columns_of, spans

from visceral_cli.calls.call_columns import FIELDS
from visceral_cli.calls.extract import Extractor, SpanContext
from visceral_cli.calls.read_columns import read_columns
from visceral_cli.calls.read_spans import SpansTold, read_spans
from visceral_cli.ingest.read_file import read_whole_file
from visceral_cli.ingest.span import Resource, Span
from visceral_cli.settings import ExtractSettings, ToolDeclaration

SETTINGS = (
    ExtractSettings(),
    ExtractSettings(namespace_attribute=None, principal_attribute="user.id"),
    ExtractSettings(
        namespace_attribute="gen_ai.agent.name",
        tools={
            "x": ToolDeclaration(vary=("city",), version="2", ignore_result=("$.city",)),
            "search": ToolDeclaration(error_key="city", error_prefix=""),
        },
    ),
)


def together(made: Sequence[Span], chosen: ExtractSettings, first: int) -> tuple[object, ...]:
    told = SpansTold()
    who = read_spans(made, Extractor(chosen), first, told)
    columns = [told.calls.records, *(told.calls.fields[name] for name in FIELDS)]
    calls = sorted(zip(*columns, strict=True), key=lambda row: (row[0], row[4]))
    return calls, sorted(map(repr, told.mentions)), who


def one_by_one(made: Sequence[Span], chosen: ExtractSettings, first: int) -> tuple[object, ...]:
    extractor = Extractor(chosen)
    told = [extractor.read(span) for span in made]
    calls = [
        (record, *msgspec.structs.astuple(call))
        for record, (found, _, _) in enumerate(told, first)
        for call in found
    ]
    mentions = [repr(mention) for _, found, _ in told for mention in found]
    return calls, sorted(mentions), [who for _, _, who in told]


def in_columns(made: Sequence[Span], chosen: ExtractSettings, first: int) -> tuple[object, ...]:
    columns, told = columns_of(made), SpansTold()
    who = read_columns(columns, Extractor(chosen), first, told)
    found = [told.calls.records, *(told.calls.fields[name] for name in FIELDS)]
    calls = sorted(zip(*found, strict=True), key=lambda row: (row[0], row[4]))
    belongs = [SpanContext(*one) for one in zip(who.session, who.user, who.agent, strict=True)]
    return calls, sorted(map(repr, told.mentions)), belongs


def plain(made: Sequence[Span]) -> list[Span]:
    return [msgspec.structs.replace(span, events=[], dropped_attributes=0) for span in made]


@pytest.mark.parametrize("chosen", SETTINGS)
@settings(max_examples=150, deadline=None)
@given(made=st.lists(spans(), min_size=1, max_size=6))
def test_whatever_the_keys(made: list[Span], chosen: ExtractSettings) -> None:
    assert together([*made, *made], chosen, 3) == one_by_one([*made, *made], chosen, 3)


@pytest.mark.parametrize("chosen", SETTINGS)
@settings(max_examples=150, deadline=None)
@given(made=st.lists(spans(), min_size=1, max_size=6).map(plain))
def test_in_columns_whatever_the_keys(made: list[Span], chosen: ExtractSettings) -> None:
    assert columns_of(made).spans() == made
    assert in_columns([*made, *made], chosen, 3) == one_by_one([*made, *made], chosen, 3)


@pytest.mark.parametrize("chosen", SETTINGS)
@settings(max_examples=300, deadline=None)
@given(made=st.lists(attested_spans(), min_size=1, max_size=4))
def test_in_columns_whatever_is_attested(made: list[Span], chosen: ExtractSettings) -> None:
    assert in_columns([*made, *made], chosen, 3) == one_by_one([*made, *made], chosen, 3)


@settings(max_examples=150, deadline=None)
@given(made=st.lists(spans(), min_size=1, max_size=6).map(plain))
def test_what_is_read_lazily_is_read_or_noted(made: list[Span]) -> None:
    told, whole = SpansTold(), SpansTold()
    read_columns(columns_of(made), Extractor(ExtractSettings()), 0, told, lazily=True)
    read_columns(columns_of(made), Extractor(ExtractSettings()), 0, whole)
    assert told.calls.fields == whole.calls.fields
    columns = (whole.calls.fields[name] for name in ("call_id", "identity_missing"))
    lacking = [
        call_id
        for call_id, missing in zip(*columns, strict=True)
        if call_id is not None and missing == "not-captured"
    ]
    if lacking:
        assert (told.mentions, told.unread) == (whole.mentions, set())
    else:
        asked = {mention.trace_id for mention in whole.mentions}
        noted = told.unread | {mention.trace_id for mention in told.mentions}
        assert asked <= noted


@pytest.mark.parametrize(
    ("lacks", "call_id", "unread"),
    [(True, "c-1", set()), (True, None, {f"{7:032x}"}), (False, "c-1", {f"{7:032x}"})],
)
def test_what_a_model_span_asks_for_is_read_beside_a_call_that_lacks_it(
    lacks: bool, call_id: str | None, unread: set[str]
) -> None:
    part = {"type": "tool_call", "id": "c-1", "name": "search", "arguments": {"q": "a"}}
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [part]}]),
    }
    call: dict[str, object] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.result": "1",
    }
    call |= {} if lacks else {"gen_ai.tool.call.arguments": '{"q":"a"}'}
    call |= {} if call_id is None else {"gen_ai.tool.call.id": call_id}
    spans_made = columns_of([made(1, dict[str, object](chat)), made(2, call)])
    told = SpansTold()
    read_columns(spans_made, Extractor(ExtractSettings()), 0, told, lazily=True)
    assert told.unread == unread
    assert [mention.call_id for mention in told.mentions] == ([] if unread else ["c-1"])


def test_in_the_corpus(shared: Path) -> None:
    files = sorted((shared / "traces").rglob("*.otlp.jsonl"))
    assert files
    for file in files:
        read = read_whole_file(file).spans
        for chosen in SETTINGS:
            assert together(read, chosen, 0) == one_by_one(read, chosen, 0), file.name
            read = plain(read)
            assert in_columns(read, chosen, 0) == one_by_one(read, chosen, 0), file.name


def test_in_the_sample_traces(sample_traces: Path) -> None:
    files = sorted(sample_traces.rglob("*.jsonl"))
    read = [span for file in files for span in read_whole_file(file).spans][:2000]
    calls, mentions, who = together(read, SETTINGS[0], 0)
    assert calls
    assert (calls, mentions, who) == one_by_one(read, SETTINGS[0], 0)
    assert in_columns(plain(read), SETTINGS[0], 0) == one_by_one(plain(read), SETTINGS[0], 0)


def made(number: int, attributes: dict[str, object], **fields: object) -> Span:
    base = Span(f"{7:032x}", f"{number:016x}", None, "search", 10, 20, attributes, Resource())
    return msgspec.structs.replace(base, **fields)


def test_alike_spans_of_other_services_and_outcomes_stay_apart() -> None:
    told = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": '{"q":"a"}',
        "gen_ai.tool.call.result": '{"n":1}',
        "gen_ai.tool.call.id": "c-1",
    }
    one, other = Resource({"service.name": "one"}), Resource({"service.name": "other"})
    alike = [
        made(1, told, resource=one),
        made(2, told | {"gen_ai.tool.name": "(merged tools)"}, resource=one),
        made(3, told | {"gen_ai.tool.call.arguments": {"q": "a"}}, resource=other, status=2),
        made(4, told | {"gen_ai.tool.name": "", "gen_ai.tool.call.id": None}, resource=other),
        made(5, told | {"gen_ai.tool.call.result": "Error: none"}, resource=one),
        made(6, told, resource=one, dropped_attributes=1),
    ]
    calls, _, _ = together(alike, SETTINGS[0], 0)
    assert calls == one_by_one(alike, SETTINGS[0], 0)[0]
    assert in_columns(alike[:5], SETTINGS[0], 0)[0] == calls[:4]
    services = [row[1 + FIELDS.index("service")] for row in calls]
    failed = [row[1 + FIELDS.index("failed")] for row in calls]
    assert services == ["one", "other", "other", "one", "one"]
    assert failed == [False, True, False, True, False]
