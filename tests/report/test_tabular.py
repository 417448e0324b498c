from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet
import pytest

from visceral_cli.report.report import Report
from visceral_cli.report.tabular import rows_of, write_csv, write_jsonl, write_parquet
from visceral_cli.report.view import Rows

REPORT_ROWS = [rows for rows in Rows if rows is not Rows.CALLS]


def written(
    write: Callable[[pa.RecordBatchReader, io.BytesIO], None], report: Report, rows: Rows
) -> bytes:
    out = io.BytesIO()
    write(rows_of(report, rows), out)
    return out.getvalue()


@pytest.mark.parametrize("rows", REPORT_ROWS)
def test_the_csv_is_the_golden_one(
    report: Report, golden: Callable[[str, bytes], None], rows: Rows
) -> None:
    golden(f"{rows}.csv", written(write_csv, report, rows))


@pytest.mark.parametrize("rows", [Rows.GROUPS, Rows.RULES])
def test_the_json_lines_are_the_golden_ones(
    report: Report, golden: Callable[[str, bytes], None], rows: Rows
) -> None:
    golden(f"{rows}.jsonl", written(write_jsonl, report, rows))


def test_csv_keeps_names_whole_and_null_apart_from_empty(report: Report) -> None:
    text = written(write_csv, report, Rows.GROUPS).decode()
    row = list(csv.DictReader(io.StringIO(text, newline="")))[1]
    assert row["tool"] == report.groups[1].tool
    assert text.splitlines()[0].startswith('"namespace","tool"')
    assert text.split("\n", 2)[2].startswith('"",'), "an empty text is quoted"
    assert ',"tool",,"000' in text, "a null is not"


@pytest.mark.parametrize("rows", REPORT_ROWS)
def test_parquet_and_json_lines_hold_the_same_rows(report: Report, rows: Rows) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(written(write_parquet, report, rows)))
    lines = [json.loads(line) for line in written(write_jsonl, report, rows).splitlines()]
    assert len(lines) == table.num_rows > 0
    for column in table.schema.names:
        expected = [None if cell != cell else cell for cell in table[column].to_pylist()]
        assert [line[column] for line in lines] == expected


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_parquet])
def test_rows_are_written_batch_by_batch(
    write: Callable[[pa.RecordBatchReader, io.BytesIO], None],
) -> None:
    schema = pa.schema([("n", pa.int64()), ("names", pa.list_(pa.string()))])
    taken: list[int] = []

    class Watched(io.BytesIO):
        longest = 0

        def write(self, data: bytes) -> int:
            self.longest = max(self.longest, len(data))
            return super().write(data)

    def batches() -> object:
        for number in range(100):
            taken.append(number)
            names = [["a", "b"], None] * 500
            yield pa.record_batch([pa.array(range(1000)), pa.array(names)], schema=schema)

    out = Watched()
    write(pa.RecordBatchReader.from_batches(schema, batches()), out)
    assert len(taken) == 100
    assert out.longest < len(out.getvalue()) / 10


def test_a_report_without_rows_still_has_its_columns(report: Report) -> None:
    from msgspec.structs import replace

    empty = replace(report, groups=())
    assert written(write_csv, empty, Rows.GROUPS).startswith(b'"namespace","tool"')
    assert written(write_jsonl, empty, Rows.GROUPS) == b""
