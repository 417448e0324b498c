"""A piece becomes the same rows whether spans are kept until its end or taken away by the line."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.read_file import plan_file, read_whole_file
from visceral_cli.ingest.span import Reading, Resource, Span
from visceral_cli.loading.rows import SpanRows
from visceral_cli.loading.worker import PieceRows, read_rows
from visceral_cli.settings import ExtractSettings, Settings

Json = dict[str, Any]
BATCHES = ("spans", "calls", "mentions", "arguments", "results")


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


def test_rows_travel_between_processes_unchanged(lines: Path) -> None:
    (rows,) = rows_of(lines, Settings(extract=ExtractSettings(keep_text=True)))
    arrived = pickle.loads(pickle.dumps(rows))
    assert rows.arguments.num_rows == 2
    for name in BATCHES:
        batch = getattr(arrived, name)
        assert batch.equals(getattr(rows, name)), name
        assert batch.schema == getattr(rows, name).schema, name
    assert (arrived.damage, arrived.lines, arrived.input_bytes) == (
        rows.damage,
        rows.lines,
        rows.input_bytes,
    )


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


def test_a_reading_without_spans_makes_rows_of_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"resourceSpans":[]}\n\n')
    assert not read_whole_file(path).spans
    for rows in rows_of(path, Settings()):
        assert (rows.spans.num_rows, rows.calls.num_rows) == (0, 0)
    assert not Reading().spans
