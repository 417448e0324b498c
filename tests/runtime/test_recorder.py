"""Spans → OTLP JSON lines: whole lines, several processes, rotation, damage, the open span."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from visceral_cli import node, tool
from visceral_cli.runtime.attribute_json import Attributes, attribute_json
from visceral_cli.runtime.recorder import Recorder

STATIC = Attributes({"openinference.span.kind": "TOOL"})


def record(recorder: Recorder, name: str = "get") -> None:
    span = recorder.start_span(name, STATIC)
    span.end()


def lines(folder: Path) -> list[dict[str, Any]]:
    texts = (path.read_text("ascii") for path in sorted(folder.glob("*.jsonl")))
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_a_line_is_a_whole_otlp_document(folder):
    recorder = Recorder(folder / "t.jsonl", agent_id='desk "7"')
    span = recorder.start_span("näme", STATIC)
    span.set("visceral.tool.hash_v", 1)
    span.set("visceral.tool.version", None)
    span.end()
    recorder.close()
    (document,) = lines(folder)
    (resource_spans,) = document["resourceSpans"]
    resource = {
        item["key"]: item["value"]["stringValue"]
        for item in resource_spans["resource"]["attributes"]
    }
    assert resource["service.name"] == resource["visceral.agent.id"] == 'desk "7"'
    (scope_spans,) = resource_spans["scopeSpans"]
    assert scope_spans["scope"] == {"name": "visceral"}
    (written,) = scope_spans["spans"]
    assert (written["name"], written["kind"], written["status"]) == ("näme", 1, {})
    assert (len(written["traceId"]), len(written["spanId"])) == (32, 16)
    assert int(written["endTimeUnixNano"]) >= int(written["startTimeUnixNano"]) > 10**18
    assert written["attributes"] == [
        {"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}},
        {"key": "visceral.tool.hash_v", "value": {"intValue": "1"}},
    ]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("\ud800\n", {"stringValue": "\ud800\n"}),
        (True, {"boolValue": True}),
        (2**70, {"intValue": str(2**70)}),
        (30.0, {"doubleValue": 30.0}),
        (float("inf"), {"doubleValue": "Infinity"}),
        (float("-inf"), {"doubleValue": "-Infinity"}),
        (float("nan"), {"doubleValue": "NaN"}),
    ],
    ids=repr,
)
def test_every_kind_of_value_has_its_otlp_form(value, written):
    assert json.loads(attribute_json("k", value)) == {"key": "k", "value": written}


def test_what_comes_while_it_writes_waits_for_the_next_time(folder, monkeypatch):
    """An agent that ends spans all the time must not find the interpreter taken at each of them."""
    recorder = Recorder(folder / "t.jsonl", agent_id="a")
    written: list[int] = []
    write = recorder._write

    def write_and_add(batch: list[str]) -> None:
        written.append(len(batch))
        if len(written) < 50:
            record(recorder)
        write(batch)

    monkeypatch.setattr(recorder, "_write", write_and_add)
    for _ in range(3):
        record(recorder)
    recorder.flush()
    assert sum(written[:3]) >= 3
    assert len(written) < 10
    recorder.close()


def test_the_file_is_readable_by_its_owner_only(folder):
    recorder = Recorder(folder / "new" / "t.jsonl", agent_id="a")
    record(recorder)
    recorder.close()
    assert (folder / "new" / "t.jsonl").stat().st_mode & 0o777 == 0o600
    assert (folder / "new").stat().st_mode & 0o777 == 0o700


def test_processes_share_a_file_and_rotate_it_without_losing_a_line(folder):
    code = """
        import sys
        from visceral_cli.runtime.attribute_json import Attributes
        from visceral_cli.runtime.recorder import Recorder

        recorder = Recorder(sys.argv[1], agent_id="a", max_bytes=100_000, kept_files=100)
        for number in range(1500):
            recorder.start_span(f"{sys.argv[2]}-{number}", Attributes({})).end()
            if number % 100 == 0:
                recorder.flush()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(folder / "t.jsonl")]
    workers = [subprocess.Popen([*command, str(number)]) for number in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    names = [
        document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"]
        for document in lines(folder)
    ]
    assert sorted(names) == sorted(f"{w}-{n}" for w in range(2) for n in range(1500))
    assert len(list(folder.glob("t-*.jsonl"))) > 2


def test_only_the_newest_files_are_kept(folder):
    recorder = Recorder(folder / "t.jsonl", agent_id="a", max_bytes=500, kept_files=2)
    for number in range(6):
        record(recorder, f"span-{number}")
        recorder.flush()
    recorder.close()
    kept = lines(folder)
    assert len(list(folder.glob("t-*.jsonl"))) == 2
    names = [line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] for line in kept]
    assert names == ["span-4", "span-5"]


def test_after_a_torn_write_the_next_line_is_whole(folder, monkeypatch, caplog):
    recorder = Recorder(folder / "t.jsonl", agent_id="a")
    real_write = os.write

    def full_disk(file: int, data: bytes) -> int:
        return real_write(file, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_disk)
        record(recorder, "torn")
        recorder.flush()
    record(recorder, "whole")
    recorder.close()
    torn, whole = (folder / "t.jsonl").read_text().splitlines()
    with pytest.raises(ValueError, match=r"."):
        json.loads(torn)
    assert json.loads(whole)
    assert recorder.dropped == 1
    assert [line.levelname for line in caplog.records].count("WARNING") == 1


def test_a_folder_that_cannot_be_written_costs_spans_and_one_warning(folder, caplog):
    (folder / "file").write_text("")
    recorder = Recorder(folder / "file" / "t.jsonl", agent_id="a")
    for _ in range(3):
        record(recorder)
        recorder.flush()
    assert recorder.dropped == 3
    assert [line.levelname for line in caplog.records].count("WARNING") == 1


def test_spans_are_written_when_the_process_ends(folder):
    code = f"""
        from visceral_cli import tool, wrap
        wrap(None, "a", trace_file={str(folder / "t.jsonl")!r})
        tool("get")(lambda: 1)()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
    assert len(lines(folder)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_records_as_another_one(folder):
    recorder = Recorder(folder / "t.jsonl", agent_id="a")
    record(recorder)
    recorder.flush()
    child = os.fork()
    if child == 0:
        record(recorder)
        os._exit(0 if recorder.flush() else 1)
    assert os.waitpid(child, 0)[1] == 0
    recorder.close()
    instances = [
        item["value"]["stringValue"]
        for line in lines(folder)
        for item in line["resourceSpans"][0]["resource"]["attributes"]
        if item["key"] == "service.instance.id"
    ]
    assert len(set(instances)) == 2


def test_tasks_and_threads_keep_their_own_open_span(agent):
    agent.wrap()

    @tool("get", readonly=True)
    async def get(q: int) -> int:
        await asyncio.sleep(0.01)
        return q

    @node("step")
    async def step(q: int) -> int:
        return await get(q)

    @node("agent")
    async def main() -> None:
        await asyncio.gather(*(step(number) for number in range(5)))
        threading.Thread(target=lambda: None).start()

    asyncio.run(main())
    spans = agent.trace.spans()
    (root,) = (span for span in spans if span["name"] == "agent")
    steps = {span["spanId"]: span for span in spans if span["name"] == "step"}
    assert {span["parentSpanId"] for span in steps.values()} == {root["spanId"]}
    gets = [span["parentSpanId"] for span in spans if span["name"] == "get"]
    assert sorted(gets) == sorted(steps)
    assert len({span["traceId"] for span in spans}) == 1


def test_a_thread_without_context_begins_its_own_trace(agent):
    agent.wrap()
    get = tool("get")(lambda: 1)

    @node("agent")
    def main() -> None:
        thread = threading.Thread(target=get)
        thread.start()
        thread.join()

    main()
    assert len({span["traceId"] for span in agent.trace.spans()}) == 2
