"""Rows of an answer as Arrow tables, and as CSV, JSON lines and Parquet: all rows, in order.

A missing value is ``null``; in CSV an empty cell, where an empty text is ``""``. Lists are one cell
of CSV, joined by spaces.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, BinaryIO, get_type_hints

import msgspec
import pyarrow as pa
import pyarrow.csv

from visceral_cli.analysis.figures import Finding, FunnelStep, GroupFigures, ToolFigures
from visceral_cli.contract.rule import Rule
from visceral_cli.report.report import BoundFigures, Report
from visceral_cli.report.view import Rows
from visceral_cli.rules.refusal import Refusal

_KINDS: Mapping[Rows, type[msgspec.Struct]] = {
    Rows.TOOLS: ToolFigures,
    Rows.GROUPS: GroupFigures,
    Rows.CANDIDATES: BoundFigures,
    Rows.REFUSALS: Refusal,
    Rows.FINDINGS: Finding,
    Rows.FUNNEL: FunnelStep,
}

_TYPES: Mapping[str, pa.DataType] = {
    "str": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "tuple[str, ...]": pa.list_(pa.string()),
}

BATCH_ROWS = 10_000
"""Rows that are held at once; of a large input there are many."""

_RULE_COLUMNS = pa.schema(
    [
        ("decision_id", pa.string()),
        ("status", pa.string()),
        ("rule_kind", pa.string()),
        ("namespace", pa.string()),
        ("tool", pa.string()),
        ("input_hash", pa.string()),
        ("hash_v", pa.int64()),
        ("scope", pa.string()),
        ("read_only", pa.bool_()),
        ("replay_safe", pa.bool_()),
        ("op", pa.string()),
        ("freshness_seconds", pa.float64()),
        ("verify_sample_rate", pa.float64()),
        ("evidence", pa.string()),
    ]
)


def rows_of(report: Report, rows: Rows) -> pa.RecordBatchReader:
    """Return the rows of a report. Calls are not in a report: the pipeline hands them out."""
    if rows is Rows.RULES:
        return _in_batches(report.rules, _RULE_COLUMNS, _rule_row)
    found: Mapping[Rows, Sequence[object]] = {
        Rows.TOOLS: report.tools,
        Rows.GROUPS: report.groups,
        Rows.CANDIDATES: [bound for bound in report.bounds if not bound.proven],
        Rows.REFUSALS: report.refusals,
        Rows.FINDINGS: report.findings,
        Rows.FUNNEL: report.funnel,
    }
    schema = schema_of(_KINDS[rows])
    return _in_batches(
        found[rows], schema, lambda row: {name: _cell(getattr(row, name)) for name in schema.names}
    )


def _in_batches(
    rows: Sequence[Any], schema: pa.Schema, row_of: Callable[[Any], Mapping[str, Any]]
) -> pa.RecordBatchReader:
    batches = (
        pa.RecordBatch.from_pylist(
            [row_of(row) for row in rows[first : first + BATCH_ROWS]], schema=schema
        )
        for first in range(0, len(rows), BATCH_ROWS)
    )
    return pa.RecordBatchReader.from_batches(schema, batches)


def schema_of(kind: type[msgspec.Struct]) -> pa.Schema:
    """Return the columns of a struct: its fields, in order."""
    hints = get_type_hints(kind)
    return pa.schema([(name, _type_of(hints[name])) for name in kind.__struct_fields__])


def _type_of(hint: Any) -> pa.DataType:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return pa.string()
    name = str(hint) if "[" in str(hint) else getattr(hint, "__name__", str(hint))
    return _TYPES[name.removesuffix(" | None")]


def _cell(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _rule_row(rule: Rule) -> dict[str, Any]:
    evidence = rule.evidence
    return {
        "decision_id": rule.decision_id,
        "status": rule.status.value,
        "rule_kind": rule.kind.value,
        "namespace": rule.match.namespace,
        "tool": rule.match.tool_name,
        "input_hash": rule.match.input_hash,
        "hash_v": rule.match.hash_v,
        "scope": None if rule.match.scope is None else rule.match.scope.value,
        "read_only": rule.guard.read_only,
        "replay_safe": rule.guard.replay_safe,
        "op": rule.action.op,
        "freshness_seconds": rule.action.freshness_seconds,
        "verify_sample_rate": rule.action.verify_sample_rate,
        "evidence": None if evidence is None else json.dumps(dict(evidence)),
    }


def write_csv(rows: pa.RecordBatchReader, out: BinaryIO) -> None:
    """Write a heading and a line for each row, batch by batch."""
    schema = pa.schema([field.with_type(_flat(field.type)) for field in rows.schema])
    with pyarrow.csv.CSVWriter(out, schema) as writer:
        for batch in rows:
            columns = [_flattened(column) for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _flat(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_list(kind) else kind


def _flattened(column: pa.Array) -> pa.Array:
    if not pa.types.is_list(column.type):
        return column
    joined = [None if cell is None else " ".join(cell) for cell in column.to_pylist()]
    return pa.array(joined, pa.string())


def write_jsonl(rows: pa.RecordBatchReader, out: BinaryIO) -> None:
    """Write one JSON object a line, in ASCII, batch by batch."""
    for batch in rows:
        names = batch.schema.names
        columns = [column.to_pylist() for column in batch.columns]
        lines = (
            json.dumps(dict(zip(names, _finite(row), strict=True)))
            for row in zip(*columns, strict=True)
        )
        out.write("".join(f"{line}\n" for line in lines).encode("ascii"))


def _finite(row: Iterable[Any]) -> Iterator[Any]:
    return (None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row)


def write_parquet(rows: pa.RecordBatchReader, out: BinaryIO) -> None:
    """Write a Parquet file, batch by batch."""
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - other formats do without

    with ParquetWriter(out, rows.schema, compression="zstd") as writer:
        for batch in rows:
            writer.write_batch(batch)
