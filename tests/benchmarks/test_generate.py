"""The generator of the benchmarks: same bytes, same spans in both forms, the promised mixture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SCRIPT = Path(__file__).with_name("generate.py")
pytest.importorskip("orjson", reason="orjson, which only the benchmarks need, is not installed")


def generated(folder: Path, *options: str) -> Path:
    subprocess.run([sys.executable, "-B", SCRIPT, folder, *options], check=True, timeout=60)
    return folder


def json_spans(path: Path) -> list[dict[str, object]]:
    spans = []
    for line in path.read_bytes().splitlines():
        for resource_spans in json.loads(line)["resourceSpans"]:
            for scope_spans in resource_spans["scopeSpans"]:
                spans += scope_spans["spans"]
    return spans


def proto_ids(path: Path) -> list[str]:
    data, at, ids = path.read_bytes(), 0, []
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        request = ExportTraceServiceRequest.FromString(data[at + 4 : at + 4 + length])
        at += 4 + length
        ids += [
            span.span_id.hex()
            for resource_spans in request.resource_spans
            for scope_spans in resource_spans.scope_spans
            for span in scope_spans.spans
        ]
    return ids


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    first = generated(tmp_path / "a", "--size-mb", "1")
    second = generated(tmp_path / "b", "--size-mb", "1")
    for name in ("agents.jsonl", "agents.pb"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_json_and_protobuf_hold_the_same_spans_of_about_two_kilobytes(tmp_path: Path) -> None:
    folder = generated(tmp_path, "--size-mb", "1")
    spans = json_spans(folder / "agents.jsonl")
    assert [span["spanId"] for span in spans] == proto_ids(folder / "agents.pb")
    assert 1_800 < (folder / "agents.jsonl").stat().st_size / len(spans) < 2_600
    tools = [span for span in spans if not str(span["name"]).startswith(("chat ", "invoke_agent "))]
    assert 0.55 < len(tools) / len(spans) < 0.65


@pytest.mark.parametrize(("identities", "expected"), [("one", 1), ("many", 300)])
def test_calls_are_all_equal_or_all_different(
    tmp_path: Path, identities: str, expected: int
) -> None:
    folder = generated(tmp_path, "--tool-calls", "300", "--identities", identities)
    spans = json_spans(folder / "agents.jsonl")
    arguments = {
        attribute["value"]["stringValue"]
        for span in spans
        for attribute in span["attributes"]  # type: ignore[attr-defined]
        if attribute["key"] == "gen_ai.tool.call.arguments"
    }
    assert len(spans) == 300
    assert len(arguments) == expected
