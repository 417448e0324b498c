"""One span of a step tells of all its calls."""

from __future__ import annotations

import json
from collections.abc import Callable

from visceral_cli.calls.tool_call import ToolCall


def asked(tool: str, call_id: str, **arguments: object) -> dict[str, object]:
    return {"tool_name": tool, "arguments": arguments, "id": call_id, "extra": None}


def answered(call: dict[str, object], result: str, error: bool = False) -> dict[str, object]:
    return {"content": [{"tool_call_result": {"result": result, "origin": call, "error": error}}]}


BERLIN, PARIS = asked("weather", "c-1", city="Berlin"), asked("weather", "c-2", city="Paris")
EARLIER = {"role": "assistant", "content": [{"tool_call": asked("earlier", "c-0")}]}
STEP = {
    "haystack.component.type": "ToolInvoker",
    "haystack.component.input": json.dumps(
        {
            "messages": [
                EARLIER,
                {"role": "assistant", "content": [{"tool_call": BERLIN}, {"tool_call": PARIS}]},
            ]
        }
    ),
}


def test_each_answered_call_is_a_call_with_its_own_outcome(
    calls_of: Callable[..., list[ToolCall]],
) -> None:
    output = {"tool_messages": [answered(BERLIN, "{'t': 15}"), answered(PARIS, "boom", error=True)]}
    first, second = calls_of(
        STEP | {"haystack.component.output": json.dumps(output)}, scope="haystack"
    )
    assert (first.position, first.call_id, first.arguments) == (0, "c-1", '{"city":"Berlin"}')
    assert (first.failed, first.result) == (False, '{"t":15}')
    assert (second.position, second.call_id, second.failed) == (1, "c-2", True)
    assert (second.content_hash, second.content_missing) == (None, "failed")


def test_a_step_that_broke_off_tells_what_was_asked_but_not_the_history(
    calls_of: Callable[..., list[ToolCall]],
) -> None:
    calls = calls_of(STEP, scope="haystack")
    assert [call.arguments for call in calls] == ['{"city":"Berlin"}', '{"city":"Paris"}']
    assert {call.content_missing for call in calls} == {"not-captured"}


def test_reprs_of_messages_tell_the_same(calls_of: Callable[..., list[ToolCall]]) -> None:
    def call(city: str, call_id: str) -> str:
        return f"ToolCall(tool_name='weather', arguments={{'city': '{city}'}}, id='{call_id}')"

    results = [
        "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result=\"it's 15\", "
        f"origin={call('Berlin', 'c-1')}, error=False)], _name=None)",
        "ChatMessage(_role=<ChatRole.TOOL: 'tool'>, _content=[ToolCallResult(result='boom', "
        f"origin={call('Paris', 'c-2')}, error=True)], _name=None)",
    ]
    attributes = {
        "openinference.span.kind": "CHAIN",
        "output.value": json.dumps({"tool_messages": results}),
    }
    fields = {"scope": "openinference.instrumentation.haystack", "name": "ToolInvoker.run"}
    first, second = calls_of(attributes, **fields)
    assert (first.result, first.failed, first.call_id) == ('"it\'s 15"', False, "c-1")
    assert (second.failed, second.arguments) == (True, '{"city":"Paris"}')


def test_a_step_without_readable_messages_is_no_call(
    calls_of: Callable[..., list[ToolCall]],
) -> None:
    for output in ("no json", "[]", '{"tool_messages": 1}', '{"tool_messages": [{"content": 1}]}'):
        attributes = {"haystack.component.type": "ToolInvoker", "haystack.component.output": output}
        assert calls_of(attributes, scope="haystack") == []
