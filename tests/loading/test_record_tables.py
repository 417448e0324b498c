"""Every span stands in one row of the record tables, whether it is a call or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.plan import plan_file
from visceral_cli.loading.piece_rows import PieceRows
from visceral_cli.loading.record_tables import insert_records, spans_told_once
from visceral_cli.loading.worker import read_rows
from visceral_cli.settings import Settings
from visceral_cli.store.database import temporary_store

SAMPLES = Path(__file__).parents[2] / "sample_traces"


def rows_of(path: Path) -> list[PieceRows]:
    settings = Settings()
    extractor = Extractor(settings.extract)
    plan = plan_file(InputFile(path, str(path), path.stat().st_size), settings)
    return [rows for piece in plan.pieces for rows in read_rows(piece, settings, extractor)]


@pytest.fixture
def three(tmp_path, span, export) -> PieceRows:
    """A span that is no call, between two that are."""
    who = {"gen_ai__conversation__id": "chat"}
    spans = [span(1, arguments={"q": 1}, **who), span(2, tool=None, **who), span(3, failed=True)]
    path = tmp_path / "spans.jsonl"
    path.write_text(export(spans) + "\n")
    (rows,) = rows_of(path)
    return rows


def stored(store: duckdb.DuckDBPyConnection, table: str = "_span_record") -> pa.Table:
    query = f"SELECT * EXCLUDE (file_id) FROM {table} ORDER BY record"
    return store.sql(query).to_arrow_table()


def with_columns(batch: pa.RecordBatch, **columns: list[object]) -> pa.RecordBatch:
    for name, values in columns.items():
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, pa.array(values, batch.schema.field(name).type))
    return batch


def test_only_a_span_that_is_no_call_has_a_row_of_its_own(three):
    with temporary_store() as store:
        assert insert_records(store, 0, 0, [three]) == 3
        own = stored(store, "_plain_span_record")
        assert own.column("record").to_pylist() == [1]
        assert stored(store).column("name").to_pylist() == [
            "execute_tool search",
            "step",
            "execute_tool search",
        ]


def test_records_count_on_from_piece_to_piece(three):
    with temporary_store() as store:
        assert insert_records(store, 0, 5, [three, three]) == 11
        assert stored(store).column("record").to_pylist() == [*range(5, 11)]
        calls = stored(store, "_call_record").column("record").to_pylist()
        assert calls == [5, 7, 8, 10]


@pytest.mark.parametrize(
    "differing",
    [
        {"position": [0, 1]},
        {"span_kind": [1, 2]},
        {"session": ["other", None]},
        {"user_id": [None, "someone"]},
        {"agent": ["someone", None]},
    ],
)
def test_a_call_that_cannot_stand_for_its_span_leaves_it_its_row(three, differing):
    calls = with_columns(three.calls, **differing)
    with temporary_store() as store:
        insert_records(store, 0, 0, [three, replace(three, calls=calls)])
        spans = stored(store)
        assert spans.slice(0, 3).drop(["record"]).equals(spans.slice(3).drop(["record"]))
        assert Counter(spans.column("record").to_pylist()) == Counter(range(6))
        own = stored(store, "_plain_span_record")
        assert own.column("record").to_pylist() == [1, 3, 4, 5]


@pytest.mark.parametrize(
    "path", [path for path in sorted(SAMPLES.iterdir()) if path.suffix not in (".md", ".py", "")]
)
def test_the_spans_of_a_store_are_those_that_were_read(path):
    pieces = rows_of(path)
    with temporary_store() as store:
        insert_records(store, 0, 0, pieces)
        told = stored(store).drop(["record"])
    read = pa.Table.from_batches([rows.spans for rows in pieces]).drop(["record"])
    assert told.select(read.schema.names).to_pylist() == read.to_pylist()


def test_rows_without_calls_keep_all_spans(three):
    spans, calls = spans_told_once(three.spans, three.calls.slice(0, 0))
    assert spans.equals(three.spans)
    assert calls.num_rows == 0
