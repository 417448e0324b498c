"""Real files: what each of the corpus gives, and small ones of the same faults."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.errors import InputError
from visceral_cli.ingest.files import InputFile, find_files
from visceral_cli.ingest.plan import plan_file
from visceral_cli.ingest.read_file import read_file, read_whole_file
from visceral_cli.ingest.span import Reading, Span
from visceral_cli.settings import Settings

Line = Callable[..., bytes]
Build = Callable[..., dict[str, Any]]
ReadBytes = Callable[..., Reading]


class Expected(NamedTuple):
    """What one file gives, counted by hand in the file itself."""

    format: str
    spans: int
    logs: int = 0
    skipped: dict[str, int] = {}  # noqa: RUF012 - never changed
    damage: dict[str, int] = {}  # noqa: RUF012


PUBLIC = {
    "agentevals-jaeger-helm.json": Expected("json-lines", 8),
    "agentevals-tempo-batches.json": Expected("json-lines", 86),
    "agentflow-otlp-openinference.json": Expected("json", 3),
    "agntcy-jaeger-get-inventory.json": Expected("json-lines", 24),
    "batches-base64-ids.json": Expected("json", 3),
    "batches-upper-hex-ids.json": Expected("json", 3),
    "chaosrank-tempo-nonhex-ids.json": Expected("json", 31),
    "duckdb-otlp-deep-nesting.jsonl": Expected("json-lines", 1),
    "duckdb-otlp-malformed.jsonl": Expected(
        "json-lines", 1, damage={"unknown-shape": 1, "not-json": 2}
    ),
    "duckdb-otlp-nulls.jsonl": Expected("json-lines", 3),
    "duckdb-otlp-traces.pb": Expected("otlp-proto", 1),
    "fluentbit-otlp-error-matrix.json": Expected("json", 0, damage={"unknown-shape": 1}),
    "fluentbit-snake-case.json": Expected("json", 2),
    "jaeger-otlp-db-traces.json": Expected("json", 2),
    "jaeger-otlp-spot-tags.json": Expected("json", 1),
    "jaegerui-otlp-in-error.json": Expected("json", 1),
    "jaegerui-otlp-multi.jsonl": Expected("json-lines", 4),
    "langfuse-beeai.json": Expected("json", 29),
    "langfuse-koog.json": Expected("json", 11),
    "langfuse-langgraph.json": Expected("json", 9),
    "langfuse-microsoft-agent.json": Expected("json", 4),
    "langfuse-openai-agents.json": Expected("json", 5),
    "langfuse-pydantic-ai-tools.json": Expected("json", 12),
    "langfuse-vercel-aisdk.json": Expected("json", 3),
    "langwatch-claude-code.json": Expected("json", 1, damage={"bad-id": 1}),
    "open-agent-traces-collector.jsonl": Expected("json-lines", 2),
    "otel-tui-mixed-signals.jsonl": Expected("json-lines", 15, 0, {"logs": 7, "metrics": 31}),
    "otlp2parquet-envoy-trace.json": Expected("json", 2),
    "otlp2parquet-invalid-kind.json": Expected("json", 1, damage={"bad-field": 1}),
    "otlp2parquet-invalid-mixed-encoding.json": Expected("json", 1),
    "otlp2parquet-traces-base64-ids.jsonl": Expected("json-lines", 19),
    "otlp2parquet-traces.pb": Expected("otlp-proto", 19),
    "parse-server-js-spans.jsonl": Expected("json-lines", 40),
    "promptflow-console-concatenated.json": Expected("json", 6),
    "pulumi-collector-traces.jsonl": Expected("json-lines", 15, damage={"bad-field": 16}),
    "python-console-pretty-twice.jsonl": Expected("json", 12),
    "raaf-start-end-events.jsonl": Expected("json-lines", 34, 0, {"span-starts": 35}),
    "robotframework-malformed-snake.jsonl": Expected(
        "json-lines", 3, damage={"not-json": 2, "unknown-shape": 1}
    ),
    "robotframework-snake-case.json": Expected("json-lines", 18),
    "strands-adk.json": Expected("json", 7),
    "strands-claude-adot.json": Expected("json", 8),
    "strands-openai-agents-genai-traceloop.json": Expected("json", 17),
    "strands-openinference-adot-logs.json": Expected("json", 8, 8),
    "strands-otel-genai.json": Expected("json", 5),
    "strands-pydantic-ai.json": Expected("json", 4),
    "strands-smolagents-openinference.json": Expected("json", 7),
    "terrarium-go-stdouttrace.json": Expected("json", 11),
    "verdict-ndjson-bare-spans.ndjson": Expected("json-lines", 31, damage={"bad-field": 62}),
}


def input_file(path: Path) -> InputFile:
    return InputFile(path, path.name, path.stat().st_size)


def by_id(spans: list[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span.trace_id, span.span_id))


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_file_gives_what_is_in_it(shared: Path, name: str) -> None:
    path = shared / "traces" / "public" / name
    expected = PUBLIC[name]
    reading = read_whole_file(path)
    found = Expected(
        plan_file(input_file(path), Settings()).format,
        len(reading.spans),
        len(reading.logs),
        dict(reading.skipped),
        {kind.value: count for kind, count in reading.damage_counts.items()},
    )
    assert found == expected


def test_the_table_names_every_public_file(shared: Path) -> None:
    names = {path.name for path in (shared / "traces" / "public").iterdir()}
    assert names - {"README.md"} == set(PUBLIC)


def test_ids_in_base64_and_in_hex_are_the_same(shared: Path) -> None:
    folder = shared / "traces" / "public"
    one = read_whole_file(folder / "batches-base64-ids.json")
    two = read_whole_file(folder / "batches-upper-hex-ids.json")
    assert one.spans == two.spans
    one = read_whole_file(folder / "otlp2parquet-traces-base64-ids.jsonl")
    two = read_whole_file(folder / "otlp2parquet-traces.pb")
    assert by_id(one.spans) == by_id(two.spans)


def test_every_span_of_a_parent_in_the_file_finds_it(shared: Path) -> None:
    folder = shared / "traces" / "public"
    for name in ("terrarium-go-stdouttrace.json", "python-console-pretty-twice.jsonl"):
        spans = read_whole_file(folder / name).spans
        ids = {(span.trace_id, span.span_id) for span in spans}
        assert any((span.trace_id, span.parent_span_id) in ids for span in spans), name


def test_every_framing_of_the_same_spans_gives_the_same(shared: Path) -> None:
    folder = shared / "traces" / "real"
    files = json.loads((folder / "framed.expected.json").read_text())["files"]
    assert len(files) == 5
    for name, about in files.items():
        sources = about.get("systems") or [about["same_as"].removesuffix(".otlp.jsonl")]
        expected: list[Span] = []
        for system in sources:
            expected += read_whole_file(folder / f"{system}.otlp.jsonl").spans
        reading = read_whole_file(folder / name)
        assert by_id(reading.spans) == by_id(expected), name
        assert not reading.damage


def test_both_exporters_of_one_run_give_the_same_calls(shared: Path) -> None:
    folder = shared / "traces" / "real"
    collector = read_whole_file(folder / "vercel-ai-sdk.otlp.jsonl")
    exporter = read_whole_file(folder / "vercel-ai-sdk.js-exporter.jsonl")
    assert len(collector.spans) == len(exporter.spans) == 47
    assert not collector.damage
    assert not exporter.damage


def test_a_file_that_is_gone_is_an_error_in_one_line(tmp_path: Path) -> None:
    file = InputFile(tmp_path / "gone", "gone", 10)
    with pytest.raises(InputError, match="no such file or directory"):
        list(read_file(file, Settings()))


def test_logs_beside_spans_are_read_or_counted(
    read_bytes: ReadBytes, line_of: Line, otlp_span: Build
) -> None:
    trace_id = otlp_span()["traceId"]
    records = [{"traceId": trace_id, "spanId": "01", "body": {"stringValue": "x"}}, {}]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    metrics = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]}
    lines = [line_of(1), json.dumps(logs).encode() + b"\n", json.dumps(metrics).encode()]
    reading = read_bytes(b"".join(lines))
    assert len(reading.spans) == 1
    assert [log.span_id for log in reading.logs] == ["0000000000000001"]
    assert reading.skipped == {"logs": 1, "metrics": 1}
    assert not reading.damage


@pytest.mark.parametrize("indent", [None, 2])
def test_a_single_document_and_its_lines_give_the_same(
    read_bytes: ReadBytes, otlp: Build, otlp_span: Build, indent: int | None
) -> None:
    documents = [otlp(otlp_span(spanId=f"{number}")) for number in range(1, 5)]
    expected = read_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in documents)).spans
    array = json.dumps(documents, indent=indent).encode()
    concatenated = "\n".join(json.dumps(one, indent=indent) for one in documents).encode()
    joined = {"resourceSpans": [one["resourceSpans"][0] for one in documents]}
    for data in (array, concatenated, json.dumps(joined, indent=indent).encode()):
        assert read_bytes(data).spans == expected
        assert read_bytes(b"\xef\xbb\xbf" + data).spans == expected
        assert read_bytes(data.decode().encode("utf-16")).spans == expected
        assert read_bytes(gzip.compress(data)).spans == expected


@given(st.binary(max_size=400), st.booleans())
@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_no_bytes_raise(read_bytes: ReadBytes, data: bytes, packed: bool) -> None:
    read_bytes(gzip.compress(data) if packed else data)


@given(st.data())
@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_no_damage_to_a_real_file_raises_or_is_passed_over(
    read_bytes: ReadBytes, line_of: Line, data: st.DataObject
) -> None:
    whole = b"".join(line_of(number) for number in range(1, 4))
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start, len(whole)))
    put = data.draw(st.binary(max_size=20))
    damaged = whole[:start] + put + whole[end:]
    reading = read_bytes(damaged)
    assert reading.spans or reading.damage or not damaged.strip()


@pytest.mark.parametrize(
    ("by_name", "format_name", "damaged"), [(True, "unknown", 1), (False, "other", 0)]
)
def test_a_file_of_no_known_kind_is_damage_only_where_it_was_named(
    tmp_path: Path, by_name: bool, format_name: str, damaged: int
) -> None:
    (tmp_path / "README.md").write_text("# Traces\n")
    named = tmp_path / "README.md" if by_name else tmp_path
    (file,) = find_files([str(named)])
    plan = plan_file(file, Settings())
    assert (plan.format, len(plan.notes.damage)) == (format_name, damaged)


def test_text_of_a_console_exporter_is_damage_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "spans.txt").write_text("{\n  traceId: 'a',\n}\n")
    (file,) = find_files([str(tmp_path)])
    assert plan_file(file, Settings()).notes.damage_counts.total() == 1
