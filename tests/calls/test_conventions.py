"""One span of each row of the table, as the library writes it, and what must be read from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.calls.conventions import CONVENTIONS, MARKER_KEYS
from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.tool_call import CallKind, ToolCall
from visceral_cli.ingest.span import Event, Resource, Span
from visceral_cli.settings import ExtractSettings

WEATHER = {"city": "Berlin", "temp_c": 15.5}
WEATHER_TEXT = '{"city":"Berlin","temp_c":15.5}'
BERLIN = '{"city": "Berlin"}'

Fixture = tuple[dict[str, object], dict[str, Any], dict[str, object]]


def told(tool: str = "get_weather", **fields: object) -> dict[str, object]:
    """What is read in most rows, and what else in this one."""
    return {"tool": tool, "arguments": '{"city":"Berlin"}', "result": WEATHER_TEXT} | fields


FIXTURES: dict[str, Fixture] = {
    "visceral-framework": (
        {
            "openinference.span.kind": "TOOL",
            "visceral.tool.name": "get_weather",
            "tool.name": "get_weather",
            "visceral.tool.readonly": True,
            "visceral.tool.replay_safe": True,
            "visceral.tool.version": "2",
            "input.value": '{"tool_input": {"city": "Berlin"}}',
            "input.mime_type": "application/json",
            "output.value": json.dumps(
                {
                    "type": "tool",
                    "data": {"content": json.dumps(WEATHER), "tool_call_id": "c-1"},
                }
            ),
        },
        {"scope": "openinference.instrumentation.langchain"},
        told(version="2", readonly=True, replay_safe=True, call_id="c-1"),
    ),
    "visceral": (
        {
            "openinference.span.kind": "TOOL",
            "visceral.tool.name": "get_weather",
            "visceral.tool.readonly": True,
            "visceral.tool.replay_safe": False,
            "visceral.tool.freshness_override": 900.0,
            "visceral.tool.hash_v": 1,
            "visceral.tool.input_hash": (
                "9acdb9336b94aa87ff3564dcf40d6753c7d1fc88231db568d3310655fdd8d801"
            ),
            "input.value": '{"city":"Berlin"}',
            "output.value": '"{\\"a\\":1}"',
        },
        {"scope": "visceral"},
        # A JSON text that the tool returned is a text: the SDK recorded it as one.
        told(
            result='"{\\"a\\":1}"',
            recorded_hash=True,
            hash_disagrees=False,
            readonly=True,
            replay_safe=False,
            freshness_override=900.0,
        ),
    ),
    "openinference-langchain": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": "42",
            "output.value": json.dumps(
                {
                    "type": "tool",
                    "data": {
                        "content": json.dumps(WEATHER),
                        "tool_call_id": "c-1",
                        "artifact": None,
                        "status": "success",
                    },
                }
            ),
            "output.mime_type": "application/json",
            "session.id": "s-1",
        },
        {"scope": "openinference.instrumentation.langchain", "name": "get_weather"},
        told(arguments='{"input":"42"}', unnamed_arguments=True, session="s-1", call_id="c-1"),
    ),
    "openinference-llama-index": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "tool.parameters": '{"properties": {"city": {"type": "string"}, "days": {}}}',
            "input.value": '{"args": ["Berlin"], "kwargs": {"days": 2}}',
            "input.mime_type": "application/json",
            "output.value": json.dumps(
                {
                    "blocks": [{"text": str(WEATHER)}],
                    "tool_name": "get_weather",
                    "raw_input": {"args": ["Berlin"], "kwargs": {"days": 2}},
                    "raw_output": WEATHER,
                    "is_error": False,
                }
            ),
            "output.mime_type": "application/json",
        },
        {"scope": "openinference.instrumentation.llama_index", "name": "FunctionTool.call"},
        told(arguments='{"city":"Berlin","days":2}', unnamed_arguments=False),
    ),
    "openinference-smolagents": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "tool.parameters": '{"city": {"type": "string", "description": "which"}}',
            "input.value": '{"args": ["Berlin"], "sanitize_inputs_outputs": true, "kwargs": {}}',
            "output.value": json.dumps(WEATHER),
        },
        {"scope": "openinference.instrumentation.smolagents", "name": "SimpleTool"},
        told(),
    ),
    "openinference-dspy": (
        {
            "openinference.span.kind": "TOOL",
            "input.value": '{"kwargs": {"city": "Berlin"}}',
            "output.value": json.dumps(WEATHER),
        },
        {"scope": "openinference.instrumentation.dspy", "name": "get_weather.__call__"},
        told(),
    ),
    "openinference-crewai": (
        {
            "openinference.span.kind": "TOOL",
            "input.value": BERLIN,
            "input.mime_type": "application/json",
            "output.value": json.dumps(WEATHER),
        },
        {"scope": "openinference.instrumentation.crewai", "name": "get_weather.run"},
        told(),
    ),
    "openinference-agno": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "tool.parameters": BERLIN,
            "input.value": BERLIN,
            "input.mime_type": "application/json",
            "output.value": str(WEATHER),
            "output.mime_type": "text/plain",
        },
        {"scope": "openinference.instrumentation.agno"},
        told(),
    ),
    "openinference-google-adk": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "tool.id": "adk-1",
            "input.value": BERLIN,
            "output.value": json.dumps(
                {"id": "adk-1", "name": "get_weather", "response": {"result": WEATHER}}
            ),
        },
        {"scope": "openinference.instrumentation.google_adk", "name": "execute_tool get_weather"},
        told(call_id="adk-1"),
    ),
    "openinference-haystack": (
        {
            "openinference.span.kind": "CHAIN",
            "input.value": json.dumps(
                {
                    "messages": [
                        "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[ToolCall("
                        "tool_name='get_weather', arguments={'city': 'Berlin'}, id='c-1')])"
                    ]
                }
            ),
            "output.value": json.dumps(
                {
                    "tool_messages": [
                        "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult("
                        f"result={str(WEATHER)!r}, origin=ToolCall(tool_name='get_weather', "
                        "arguments={'city': 'Berlin'}, id='c-1', extra=None), error=False)], "
                        "_name=None, _meta={})"
                    ]
                }
            ),
        },
        {"scope": "openinference.instrumentation.haystack", "name": "ToolInvoker.run"},
        told(call_id="c-1"),
    ),
    "openinference-beeai": (
        {
            "openinference.span.kind": "TOOL",
            "name": "success",
            "tool.parameters": "{'city': 'Berlin'}",
            "output.value": str(WEATHER),
        },
        {"scope": "openinference.instrumentation.beeai", "name": "tool.get_weather.success-12"},
        told(call_id="phase 12"),
    ),
    "openinference": (
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": BERLIN,
            "input.mime_type": "application/json",
            "output.value": json.dumps(WEATHER),
            "output.mime_type": "application/json",
            "session.id": "s-1",
            "user.id": "u-1",
            "llm.cost.total": 0.25,
        },
        {"scope": "my.agent"},
        told(session="s-1", user="u-1", cost_usd=0.25),
    ),
    "strands": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "tooluse_1",
            "gen_ai.tool.status": "success",
            "session.id": "s-1",
        },
        {
            "scope": "strands.telemetry.tracer",
            "events": (
                ("gen_ai.tool.message", {"role": "tool", "content": BERLIN, "id": "tooluse_1"}),
                ("gen_ai.choice", {"message": json.dumps([{"json": WEATHER}]), "id": "tooluse_1"}),
            ),
        },
        told(call_id="tooluse_1", session="s-1"),
    ),
    "google-adk": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "adk-1",
            "gcp.vertex.agent.tool_call_args": BERLIN,
            "gcp.vertex.agent.tool_response": json.dumps({"result": WEATHER}),
        },
        {"scope": "gcp.vertex.agent", "name": "execute_tool get_weather"},
        told(call_id="adk-1"),
    ),
    "openllmetry-langchain": (
        {
            "gen_ai.operation.name": "execute_tool",
            "traceloop.span.kind": "tool",
            "gen_ai.tool.name": "get_weather",
            "traceloop.association.properties.session_id": "s-1",
            "gen_ai.tool.call.arguments": json.dumps(
                {
                    "input_str": "{'city': 'Berlin'}",
                    "tags": ["seq:step:1"],
                    "metadata": {"langgraph_step": 2},
                    "inputs": {"city": "Berlin"},
                    "kwargs": {"tool_call_id": "c-1"},
                }
            ),
            "gen_ai.tool.call.result": json.dumps(
                {
                    "output": {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "messages", "ToolMessage"],
                        "kwargs": {"content": json.dumps(WEATHER), "tool_call_id": "c-1"},
                    },
                    "kwargs": {"name": "get_weather"},
                }
            ),
        },
        {"scope": "opentelemetry.instrumentation.langchain"},
        told(call_id="c-1", session="s-1"),
    ),
    "openllmetry-openai-agents": (
        {
            "gen_ai.operation.name": "execute_tool",
            "traceloop.span.kind": "tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.arguments": BERLIN,
            "gen_ai.tool.call.result": json.dumps(WEATHER),
        },
        {"scope": "opentelemetry.instrumentation.openai_agents", "name": "get_weather.tool"},
        told(),
    ),
    "pydantic-ai": (
        {
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c-1",
            "tool_arguments": BERLIN,
            "tool_response": json.dumps(WEATHER),
            "agent_name": "support",
        },
        {"scope": "pydantic-ai", "name": "running tool"},
        told(call_id="c-1", agent="support"),
    ),
    "mcp": (
        {"mcp.method.name": "tools/call", "mcp.session.id": "m-1"},
        {"scope": "mcp-python-sdk", "name": "MCP send tools/call get_weather", "kind": 3},
        told(
            arguments=None,
            result=None,
            identity_missing="not-captured",
            content_missing="not-captured",
            session="m-1",
        ),
    ),
    "semantic-kernel": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "desk-get_weather",
            "gen_ai.tool.call.arguments": BERLIN,
            "gen_ai.tool.call.result": str(WEATHER),
        },
        {"scope": "semantic_kernel.functions.kernel_function"},
        told("desk-get_weather"),
    ),
    "autogen": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c-1",
        },
        {"scope": "autogen-core"},
        told(
            arguments=None,
            result=None,
            identity_missing="not-captured",
            content_missing="not-captured",
            call_id="c-1",
        ),
    ),
    "agent-framework": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": ["run_1", "call_1"],
            "gen_ai.tool.call.arguments": BERLIN,
            "gen_ai.tool.call.result": json.dumps(WEATHER),
        },
        {"scope": "agent_framework"},
        told(call_id='["run_1", "call_1"]'),
    ),
    "otel-genai": (
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c-1",
            "gen_ai.tool.call.arguments": {"city": "Berlin"},
            # langchain-azure-ai wraps the result; its scope is any name the user gives it
            "gen_ai.tool.call.result": {
                "name": "get_weather",
                "tool_call_id": "c-1",
                "content": WEATHER,
            },
            "gen_ai.conversation.id": "s-1",
            "gen_ai.agent.name": "support",
        },
        {"scope": "my.genai.instrumentation"},
        told(call_id="c-1", session="s-1", agent="support"),
    ),
    "otel-genai-retrieval": (
        {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": "help-pages",
            "gen_ai.retrieval.query.text": "refund policy",
            "gen_ai.retrieval.documents": '[{"id": "doc-1"}]',
        },
        {"name": "retrieval help-pages"},
        told(
            "help-pages",
            kind=CallKind.RETRIEVER,
            arguments='{"query":"refund policy"}',
            result='[{"id":"doc-1"}]',
        ),
    ),
    "langsmith": (
        {
            "langsmith.span.kind": "tool",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.prompt": BERLIN,
            "gen_ai.completion": json.dumps(
                {"output": {"content": json.dumps(WEATHER), "tool_call_id": "c-1"}}
            ),
            "langsmith.metadata.thread_id": "s-1",
        },
        {"scope": "langsmith"},
        told(call_id="c-1", session="s-1"),
    ),
    "langfuse": (
        {
            "langfuse.observation.type": "tool",
            "langfuse.observation.input": '{"args": ["Berlin"], "kwargs": {}}',
            "langfuse.observation.output": json.dumps(WEATHER),
            "langfuse.observation.cost_details": '{"input": 0.25, "total": 0.5}',
            "session.id": "s-1",
        },
        {"scope": "langfuse-sdk", "name": "get_weather"},
        told(
            arguments='{"args":["Berlin"],"kwargs":{}}',
            unnamed_arguments=True,
            session="s-1",
            cost_usd=0.5,
        ),
    ),
    "langfuse-callback": (
        {
            "langfuse.observation.type": "span",
            "langfuse.observation.input": {"city": "Berlin"},
            "langfuse.observation.output": {
                "content": [{"city": "Berlin", "temp_c": 15.5}],
                "type": "tool",
                "tool_call_id": "c-1",
            },
        },
        {"scope": "langfuse-sdk", "name": "get_weather"},
        told(result=f"[{WEATHER_TEXT}]", call_id="c-1"),
    ),
    "openllmetry-mcp": (
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": json.dumps(
                {"tool_name": "get_weather", "arguments": {"city": "Berlin"}}
            ),
            "traceloop.entity.output": json.dumps(
                [{"type": "text", "content": json.dumps(WEATHER)}]
            ),
            "traceloop.workflow.name": "customer-tools.mcp",
        },
        {"scope": "opentelemetry.instrumentation.mcp.instrumentation", "name": "get_weather.tool"},
        told(span_kind=2),
    ),
    "traceloop": (
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.version": 2,
            "traceloop.entity.input": '{"args": [], "kwargs": {"city": "Berlin"}}',
            "traceloop.entity.output": json.dumps(WEATHER),
            "traceloop.association.properties.session_id": "s-1",
            "traceloop.association.properties.user_id": "u-1",
        },
        {"scope": "traceloop.tracer", "name": "get_weather.tool"},
        told(version="2", session="s-1", user="u-1"),
    ),
    "mlflow": (
        {
            "mlflow.spanType": '"TOOL"',
            "mlflow.spanInputs": BERLIN,
            "mlflow.spanOutputs": json.dumps(WEATHER),
        },
        {"scope": "mlflow.tracing.provider", "name": "get_weather"},
        told(),
    ),
    "vercel-ai-sdk": (
        {
            "ai.operationId": "ai.toolCall",
            "operation.name": "ai.toolCall support-agent",
            "ai.toolCall.name": "get_weather",
            "ai.toolCall.id": "c-1",
            "ai.toolCall.args": BERLIN,
            "ai.toolCall.result": json.dumps(WEATHER),
            "ai.telemetry.metadata.sessionId": "s-1",
            "ai.telemetry.metadata.userId": "u-1",
            "ai.telemetry.functionId": "support-agent",
        },
        {"scope": "ai", "name": "ai.toolCall"},
        told(call_id="c-1", session="s-1", user="u-1", agent="support-agent"),
    ),
    "otel-genai-tool-name": (
        {
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": "c-1",
            "input.value": {"city": "Berlin"},
            "output.value": json.dumps(WEATHER),
        },
        {"scope": "ai.koog", "name": "tool.get_weather"},
        told(call_id="c-1"),
    ),
    "haystack": (
        {
            "haystack.component.type": "ToolInvoker",
            "haystack.component.input": json.dumps({"messages": []}),
            "haystack.component.output": json.dumps(
                {
                    "tool_messages": [
                        {
                            "role": "tool",
                            "content": [
                                {
                                    "tool_call_result": {
                                        "result": str(WEATHER),
                                        "origin": {
                                            "tool_name": "get_weather",
                                            "arguments": {"city": "Berlin"},
                                            "id": "c-1",
                                        },
                                        "error": False,
                                    }
                                }
                            ],
                        }
                    ]
                }
            ),
        },
        {"scope": "haystack", "name": "haystack.component.run"},
        told(call_id="c-1"),
    ),
    "prompt-flow": (
        {"framework": "promptflow", "span_type": "Tool", "function": "get_weather"},
        {
            "scope": "promptflow",
            "name": "get_weather",
            "events": (
                ("promptflow.function.inputs", {"payload": BERLIN}),
                ("promptflow.function.output", {"payload": json.dumps(WEATHER)}),
            ),
        },
        told(),
    ),
    "logfire-openai-agents": (
        {"name": "get_weather", "input": BERLIN, "output": json.dumps(WEATHER)},
        {"scope": "logfire.openai_agents", "name": "Function: {name}"},
        told(),
    ),
    "claude-code-execution": (
        {"success": "false", "tool_use_id": "toolu_1"},
        {"name": "claude_code.tool.execution"},
        told(
            "claude_code.tool.execution",
            arguments=None,
            result=None,
            failed=True,
            call_id="toolu_1",
        ),
    ),
    "claude-code": (
        {"tool_name": "Read", "tool_use_id": "toolu_1", "tool_input": '{"file_path": "/a"}'},
        {
            "name": "claude_code.tool",
            "events": (("tool.output", {"output": "line 1"}),),
        },
        told("Read", arguments='{"file_path":"/a"}', result='"line 1"', call_id="toolu_1"),
    ),
    "span-name": (
        {},
        {"scope": "gcp.vertex.agent", "name": "execute_tool get_weather", "status": 2},
        told(arguments=None, result=None, failed=True, identity_missing="not-captured"),
    ),
}


def test_every_row_of_the_table_has_a_fixture() -> None:
    assert [row.name for row in CONVENTIONS] == list(FIXTURES)


@pytest.mark.parametrize("name", FIXTURES)
def test_a_span_is_read_as_its_row_says(name: str, call_of: Callable[..., ToolCall]) -> None:
    attributes, fields, expected = FIXTURES[name]
    call = call_of(attributes, **fields)
    assert call.convention == name
    assert {key: getattr(call, key) for key in expected} == expected
    assert (call.input_hash is None) == (call.identity_missing is not None)
    assert (call.content_hash is None) == (call.content_missing is not None)


def test_rows_that_say_the_same_make_the_same_identity_and_content(
    call_of: Callable[..., ToolCall],
) -> None:
    """One tool with named arguments hashes alike, whichever library wrote the span."""
    plain = {
        name: call_of(attributes, **fields)
        for name, (attributes, fields, expected) in FIXTURES.items()
        if expected == told(**{k: v for k, v in expected.items() if k in ("call_id", "session")})
    }
    assert len(plain) >= 10
    assert len({call.input_hash for call in plain.values()}) == 1
    assert len({call.content_hash for call in plain.values()}) == 1


@pytest.mark.parametrize(
    ("attributes", "fields"),
    [
        (
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"},
            {"scope": "gcp.vertex.agent", "name": "execute_tool (merged)"},
        ),
        ({}, {"scope": "gcp.vertex.agent", "name": "execute_tool (merged)"}),
        (
            {"openinference.span.kind": "TOOL", "tool.name": "final_answer"},
            {"scope": "openinference.instrumentation.smolagents"},
        ),
        (
            {"openinference.span.kind": "TOOL"},
            {"scope": "openinference.instrumentation.dspy", "name": "finish.__call__"},
        ),
        ({"tools": ["get_weather"]}, {"scope": "pydantic-ai", "name": "running tools"}),
        (
            {"traceloop.span.kind": "server", "traceloop.entity.name": "mcp.server"},
            {"scope": "opentelemetry.instrumentation.mcp.instrumentation", "name": "mcp.server"},
        ),
        ({"openinference.span.kind": "CHAIN"}, {"name": "tools"}),
        ({"openinference.span.kind": "AGENT", "tool.name": "Wikipedia"}, {}),
        ({"gen_ai.operation.name": "chat", "gen_ai.tool.name": "get_weather"}, {}),
        ({"mcp.method.name": "tools/list"}, {"scope": "mcp-python-sdk"}),
        ({"haystack.component.type": "OpenAIChatGenerator"}, {"scope": "haystack"}),
        ({"span_type": "Function", "framework": "promptflow"}, {"scope": "promptflow"}),
        ({"span_type": "Tool"}, {}),
        ({"langfuse.observation.type": "span", "langfuse.observation.output": "text"}, {}),
        ({"langfuse.observation.type": "chain"}, {}),
        ({}, {"name": "claude_code.tool.blocked_on_user"}),
        ({"tool_name": "Read"}, {"name": "claude_code.hook"}),
        ({"http.method": "GET"}, {"name": "GET /tools"}),
        ({"gen_ai.operation.name": ["execute_tool"]}, {}),
        ({}, {}),
    ],
)
def test_what_is_no_call_of_a_tool_is_none(
    calls_of: Callable[..., list[ToolCall]],
    attributes: dict[str, object],
    fields: dict[str, Any],
) -> None:
    assert calls_of(attributes, **fields) == []


def test_every_marker_of_the_table_is_looked_for() -> None:
    assert {marker.key for row in CONVENTIONS for marker in row.markers} == set(MARKER_KEYS)


@pytest.mark.parametrize("kind", ["RETRIEVER", "EMBEDDING", "RERANKER", "TOOL"])
def test_openinference_kinds_stay_apart(call_of: Callable[..., ToolCall], kind: str) -> None:
    call = call_of({"openinference.span.kind": kind, "input.value": "refund policy"}, name="docs")
    assert call.kind == kind.lower()


@pytest.mark.parametrize(
    "key",
    ["gen_ai.tool.call.arguments", "input.value"],
    ids=["under the GenAI name", "under the OpenInference name"],
)
def test_both_families_may_stand_on_one_span(call_of: Callable[..., ToolCall], key: str) -> None:
    call = call_of(
        {
            "openinference.span.kind": "TOOL",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            key: BERLIN,
        }
    )
    assert (call.tool, call.arguments) == ("get_weather", '{"city":"Berlin"}')


@pytest.mark.parametrize(
    ("attributes", "fields", "expected"),
    [
        (
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "get_weather",
                "input.value": "{'city': 'Berlin'}",
                "output.value": json.dumps(
                    {"output": f"content={json.dumps(WEATHER)!r} name='f' tool_call_id='c-1'"}
                ),
            },
            {"scope": "openinference.instrumentation.langchain"},
            told(call_id="c-1", unnamed_arguments=False),
        ),
        (
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "get_weather",
                "traceloop.entity.input": json.dumps(
                    {"input_str": "{'city': 'Berlin'}", "tags": [], "metadata": {"step": 1}}
                ),
                "traceloop.entity.output": json.dumps({"output": WEATHER, "kwargs": {}}),
            },
            {"scope": "opentelemetry.instrumentation.langchain", "name": "get_weather.tool"},
            told(convention="openllmetry-langchain"),
        ),
        (
            {
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.arguments": BERLIN,
                "gen_ai.tool.call.result": json.dumps(WEATHER),
            },
            {"scope": "pydantic-ai", "name": "execute_tool get_weather"},
            told(convention="pydantic-ai"),
        ),
        (
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.arguments": BERLIN,
                "gen_ai.tool.call.result": json.dumps([{"text": json.dumps(WEATHER)}]),
            },
            {"scope": "strands.telemetry.tracer"},
            told(convention="strands"),
        ),
        (
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.arguments": BERLIN,
                "gen_ai.tool.call.result": json.dumps(WEATHER),
            },
            {"scope": "gcp.vertex.agent"},
            told(convention="google-adk"),
        ),
        (
            {
                "langsmith.span.kind": "retriever",
                "gen_ai.operation.name": "embeddings",
                "gen_ai.prompt": '{"query": "refunds"}',
                "gen_ai.completion": "{}",
            },
            {"scope": "langsmith", "name": "docs", "status": 2},
            told(
                "docs",
                kind=CallKind.RETRIEVER,
                arguments='{"query":"refunds"}',
                result="{}",
                failed=True,
            ),
        ),
        (
            {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.arguments": BERLIN,
                "gen_ai.tool.call.result": json.dumps(
                    {"content": [{"type": "text", "text": json.dumps(WEATHER)}], "isError": False}
                ),
            },
            {"scope": "my.mcp.server", "name": "tools/call get_weather", "kind": 2},
            told(convention="otel-genai", span_kind=2),
        ),
    ],
    ids=[
        "OpenInference LangChain 0.1.29",
        "OpenLLMetry LangChain 0.38",
        "pydantic-ai format 3",
        "Strands with content in attributes",
        "Google ADK 2",
        "a failed LangSmith retriever",
        "MCP with content",
    ],
)
def test_other_versions_of_a_library(
    call_of: Callable[..., ToolCall],
    attributes: dict[str, object],
    fields: dict[str, Any],
    expected: dict[str, object],
) -> None:
    call = call_of(attributes, **fields)
    assert {key: getattr(call, key) for key in expected} == expected


ODD_VALUES = (
    None, "", "x", "{", '{"a": [', "[[", "null", 0, -1, 1.5, float("nan"), True, b"\xff", [],
    [None], {}, {"a": {}}, {"": None}, [{"type": "text"}], [[1], {}], "\ud800",
    "{'a': <b>}", "content='",
)  # fmt: skip


@pytest.mark.parametrize("name", FIXTURES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_odd_values_never_break_the_reading(name: str, data: st.DataObject) -> None:
    """Any attribute may hold anything: at worst the call says what is missing."""
    attributes, fields, _ = FIXTURES[name]
    changed: dict[str, Any] = {
        key: data.draw(st.sampled_from([value, *ODD_VALUES])) for key, value in attributes.items()
    }
    events = [
        Event(event, {key: data.draw(st.sampled_from(ODD_VALUES)) for key in told_there})
        for event, told_there in fields.get("events", ())
    ]
    span = Span(
        "trace-1",
        "span-1",
        None,
        fields.get("name", "a span"),
        1,
        2,
        changed,
        Resource(),
        events=events,
        scope=fields.get("scope", ""),
    )
    extractor = Extractor(ExtractSettings())
    for call in extractor.calls(span):
        assert (call.input_hash is None) == (call.identity_missing is not None)
        assert (call.content_hash is None) == (call.content_missing is not None)
        assert call.arguments is None or json.loads(call.arguments) is not None
    extractor.mentions(span)
