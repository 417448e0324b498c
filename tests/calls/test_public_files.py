"""Agent traces that others published: the numbers were counted by hand in each file."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.one_call import Joined, one_call_each
from visceral_cli.calls.tool_call import ToolCall
from visceral_cli.ingest.read_file import read_whole_file
from visceral_cli.settings import ExtractSettings


def joined_calls(path: Path) -> list[Joined]:
    extractor = Extractor(ExtractSettings())
    spans = read_whole_file(path).spans
    parents: dict[str, dict[str, str | None]] = defaultdict(dict)
    for span in spans:
        parents[span.trace_id][span.span_id] = span.parent_span_id
    return one_call_each([call for span in spans for call in extractor.calls(span)], parents)


def one_call(path: Path) -> ToolCall:
    (joined,) = joined_calls(path)
    return joined.call


@pytest.fixture(scope="module")
def public(shared: Path) -> Path:
    return shared / "traces" / "public"


@pytest.mark.parametrize(
    ("file", "tools", "failed"),
    [
        ("agentevals-jaeger-helm.json", {"helm_list_releases": 1}, 0),
        ("agentevals-tempo-batches.json", {"helm_list_releases": 1}, 0),
        ("agentflow-otlp-openinference.json", {"query_logs": 1}, 1),
        ("agntcy-jaeger-get-inventory.json", {"pyats_list_devices": 1}, 0),
        # start, success and finish of one call; OpenMeteo has no TOOL span at all
        ("langfuse-beeai.json", {"search.wikipedia": 1}, 0),
        ("langfuse-koog.json", {"HelloTool": 1, "ByeTool": 1}, 0),
        ("langfuse-langgraph.json", {"Web-Search": 1}, 0),
        ("langfuse-microsoft-agent.json", {"get_weather": 1}, 0),
        ("langfuse-openai-agents.json", {"get_weather": 1}, 0),
        (
            "langfuse-pydantic-ai-tools.json",
            {
                "get_dad_joke_suggestion": 1,
                "get_one_liner_suggestion": 1,
                "get_pun_suggestion": 1,
            },
            0,
        ),
        ("langfuse-vercel-aisdk.json", {"getWeather": 1}, 0),
        # Claude Code names a tool on a model's span only
        ("langwatch-claude-code.json", {}, 0),
        # functions of the flow itself and one model call, no @tool
        ("promptflow-console-concatenated.json", {}, 0),
        ("strands-adk.json", {"calculator": 1}, 0),
        ("strands-claude-adot.json", {"Bash": 2, "Agent": 2}, 0),
        (
            "strands-openai-agents-genai-traceloop.json",
            {
                "lookup_stock_price": 1,
                "ask_research_specialist": 1,
                "multiply_numbers": 2,
                "ask_math_specialist": 1,
            },
            0,
        ),
        # spans without any attribute of a tool; the content is in log records
        ("strands-openinference-adot-logs.json", {}, 0),
        ("strands-otel-genai.json", {"get_weather": 2}, 1),
        ("strands-pydantic-ai.json", {"get_weather": 1}, 0),
        # final_answer is no tool
        ("strands-smolagents-openinference.json", {"web_search": 1}, 0),
    ],
)
def test_the_calls_of_a_published_file_are_those_counted_by_hand(
    public: Path, file: str, tools: dict[str, int], failed: int
) -> None:
    calls = [item.call for item in joined_calls(public / file)]
    assert Counter(call.tool for call in calls) == tools
    assert sum(call.failed for call in calls) == failed


def test_the_three_phases_of_a_beeai_call_make_one_with_arguments_result_and_its_own_end(
    public: Path,
) -> None:
    (joined,) = joined_calls(public / "langfuse-beeai.json")
    call = joined.call
    assert len(joined.absorbed) == 2
    assert call.arguments == '{"full_text":false,"query":"Tourism in Barcelona"}'
    assert call.result is not None
    assert call.result.startswith('[{"description":"Barcelona (')
    # From the start phase at 55.683 s to the success phase at 57.468 s; the spans end at 71.334 s.
    assert call.start_ns is not None
    assert call.end_ns is not None
    assert call.end_ns - call.start_ns == 1_785_000_000


def test_a_langgraph_callback_envelope_gives_the_real_arguments_and_result(public: Path) -> None:
    call = one_call(public / "agntcy-jaeger-get-inventory.json")
    assert call.arguments == "{}"
    assert call.call_id == "toolu_01YEtwd35Rf1ZdBQfFQXHiYY"
    assert call.result is not None
    assert call.result.startswith('{"devices":{"R1":{"connections":["cli"],"os":"iosxe"')


def test_google_adk_unwraps_what_an_mcp_tool_returned(public: Path) -> None:
    for file in ("agentevals-jaeger-helm.json", "agentevals-tempo-batches.json"):
        call = one_call(public / file)
        assert call.arguments == "{}"
        assert call.result is not None
        assert call.result.startswith('"NAME')


def test_python_literals_of_langfuse_and_smolagents_are_read(public: Path) -> None:
    call = one_call(public / "strands-smolagents-openinference.json")
    assert call.arguments == '{"query":"population of Tokyo"}'
    assert call.content_missing is None
    assert one_call(public / "strands-adk.json").result == '"555"'


def test_aws_log_records_tell_the_content_of_a_span(public: Path) -> None:
    reading = read_whole_file(public / "strands-openinference-adot-logs.json")
    extractor = Extractor(ExtractSettings())
    told = {
        (mention.span_id, mention.what): mention.text
        for record in reading.logs
        for mention in extractor.mentions_of_log(record)
    }
    assert told["adot-tool-1", "arguments"] == "{'city': 'Alaska'}"
    assert '"tool_call_id": "tc_01"' in told["adot-tool-1", "result"]
