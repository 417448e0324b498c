"""Model spans and log records tell arguments and results by the id of the call or span."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from visceral_cli.calls import mentions
from visceral_cli.calls.mentions import answer_keys, comparable, of_log
from visceral_cli.calls.tool_call import Mention
from visceral_cli.ingest.span import LogRecord, Span

ARGUMENTS = {"city": "Berlin"}
ASKED = Mention("trace-1", None, "c-1", "get_weather", "arguments", '{"city":"Berlin"}')
PART = {"type": "tool_call", "id": "c-1", "name": "get_weather", "arguments": ARGUMENTS}


def of_span(span: Span) -> list[Mention]:
    return mentions.of_span(span, answer_keys(span.attributes))


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.output.messages": compact([{"role": "assistant", "parts": [PART]}])},
        {"gen_ai.output.messages": [{"role": "assistant", "parts": [PART]}]},
        {
            "gen_ai.output.messages": compact(
                [{"parts": [PART | {"arguments": compact(ARGUMENTS)}]}]
            )
        },
        {
            "ai.response.toolCalls": compact(
                [{"toolCallId": "c-1", "toolName": "get_weather", "input": compact(ARGUMENTS)}]
            )
        },
        {
            "ai.response.toolCalls": compact(
                [{"toolCallId": "c-1", "toolName": "get_weather", "args": ARGUMENTS}]
            )
        },
        {
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c-1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": compact(
                ARGUMENTS
            ),
        },
        {
            "gen_ai.completion.0.tool_calls.0.id": "c-1",
            "gen_ai.completion.0.tool_calls.0.name": "get_weather",
            "gen_ai.completion.0.tool_calls.0.arguments": compact(ARGUMENTS),
        },
        {
            "gcp.vertex.agent.llm_response": compact(
                {
                    "content": {
                        "parts": [
                            {
                                "function_call": {
                                    "id": "c-1",
                                    "name": "get_weather",
                                    "args": ARGUMENTS,
                                }
                            }
                        ]
                    }
                }
            )
        },
        {
            "output.value": json.dumps(
                [
                    {
                        "type": "function_call",
                        "call_id": "c-1",
                        "id": "fc-9",
                        "name": "get_weather",
                        "arguments": compact(ARGUMENTS),
                    }
                ]
            )
        },
        {
            "events": compact(
                [
                    {
                        "event.name": "gen_ai.assistant.message",
                        "tool_calls": [{"id": "c-0", "function": {"name": "f", "arguments": "{}"}}],
                    },
                    {
                        "event.name": "gen_ai.choice",
                        "message": {
                            "tool_calls": [
                                {
                                    "id": "c-1",
                                    "function": {
                                        "name": "get_weather",
                                        "arguments": compact(ARGUMENTS),
                                    },
                                }
                            ]
                        },
                    },
                ]
            )
        },
    ],
    ids=[
        "GenAI parts",
        "GenAI parts, structured",
        "GenAI parts, arguments as text",
        "AI SDK 6",
        "AI SDK 4",
        "OpenInference",
        "OpenLLMetry",
        "Google ADK",
        "OpenAI Responses",
        "pydantic-ai events",
    ],
)
def test_a_model_span_tells_the_arguments_it_asks_with(
    span_of: Callable[..., Span], attributes: dict[str, object]
) -> None:
    assert of_span(span_of(attributes)) == [ASKED]


def test_strands_asks_in_a_span_event(span_of: Callable[..., Span]) -> None:
    asked = [{"toolUse": {"toolUseId": "c-1", "name": "get_weather", "input": ARGUMENTS}}]
    events = (
        ("gen_ai.assistant.message", {"content": compact(asked)}),
        ("gen_ai.choice", {"finish_reason": "tool_use", "message": compact(asked)}),
    )
    assert of_span(span_of({}, events=events)) == [ASKED]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.input.messages": compact([{"role": "assistant", "parts": [PART]}])},
        {
            "gen_ai.output.messages": compact(
                [{"parts": [{"type": "text", "content": "tool_call"}]}]
            )
        },
        {"gen_ai.output.messages": compact([{"parts": [PART | {"id": None}]}])},
        {"gen_ai.output.messages": '[{"parts": [{"type": "tool_call", "id": "c-1", '},
        {"output.value": '"function_call"'},
        {"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f"},
        {},
    ],
    ids=["history", "a text", "no id", "cut", "a text alone", "no arguments", "nothing"],
)
def test_what_asks_for_no_call_by_id_tells_nothing(
    span_of: Callable[..., Span], attributes: dict[str, object]
) -> None:
    assert of_span(span_of(attributes)) == []


@pytest.mark.parametrize("as_text", [False, True])
def test_two_records_of_one_request_tell_comparable_texts(
    span_of: Callable[..., Span], as_text: bool
) -> None:
    messages = [{"parts": [PART | {"arguments": '{ "city": "Berlin" }'}]}]
    (told,) = of_span(
        span_of({"gen_ai.output.messages": json.dumps(messages) if as_text else messages})
    )
    assert told.text == '{ "city": "Berlin" }'
    assert comparable(told.text) == comparable(ASKED.text) == '{"city":"Berlin"}'


@pytest.mark.parametrize("text", ["Berlin", '"{}"', "[1,  2]", "{'a': 1}", "{"])
def test_a_text_that_is_no_object_is_compared_as_it_is(text: str) -> None:
    assert comparable(text) == text


def test_several_calls_of_several_messages_are_all_told(span_of: Callable[..., Span]) -> None:
    attributes = {
        f"llm.output_messages.{message}.message.tool_calls.{call}.tool_call.{key}": value
        for message in range(2)
        for call in range(2)
        for key, value in (
            ("id", f"c-{message}{call}"),
            ("function.name", "f"),
            ("function.arguments", "{}"),
        )
    }
    told = [mention.call_id for mention in of_span(span_of(attributes))]
    assert told == ["c-00", "c-01", "c-10", "c-11"]


def log(event: str, body: object, attributes: dict[str, object] | None = None) -> LogRecord:
    return LogRecord("trace-1", "span-1", event, body, attributes or {})


def test_aws_moves_the_content_of_a_span_into_a_log_record() -> None:
    body = {
        "input": {"messages": [{"role": "user", "content": "{'city': 'Berlin'}"}]},
        "output": {"messages": [{"role": "assistant", "content": {"message": "sunny"}}]},
    }
    arguments, result = of_log(log("strands.telemetry.tracer", body))
    assert (arguments.span_id, arguments.what, arguments.text) == (
        "span-1",
        "arguments",
        "{'city': 'Berlin'}",
    )
    assert (result.what, result.text) == ("result", "sunny")
    assert of_log(log("strands.telemetry.tracer", json.dumps(body))) == [arguments, result]


def test_genai_events_as_log_records() -> None:
    choice = {
        "message": {"tool_calls": [{"id": "c-1", "function": {"name": "f", "arguments": "{}"}}]}
    }
    (asked,) = of_log(log("gen_ai.choice", choice))
    assert (asked.call_id, asked.what, asked.text) == ("c-1", "arguments", "{}")
    (result,) = of_log(log("gen_ai.tool.message", {"id": "c-1", "content": "sunny"}))
    assert (result.call_id, result.what, result.text) == ("c-1", "result", "sunny")
    messages = {"gen_ai.output.messages": compact([{"parts": [PART]}])}
    assert of_log(log("gen_ai.client.inference.operation.details", None, messages)) == [ASKED]


def test_coding_agents_log_the_outcome_of_a_call() -> None:
    codex = {"call_id": "c-1", "tool_name": "shell", "arguments": "{}", "output": "ok"}
    told = of_log(log("codex.tool_result", None, codex))
    assert [(mention.what, mention.text) for mention in told] == [
        ("arguments", "{}"),
        ("result", "ok"),
    ]
    claude = {"tool_use_id": "c-1", "tool_name": "Read", "tool_input": '{"file_path":"/a"}'}
    (only,) = of_log(log("claude_code.tool_result", None, claude))
    assert (only.what, only.call_id) == ("arguments", "c-1")


@pytest.mark.parametrize("body", [None, "text", 7, [], {"input": 1, "output": {"messages": []}}])
def test_other_log_records_tell_nothing(body: object) -> None:
    assert of_log(log("anything", body)) == []
