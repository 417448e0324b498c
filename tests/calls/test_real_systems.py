"""Every system of the corpus against what its tools themselves logged.

A call's record is ``(arguments, why no identity, failed, result, why no content hash)``. What the
tools logged is turned into such records, by default as it was logged: a call failed if it raised or
returned an object with an ``error``. `CARRIED` says, system by system, where a span carries less or
otherwise than was logged; the records must then be exactly that. Nothing else is tolerated.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.one_call import Joined, one_call_each
from visceral_cli.calls.tool_call import ToolCall
from visceral_cli.contract.identity import canonical_json
from visceral_cli.ingest.read_file import read_whole_file
from visceral_cli.ingest.span import Span
from visceral_cli.settings import ExtractSettings

Entry = dict[str, Any]


class Record(NamedTuple):
    """What is known of one call; texts are canonical JSON."""

    arguments: str | None
    identity_missing: str | None
    failed: bool
    result: str | None
    content_missing: str | None


def logged(entry: Entry) -> Record:
    """The record of an execution as its tool logged it."""
    arguments = canonical_json(entry["args"])
    if "error" in entry:
        return Record(arguments, None, True, None, "failed")
    output = entry["output"]
    failed = isinstance(output, dict) and bool(output.get("error"))
    return Record(arguments, None, failed, canonical_json(output), "failed" if failed else None)


def lone(entry: Entry) -> str:
    """Arguments of which the span has only the value."""
    (value,) = entry["args"].values()
    return canonical_json({"input": value})


def positional(entry: Entry) -> str:
    """Arguments whose names the span does not have."""
    return canonical_json({"args": list(entry["args"].values()), "kwargs": {}})


def left_by_error(write: Callable[[Mapping[str, str], Entry], object]) -> Callable[..., Record]:
    """A raised call whose span holds some result: it is kept to be shown, never reused."""

    def carried(tool: str, entry: Entry, record: Record) -> Record:
        if "error" not in entry:
            return record
        return record._replace(result=canonical_json(write(entry["error"], entry)))

    return carried


def nothing_captured(tool: str, entry: Entry, record: Record) -> Record:
    """fastmcp and the MCP SDK never write arguments or results; an error value is one."""
    raised = "error" in entry
    return Record(None, "not-captured", raised, None, "failed" if raised else "not-captured")


def adk_1x(tool: str, entry: Entry, record: Record) -> Record:
    """The span of a failed call has no attributes at all."""
    if "error" in entry:
        return record._replace(arguments=None, identity_missing="not-captured")
    return record


def langchain(tool: str, entry: Entry, record: Record) -> Record:
    """The only argument of a tool stands alone."""
    return record._replace(arguments=lone(entry)) if len(entry["args"]) == 1 else record


def langfuse(tool: str, entry: Entry, record: Record) -> Record:
    """get_weather, and the calls inside customer_brief, were called by position."""
    if tool == "get_weather" or entry["args"].get("request_id") == "brief" or is_top_2(entry):
        return record._replace(arguments=positional(entry))
    return record


def traceloop(tool: str, entry: Entry, record: Record) -> Record:
    """The calls inside customer_brief were made by position."""
    if entry["args"].get("request_id") == "brief" or is_top_2(entry):
        return record._replace(arguments=positional(entry))
    return record


def is_top_2(entry: Entry) -> bool:
    """Whether this is the search inside customer_brief."""
    return bool(entry["args"].get("top_k") == 2)


def llama_index(tool: str, entry: Entry, record: Record) -> Record:
    """search_docs returns only id and score of what its retriever logged."""
    if tool == "search_docs":
        found = [{"id": item["id"], "score": item["score"]} for item in entry["output"]]
        return record._replace(result=canonical_json(found))
    return record


def documents(entry: Entry) -> str:
    """What OpenInference keeps of documents that a retriever found."""
    return canonical_json(
        [
            {
                "id": item["id"],
                "content": item["text"],
                "score": item["score"],
                "metadata": {"title": item["title"]},
            }
            for item in entry["output"]
        ]
    )


def manual(tool: str, entry: Entry, record: Record) -> Record:
    """search_docs is a RETRIEVER span with OpenInference's rendering of documents."""
    return record._replace(result=documents(entry)) if tool == "search_docs" else record


def vercel(tool: str, entry: Entry, record: Record) -> Record:
    """Run 3 recorded neither inputs nor outputs."""
    if entry["run"] != 3:
        return record
    return nothing_captured(tool, entry, record)


def visceral(tool: str, entry: Entry, record: Record) -> Record:
    """Writers record nothing; a tuple and a NaN have no faithful JSON."""
    if tool in ("update_customer", "set_flag"):
        return Record(None, "writer", False, None, "not-captured")
    if tool == "get_position":
        return record._replace(result=None, content_missing="not-canonical")
    if entry.get("note") == "NaN argument: no hash, no capture":
        return Record(None, "not-canonical", False, None, "not-captured")
    return record


def visceral_langchain(tool: str, entry: Entry, record: Record) -> Record:
    """Undeclared tools keep LangChain's bare value, and so do calls that lost their enrichment.

    Of get_weather only the call of run 0 kept it: the others ran beside one another.
    """
    if tool in ("flaky_lookup", "customer_brief") or (tool == "get_weather" and entry["run"]):
        return record._replace(arguments=lone(entry))
    return record


CARRIED: Mapping[str, Callable[[str, Entry, Record], Record]] = {
    "fastmcp": nothing_captured,
    "google-adk-1x": adk_1x,
    "google-adk-content": left_by_error(lambda error, _: {"error": error["message"]}),
    "haystack": left_by_error(
        lambda error, entry: (
            f"Failed to invoke Tool `flaky_lookup` with parameters {entry['args']}. "
            f"Error: {error['message']}"
        )
    ),
    "langfuse": langfuse,
    "openinference-agno": left_by_error(lambda error, _: error["message"]),
    "openinference-langchain": langchain,
    "openinference-llama-index": llama_index,
    "openinference-manual": manual,
    "openinference-openai-agents": left_by_error(
        lambda *_: "An error occurred while running the tool. Please try again."
    ),
    "openllmetry-mcp": left_by_error(
        lambda error, _: f"Error calling tool 'flaky_lookup': {error['message']}"
    ),
    "strands": left_by_error(lambda error, _: f"Error: {error['type']} - {error['message']}"),
    "traceloop": traceloop,
    "vercel-ai-sdk": vercel,
    "visceral-ai": visceral,
    "visceral-langchain": visceral_langchain,
}
"""What the spans of a system carry where it is not what was logged."""

NOT_TOLD = {("langfuse", "customer_brief"): "its observation type is chain, not tool"}
"""Tools whose executions no span tells as calls."""

BESIDE: Mapping[tuple[str, str], int] = {
    # The retriever inside search_docs is a call of its own, nested in the tool's.
    ("openinference-llama-index", "DocsRetriever"): 4,
    # Served calls did not execute, so no tool logged them.
    ("visceral-ai", "get_weather"): 2,
    ("visceral-ai", "get_customer"): 1,
    ("visceral-ai", "search_docs"): 1,
}
"""Calls of the spans that no tool logged."""

SYSTEMS = (
    "fastmcp",
    "google-adk-1x",
    "google-adk-content",
    "haystack",
    "langfuse",
    "openinference-agno",
    "openinference-crewai",
    "openinference-haystack-3x",
    "openinference-langchain",
    "openinference-llama-index",
    "openinference-manual",
    "openinference-openai-agents",
    "openllmetry-langchain",
    "openllmetry-mcp",
    "otel-genai",
    "pydantic-ai",
    "pydantic-ai-0x",
    "strands",
    "traceloop",
    "vercel-ai-sdk",
    "visceral-ai",
    "visceral-langchain",
)


def joined_calls(spans: list[Span], settings: ExtractSettings) -> list[Joined]:
    extractor = Extractor(settings)
    parents: dict[str, dict[str, str | None]] = defaultdict(dict)
    for span in spans:
        parents[span.trace_id][span.span_id] = span.parent_span_id
    return one_call_each([call for span in spans for call in extractor.calls(span)], parents)


def settings_of(expected: Mapping[str, Any]) -> ExtractSettings:
    if "workspace_key_b64" not in expected:
        return ExtractSettings()
    key = base64.b64decode(expected["workspace_key_b64"])
    return ExtractSettings(workspace_keys={expected["key_id"]: key})


def record_of(call: ToolCall) -> Record:
    return Record(
        call.arguments,
        call.identity_missing and call.identity_missing.value,
        call.failed,
        call.result,
        call.content_missing and call.content_missing.value,
    )


@pytest.fixture(scope="module")
def real(shared: Path) -> Path:
    return shared / "traces" / "real"


def expectation(real: Path, system: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((real / f"{system}.expected.json").read_text())
    return found


def expected_records(system: str, expected: Mapping[str, Any]) -> Counter[tuple[str, Record]]:
    carried = CARRIED.get(system, lambda tool, entry, record: record)
    return Counter(
        (tool, carried(tool, entry, logged(entry)))
        for tool, told in expected["tools"].items()
        for entry in told["entries"]
        if not entry.get("no_span") and (system, tool) not in NOT_TOLD
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_calls_of_a_system_are_those_its_tools_logged(real: Path, system: str) -> None:
    expected = expectation(real, system)
    reading = read_whole_file(real / f"{system}.otlp.jsonl")
    assert len(reading.spans) == expected["spans"]

    calls = [item.call for item in joined_calls(reading.spans, settings_of(expected))]
    executed = [call for call in calls if not is_beside(system, call)]
    wanted = expected_records(system, expected)
    found = Counter((call.tool, record_of(call)) for call in executed)
    assert found == wanted

    beside = Counter((system, call.tool) for call in calls if is_beside(system, call))
    assert beside == {key: n for key, n in BESIDE.items() if key[0] == system}
    failed = sum(call.failed for call in executed)
    distinct = len({(call.tool, call.arguments) for call in executed if call.arguments})
    results = sum(call.content_hash is not None for call in executed)
    sys.stdout.write(  # one line per system, shown with -rP
        f"{system}: {len(reading.spans)} spans, {len(executed)} calls, {failed} failed, "
        f"{distinct} distinct arguments, {results} results, {len(calls) - len(executed)} beside\n"
    )


def is_beside(system: str, call: ToolCall) -> bool:
    if system == "visceral-ai":
        return call.served_decision_id is not None and call.verify_match is None
    return (system, call.tool) in BESIDE


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_numbers_of_each_tool_are_those_of_the_log(real: Path, system: str) -> None:
    """Calls, failures and distinct arguments per tool, as the log itself counts them."""
    expected = expectation(real, system)
    spans = read_whole_file(real / f"{system}.otlp.jsonl").spans
    by_tool: dict[str, list[ToolCall]] = defaultdict(list)
    for item in joined_calls(spans, settings_of(expected)):
        if not is_beside(system, item.call):
            by_tool[item.call.tool].append(item.call)
    for tool, told in expected["tools"].items():
        if (system, tool) in NOT_TOLD:
            continue
        calls = by_tool[tool]
        assert len(calls) == told["calls_with_span"]
        visible = [entry for entry in told["entries"] if not entry.get("no_span")]
        failures = sum("error" in entry for entry in visible)
        if not all(call.content_missing == "not-captured" for call in calls if not call.failed):
            failures += sum(logged(entry).failed for entry in visible if "error" not in entry)
        hidden = system == "vercel-ai-sdk" and tool == "get_customer"  # one of run 3
        assert sum(call.failed for call in calls) == failures - hidden
        if all(call.arguments for call in calls):
            assert len({values_of(call) for call in calls}) == len(
                {canonical_json(entry["args"]) for entry in visible}
            )


def values_of(call: ToolCall) -> str:
    """The arguments without their names, which some spans lack."""
    arguments = json.loads(call.arguments or "{}")
    if call.unnamed_arguments and "args" in arguments:
        return canonical_json(sorted(map(str, arguments["args"])))
    return canonical_json(sorted(map(str, arguments.values())))


def test_what_the_visceral_sdk_hashed_is_what_was_called(real: Path) -> None:
    expected = expectation(real, "visceral-ai")
    spans = read_whole_file(real / "visceral-ai.otlp.jsonl").spans
    calls = [item.call for item in joined_calls(spans, settings_of(expected))]
    hashes = {
        (tool, canonical_json(json.loads(arguments))): found
        for tool, by_arguments in expected["input_hashes"].items()
        for arguments, found in by_arguments.items()
    }
    held = [call for call in calls if (call.tool, call.arguments) in hashes]
    assert len(held) >= 25
    assert all(hashes[call.tool, call.arguments] == call.input_hash for call in held)
    assert not any(call.hash_disagrees for call in calls)
    # Three verify samples matched, three did not; four calls were served.
    assert Counter(call.verify_match for call in calls) == {None: 40, True: 3, False: 3}
    assert sum(call.identity_missing == "served" for call in calls) == 4


def test_without_the_key_the_recorded_hashes_are_still_there(real: Path) -> None:
    spans = read_whole_file(real / "visceral-ai.otlp.jsonl").spans
    calls = [item.call for item in joined_calls(spans, ExtractSettings())]
    recorded = [call for call in calls if call.recorded_hash]
    assert len(recorded) == 37
    assert {call.arguments for call in calls} == {None}
    assert {call.content_missing for call in recorded} == {"encrypted", "failed", "not-canonical"}
    # Without the key the length of a section still tells that a result changed.
    berlin = {call.content_bytes for call in recorded if call.tool == "get_weather"}
    assert len(berlin - {None}) > 1


@pytest.mark.parametrize(
    ("system", "other"),
    [
        *(
            (system, f"{system}.otlp.pb")
            for system in (
                "google-adk-content",
                "openinference-langchain",
                "openinference-openai-agents",
                "otel-genai",
                "pydantic-ai",
                "strands",
                "traceloop",
                "vercel-ai-sdk",
                "visceral-ai",
            )
        ),
        ("vercel-ai-sdk", "vercel-ai-sdk.js-exporter.jsonl"),
    ],
)
def test_another_encoding_of_the_same_spans_gives_the_same_calls(
    real: Path, system: str, other: str
) -> None:
    settings = settings_of(expectation(real, system))
    first = joined_calls(read_whole_file(real / f"{system}.otlp.jsonl").spans, settings)
    second = joined_calls(read_whole_file(real / other).spans, settings)
    assert Counter(map(told, first)) == Counter(map(told, second))


def told(item: Joined) -> tuple[object, ...]:
    call = item.call
    return (call.trace_id, call.span_id, call.tool, call.input_hash, call.content_hash, call.failed)


@pytest.mark.parametrize(
    ("system", "spans_of_one_call"),
    [("fastmcp", 3), ("openllmetry-mcp", 2), ("traceloop", 1)],
)
def test_each_call_is_told_by_as_many_spans_as_the_system_makes(
    real: Path, system: str, spans_of_one_call: int
) -> None:
    spans = read_whole_file(real / f"{system}.otlp.jsonl").spans
    joined = joined_calls(spans, ExtractSettings())
    assert {1 + len(item.absorbed) for item in joined} == {spans_of_one_call}
