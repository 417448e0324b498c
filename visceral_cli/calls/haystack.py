"""Haystack runs all calls of a step in one ToolInvoker: one span tells of several calls.

Its own tracer writes the messages as JSON; under OpenInference each message is the ``repr`` of its
dataclass. The results name the call they answer, with arguments, id and an error flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from visceral_cli.calls.canonical import NotJson, parse_json
from visceral_cli.calls.literals import Constructed, NotLiteral, read_constructed
from visceral_cli.contract.identity import NotCanonical


class ToldCall(NamedTuple):
    """One call of a step."""

    tool: str
    arguments: object
    result: object
    """``None`` when the step ended before there was one."""
    failed: bool
    call_id: str | None


def calls_in_messages(given: object, returned: object) -> list[ToldCall]:
    """Take a step apart whose input and output are JSON of messages."""
    results = [
        _told(item["tool_call_result"].get("origin"), item["tool_call_result"])
        for item in _content(returned, "tool_messages")
        if isinstance(item.get("tool_call_result"), dict)
    ]
    if results:
        return [call for call in results if call is not None]
    asked = [_told(item.get("tool_call"), None) for item in _content(given, "messages")[-64:]]
    return [call for call in asked if call is not None]


def _content(text: object, key: str) -> list[dict[str, dict[str, object]]]:
    """Return the content items of the last message that has calls, or of all results."""
    document = _parsed(text)
    messages = document.get(key) if isinstance(document, dict) else None
    if not isinstance(messages, list):
        return []
    if key == "messages":
        messages = messages[-1:]  # what came before is the history of earlier steps
    return [
        item
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for item in message["content"]
        if isinstance(item, dict)
    ]


def _parsed(text: object) -> object:
    if not isinstance(text, str):
        return text
    try:
        return parse_json(text).value
    except NotJson:
        return None


def _told(call: object, answer: dict[str, object] | None) -> ToldCall | None:
    if not isinstance(call, dict) or not isinstance(call.get("tool_name"), str):
        return None
    call_id = call.get("id")
    return ToldCall(
        call["tool_name"],
        call.get("arguments"),
        None if answer is None else answer.get("result"),
        answer is not None and answer.get("error") is True,
        call_id if isinstance(call_id, str) else None,
    )


def calls_in_reprs(given: object, returned: object) -> list[ToldCall]:
    """Take a step apart whose messages are texts with the ``repr`` of their dataclasses."""
    told = [
        call
        for text in _texts(_parsed(returned))
        for made in _constructed(text, "ToolCallResult(")
        if (call := _told_of(made.fields.get("origin"), made)) is not None
    ]
    if told:
        return told
    return [
        call
        for text in _texts(_parsed(given))[-1:]
        for made in _constructed(text, "ToolCall(")
        if (call := _told_of(made, None)) is not None
    ]


def _texts(document: object) -> list[str]:
    messages: object = document
    if isinstance(document, dict):
        messages = document.get("tool_messages", document.get("messages"))
    if isinstance(messages, str):
        return [messages]
    if isinstance(messages, list):
        return [text for text in messages if isinstance(text, str)]
    return []


def _constructed(text: str, start: str) -> Iterator[Constructed]:
    place = text.find(start)
    while place >= 0:
        try:
            made, end = read_constructed(text, place)
        except (NotLiteral, NotCanonical):
            end = place + len(start)
        else:
            yield made
        place = text.find(start, end)


def _told_of(call: object, answer: Constructed | None) -> ToldCall | None:
    if not isinstance(call, Constructed):
        return None
    return _told(dict(call.fields), None if answer is None else answer.fields)
