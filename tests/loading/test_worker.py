"""A piece becomes the same rows whether spans are kept until its end or taken away by the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.read_spans import SpansTold, read_spans
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.plan import plan_file
from visceral_cli.ingest.read_file import read_whole_file
from visceral_cli.ingest.span import Reading, Resource, Span
from visceral_cli.loading import worker
from visceral_cli.loading.piece_rows import PieceRows
from visceral_cli.loading.record_tables import spans_told_once
from visceral_cli.loading.rows import (
    SpanRows,
    call_batch,
    hashes_of_kept_arguments,
    short_call_batch,
)
from visceral_cli.loading.worker import read_rows
from visceral_cli.settings import ExtractSettings, Settings

Json = dict[str, Any]
SAMPLES = Path(__file__).parents[2] / "sample_traces"


def rows_of(path: Path, settings: Settings) -> list[PieceRows]:
    file = InputFile(path, str(path), path.stat().st_size)
    extractor = Extractor(settings.extract)
    pieces = plan_file(file, settings).pieces
    return [rows for piece in pieces for rows in read_rows(piece, settings, extractor)]


@pytest.fixture
def lines(tmp_path: Path, span: Callable[..., Json], export: Callable[..., str]) -> Path:
    """Three lines with calls and other spans, one of them damaged, one with empty ids."""
    nameless = span(0, tool=None) | {"spanId": "", "traceId": ""}
    asked = [{"parts": [{"type": "tool_call", "id": "c", "name": "search", "arguments": {}}]}]
    told = {"gen_ai__output__messages": json.dumps(asked)}
    text = [
        export([span(1, arguments={"q": 1}, result={"n": 1}), span(2, tool=None, **told)]),
        "{damaged",
        export([nameless, nameless, span(3, arguments={"q": 2}, result="x")]),
    ]
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(text) + "\n")
    return path


def test_spans_taken_away_by_the_line_are_those_of_the_whole_reading(lines: Path) -> None:
    (rows,) = rows_of(lines, Settings())
    whole = read_whole_file(lines)
    assert rows.spans.column("span_id").to_pylist() == [span.span_id for span in whole.spans]
    assert rows.spans.column("record").to_pylist() == [0, 1, 2, 3, 4]
    assert rows.calls.column("record").to_pylist() == [0, 4]
    assert rows.mentions.column("call_id").to_pylist() == ["c"]
    assert (rows.lines, rows.damage) == (3, whole.damage)


@pytest.mark.parametrize("at_once", [1, 10, 1000])
@pytest.mark.parametrize("order", ["mfmdsmm", "fmm", "mmf", "mdm", "mm"])
def test_lines_of_many_spans_keep_their_place_among_others(
    tmp_path: Path,
    span: Callable[..., Json],
    export: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    order: str,
    at_once: int,
) -> None:
    """``m`` is a line of many spans, ``f`` of few, ``s`` many of which one is snake case."""
    monkeypatch.setattr(worker, "SPANS_AT_ONCE", at_once)
    lines = []
    for place, kind in enumerate(order):
        spans = [
            span(20 * place + n, tool=None if n % 3 else "search", arguments={"q": n}, result=n)
            for n in range(2 if kind == "f" else 12)
        ]
        if kind == "s":
            spans[4]["start_time_unix_nano"] = spans[4].pop("startTimeUnixNano")
        lines.append("{damaged" if kind == "d" else export(spans))
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join(lines) + "\n")
    (rows,) = rows_of(path, Settings())
    whole = read_whole_file(path).spans
    assert rows.spans.column("span_id").to_pylist() == [span.span_id for span in whole]
    assert rows.spans.column("attributes").to_pylist() == [len(one.attributes) for one in whole]
    extractor = Extractor(ExtractSettings())
    told = [
        (record, call.input_hash, call.content_hash)
        for record, one in enumerate(whole)
        for call in extractor.calls(one)
    ]
    columns = ("record", "input_hash", "content_hash")
    found = zip(*(rows.calls.column(name).to_pylist() for name in columns), strict=True)
    assert sorted(found) == told != []


def span_between(start_ns: int | None, end_ns: int | None) -> Span:
    return Span("t", "s", None, "a", start_ns, end_ns, {}, Resource())


@pytest.mark.parametrize(
    ("start", "end", "kept"),
    [
        (1, 1, (1, 1)),
        (1, 2, (1, 2)),
        (2, 1, (None, None)),
        (0, 1, (None, None)),
        (-1, 1, (None, None)),
        (None, 1, (None, None)),
        (1, None, (None, None)),
        (1, 2**63 - 1, (1, 2**63 - 1)),
        (1, 2**63, (None, None)),
    ],
)
def test_an_impossible_interval_is_none_and_costs_no_other_its_own(
    start: int | None, end: int | None, kept: tuple[int | None, int | None]
) -> None:
    rows = SpanRows()
    spans = [span_between(start, end), span_between(5, 6)]
    who = Extractor(ExtractSettings()).context(spans[0])
    rows.add(spans, [who, who])
    batch = rows.batch()
    assert batch.column("start_ns").to_pylist() == [kept[0], 5]
    assert batch.column("end_ns").to_pylist() == [kept[1], 6]


def test_columns_that_tell_nothing_keep_their_type() -> None:
    rows = SpanRows()
    span = span_between(1, 2)
    rows.add([span], [Extractor(ExtractSettings()).context(span)])
    batch = rows.batch()
    assert batch.column("session").to_pylist() == [None]
    assert batch.schema.field("session").type == pa.string()
    assert SpanRows().batch().schema == batch.schema


@given(st.lists(st.sampled_from([None, "", "a", "b", "\ud800"]), max_size=7))
def test_a_column_holds_what_it_is_given_whether_all_are_alike_or_not(
    parents: list[str | None],
) -> None:
    rows = SpanRows()
    spans = [Span("t", "s", parent, "a", 1, 2, {}, Resource()) for parent in parents]
    who = Extractor(ExtractSettings()).context(span_between(1, 2))
    rows.add(spans, [who] * len(spans))
    batch = rows.batch()
    expected = [parent and parent.replace("\ud800", "?") for parent in parents]
    assert batch.column("parent_span_id").to_pylist() == expected
    assert batch.column("name").to_pylist() == ["a"] * len(spans)
    assert batch.column("kind").to_pylist() == [0] * len(spans)
    assert batch.schema == SpanRows().batch().schema


@given(st.lists(st.sampled_from([None, "", "desk", "kiosk"]), max_size=7))
def test_each_span_is_of_the_service_of_its_own_resource(names: list[str | None]) -> None:
    rows = SpanRows()
    spans = [
        Span(
            "t", "s", None, "a", 1, 2, {}, Resource({} if name is None else {"service.name": name})
        )
        for name in names
    ]
    who = Extractor(ExtractSettings()).context(span_between(1, 2))
    rows.add(spans, [who] * len(spans))
    assert rows.batch().column("service").to_pylist() == [name or None for name in names]


@pytest.mark.parametrize(
    "path", [path for path in sorted(SAMPLES.iterdir()) if path.suffix not in (".md", ".py", "")]
)
def test_calls_have_from_the_rows_of_their_spans_what_they_would_tell(path: Path) -> None:
    extractor, told, rows = Extractor(ExtractSettings()), SpansTold(), SpanRows()
    spans = read_whole_file(path).spans
    rows.add(spans, read_spans(spans, extractor, 0, told))
    hashes = hashes_of_kept_arguments(told.calls, ExtractSettings())
    short = short_call_batch(told.calls, hashes)
    whole = call_batch(told.calls, hashes)
    assert set(whole.schema.names) - set(short.schema.names) >= {"trace_id", "start_ns", "service"}
    _, completed = spans_told_once(rows.batch(), short)
    assert completed.select(whole.schema.names).equals(whole)


def test_a_reading_without_spans_makes_rows_of_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"resourceSpans":[]}\n\n')
    assert not read_whole_file(path).spans
    for rows in rows_of(path, Settings()):
        assert (rows.spans.num_rows, rows.calls.num_rows) == (0, 0)
    assert not Reading().spans
