import gzip
import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from visceral_cli.ingest.parquet import read_parquet
from visceral_cli.ingest.span import DamageKind, Event, Reading

ReadBytes = Callable[..., Reading]

TRACE_ID = "3e289017fe03ffd7c4145316d2eb3d0d"


def parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def phoenix_table() -> pa.Table:
    start = pa.array([1735689600000001001, None], pa.timestamp("ns", "UTC"))
    return pa.table(
        {
            "name": ["search", "plan"],
            "span_kind": ["TOOL", "CHAIN"],
            "parent_id": [None, ""],
            "start_time": start,
            "end_time": pa.array([1735689601000000, 1735689601000000], pa.timestamp("us", "UTC")),
            "status_code": ["ERROR", "UNSET"],
            "context.span_id": ["75cdce51ad52a7c8", "75cdce51ad52a7c9"],
            "context.trace_id": [TRACE_ID, TRACE_ID],
            "attributes.input.value": ['{"q": 1}', None],
            "attributes.llm.token_count.total": [float("nan"), 7.0],
            "attributes.tool.parameters": [{"q": 1}, None],
            "events": [
                [
                    {
                        "name": "exception",
                        "timestamp": datetime(2025, 1, 1, tzinfo=UTC),
                        "attributes": {"exception.type": "E"},
                    }
                ],
                [],
            ],
        }
    )


def test_a_phoenix_dataframe_is_read(read_bytes: ReadBytes) -> None:
    reading = read_bytes(parquet(phoenix_table()))
    one, two = reading.spans
    assert one.attributes == {
        "input.value": '{"q": 1}',
        "tool.parameters": {"q": 1},
        "openinference.span.kind": "TOOL",
    }
    assert two.attributes == {
        "llm.token_count.total": 7.0,
        "openinference.span.kind": "CHAIN",
    }
    assert (one.start_ns, one.end_ns) == (1735689600000001001, 1735689601000000000)
    assert (two.start_ns, one.status, one.trace_id) == (None, 2, TRACE_ID)
    assert one.events == [Event("exception", {"exception.type": "E"})]
    assert reading.lines == 2
    assert not reading.damage


def test_the_span_id_may_be_the_index(read_bytes: ReadBytes) -> None:
    table = phoenix_table()
    names = [
        "__index_level_0__" if name == "context.span_id" else name for name in table.column_names
    ]
    reading = read_bytes(parquet(table.rename_columns(names)))
    assert [span.span_id for span in reading.spans] == ["75cdce51ad52a7c8", "75cdce51ad52a7c9"]


def test_a_langfuse_export_is_read_under_gzip_too(read_bytes: ReadBytes) -> None:
    table = pa.table(
        {
            "id": ["1b7200380e3316e7"],
            "trace_id": [TRACE_ID],
            "parent_observation_id": pa.array([None], pa.string()),
            "type": ["TOOL"],
            "name": ["get_weather"],
            "start_time": pa.array([1756237259145], pa.timestamp("ms")),
            "end_time": pa.array([1756237264988], pa.timestamp("ms")),
            "input": ['{"city": "Oslo"}'],
            "output": ["sunny"],
            "metadata": pa.array([[("thread_id", "t-1")]], pa.map_(pa.string(), pa.string())),
        }
    )
    for data in (parquet(table), gzip.compress(parquet(table))):
        (span,) = read_bytes(data).spans
        assert span.start_ns == 1756237259145000000
        assert span.attributes["langfuse.observation.input"] == '{"city": "Oslo"}'
        assert span.attributes["langfuse.observation.metadata.thread_id"] == "t-1"


def test_rows_of_no_known_shape_are_noted_by_their_columns(read_bytes: ReadBytes) -> None:
    reading = read_bytes(parquet(pa.table({"run_type": ["tool"], "dotted_order": ["x"]})))
    assert reading.damage[0].what == "an object with the keys run_type, dotted_order; left out"


def test_a_damaged_file_is_noted(read_bytes: ReadBytes) -> None:
    data = parquet(phoenix_table())
    reading = read_bytes(data[: len(data) // 2])
    assert not reading.spans
    assert reading.damage_counts == {DamageKind.COMPRESSION: 1}


def test_many_rows_come_in_parts(tmp_path: Path) -> None:
    rows = 2500
    table = pa.table(
        {"trace_id": ["1"] * rows, "span_id": [f"{n}" for n in range(rows)], "name": ["n"] * rows}
    )
    path = tmp_path / "many"
    pq.write_table(table, path)
    readings = list(read_parquet(str(path), seed="x"))
    assert [reading.lines for reading in readings] == [1000, 1000, 500]


@pytest.mark.parametrize("value", [b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_what_only_begins_like_parquet_does_not_raise(read_bytes: ReadBytes, value: bytes) -> None:
    assert read_bytes(value).damage_counts == {DamageKind.COMPRESSION: 1}
