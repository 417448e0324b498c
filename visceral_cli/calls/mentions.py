"""Arguments and results of a call that other records tell: model spans and log records.

A model names the calls it asks for by id, with their arguments; where a tool's own span has no
content, that is where it is. Only what a model answered is read, never the history it was given:
that repeats every earlier call. Log records tell the content of the span they belong to (AWS's
distribution moves it there), or of a call by its id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import cast

import msgspec

from visceral_cli.calls.canonical import (
    NOT_DECODED,
    NotJson,
    canonical_text,
    decode_plain,
    parse_json,
)
from visceral_cli.calls.span_group import SpanGroup, SpansTogether
from visceral_cli.calls.tool_call import Mention
from visceral_cli.contract.identity import NotCanonical
from visceral_cli.ingest.span import LogRecord, Span

ARGUMENTS, RESULT = "arguments", "result"
"""What a mention may tell."""

MAX_DEPTH = 8
"""How deep in a message a request for a call is looked for."""

_Object = Mapping[str, object]

_ANSWERS = (
    ("gen_ai.output.messages", '"tool_call"'),
    ("ai.response.toolCalls", "toolCallId"),
    ("gcp.vertex.agent.llm_response", "function_call"),
    ("output.value", '"function_call"'),
    ("langfuse.observation.output", "tool_calls"),
)
"""Attributes with a model's answer, and the text without which it asks for nothing."""

_FLATTENED = (
    (
        "llm.output_messages.{}.message.tool_calls.{}.tool_call.",
        "id",
        "function.name",
        "function.arguments",
    ),
    ("gen_ai.completion.{}.tool_calls.{}.", "id", "name", "arguments"),
)
_IDS = ("id", "call_id", "toolCallId", "toolUseId", "tool_call_id")
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "args", "input")
_WRAPPERS = ("toolUse", "function_call", "functionCall", "tool_call", "function")
_WITHIN = (
    "parts", "tool_calls", "toolCalls", "message", "messages", "content", "generations", "kwargs",
    "output", "choices",
)  # fmt: skip
_OPERATION, _EXECUTES = "gen_ai.operation.name", "execute_tool"
_TOOL_EVENT, _CHOICE_EVENT = "gen_ai.tool.message", "gen_ai.choice"


class _Asked(msgspec.Struct, frozen=True):
    call_id: str
    tool: str | None
    arguments: str


_KEYS = frozenset(
    {
        *(key for key, _ in _ANSWERS),
        *(prefix.format(0, 0) + name for prefix, _, name, _ in _FLATTENED),
        "events",
    }
)


class AnswerKeys(msgspec.Struct, frozen=True):
    """The keys of a span under which a model may ask for calls."""

    answers: tuple[tuple[str, str], ...]
    """Attributes with an answer, and the text without which it asks for nothing."""
    flattened: tuple[tuple[str, str, str], ...]
    """Keys of id, name and arguments of requests that stand in attributes of their own."""
    has_events: bool
    """Whether there is pydantic-ai's attribute of events."""


class _Part(msgspec.Struct):
    """A part of a message of the GenAI conventions; other fields are passed over."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct):
    parts: list[_Part] = []


_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_text = msgspec.json.Decoder(str).decode


def answer_keys(keys: Collection[str]) -> AnswerKeys | None:
    """Return under which of a span's keys calls may be asked for, or ``None``."""
    if _KEYS.isdisjoint(keys):
        return None
    answers = tuple((key, needed) for key, needed in _ANSWERS if key in keys)
    return AnswerKeys(answers, tuple(_flattened_keys(keys)), "events" in keys)


def of_span(span: Span, keys: AnswerKeys | None) -> list[Mention]:
    """Return the arguments of the calls that a model span asks for.

    ``keys`` are what :func:`answer_keys` returns for the span's.
    """
    if span.attributes.get(_OPERATION) == _EXECUTES:
        return []
    found = [] if keys is None else _asked_by(SpansTogether((span,)), keys).get(0, [])
    for event in span.events:
        if event.name == _CHOICE_EVENT:
            for value in event.attributes.values():
                found += _asked_in(_parsed(value, "ool"))
    return _mentions(span.trace_id, found)


def of_spans(spans: SpanGroup, keys: AnswerKeys) -> list[Mention]:
    """Return the arguments of the calls that model spans ask for; ``keys`` are those of all."""
    trace_ids = spans.field("trace_id")
    operations = spans.column(_OPERATION) if _OPERATION in spans.keys else [None] * len(spans)
    return [
        mention
        for place, found in _asked_by(spans, keys).items()
        if operations[place] != _EXECUTES
        for mention in _mentions(trace_ids[place], found)
    ]


def _asked_by(spans: SpanGroup, keys: AnswerKeys) -> dict[int, list[_Asked]]:
    """Return what spans ask for under their attributes, by place; most ask for nothing."""
    asked: defaultdict[int, list[_Asked]] = defaultdict(list)
    for key, needed in keys.answers:
        for place, value in enumerate(spans.column(key)):
            if value is not None and (not isinstance(value, str) or needed in value):
                quick = _quickly_asked(value) if key == "gen_ai.output.messages" else None
                asked[place] += _asked_in(_parsed(value, needed)) if quick is None else quick
    for request in keys.flattened:
        columns = (
            spans.column(key) if key in spans.keys else [None] * len(spans) for key in request
        )
        for place, (call_id, name, told) in enumerate(zip(*columns, strict=True)):
            arguments = _text(told)
            if isinstance(call_id, str) and arguments is not None:
                asked[place].append(_Asked(call_id, str(name), arguments))
    if keys.has_events:  # pydantic-ai formats 1: its messages as one attribute
        for place, value in enumerate(spans.column("events")):
            asked[place] += _asked_in(_choices(_parsed(value, "tool_calls")))
    return asked


def of_log(record: LogRecord) -> list[Mention]:
    """Return the arguments and results that a log record holds."""
    body = _parsed(record.body, "{")
    if record.event_name == _TOOL_EVENT:
        return _results_by_id(record, body)
    if record.event_name in ("codex.tool_result", "claude_code.tool_result"):
        return _coding_agent(record)
    told = _mentions(record.trace_id, _asked_in(body))
    if "gen_ai.output.messages" in record.attributes:
        answer = _parsed(record.attributes["gen_ai.output.messages"], '"tool_call"')
        told += _mentions(record.trace_id, _asked_in(answer))
    if isinstance(body, dict) and "input" in body and "output" in body:
        told += _content_of_span(record, body)
    return told


def _mentions(trace_id: str, found: list[_Asked]) -> list[Mention]:
    distinct = dict.fromkeys(found) if len(found) > 1 else found
    return [
        Mention(trace_id, None, asked.call_id, asked.tool, ARGUMENTS, asked.arguments)
        for asked in distinct
    ]


def _quickly_asked(value: object) -> list[_Asked] | None:
    """Read messages in the shape of the conventions, or return ``None``."""
    if not isinstance(value, str):
        return None
    try:
        messages = _decode_messages(value)
    except (msgspec.MsgspecError, ValueError):
        return None
    found = []
    for message in messages:
        for part in message.parts:
            if part.type == "tool_call" and part.id is not None:
                raw = bytes(part.arguments)
                text = _decode_text(raw) if raw[:1] == b'"' else raw.decode()
                if part.name is not None and text:
                    found.append(_Asked(part.id, part.name, text))
    return found


def _parsed(value: object, needed: str) -> object:
    """Return an attribute's value, JSON text read, or ``None`` if it lacks a text."""
    if not isinstance(value, str):
        return value
    if needed not in value:
        return None
    try:
        return parse_json(value).value
    except NotJson:
        return None


def _asked_in(value: object, depth: int = 0) -> list[_Asked]:
    return list(_walk(value, depth)) if value is not None else []


def _walk(value: object, depth: int) -> Iterator[_Asked]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, str) and '"tool_calls"' in value:
        value = _parsed(value, "{")
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, depth + 1)
    elif isinstance(value, dict):
        asked = _request(value)
        if asked is not None:
            yield asked
            return
        for key in _WITHIN:
            if key in value:
                yield from _walk(value[key], depth + 1)


def _request(item: _Object) -> _Asked | None:
    """Return the request for a call that one object is, in any of the shapes libraries write."""
    inner = item
    for wrapper in _WRAPPERS:
        wrapped = item.get(wrapper)
        if isinstance(wrapped, dict):
            inner = cast("_Object", wrapped)
            break
    call_id = _first(inner, _IDS) or _first(item, _IDS)
    # An answer's own id stands beside call_id (OpenAI's Responses API).
    call_id = item.get("call_id", call_id)
    name = _first(inner, _NAMES)
    arguments = _first(inner, _ARGUMENTS)
    text = _text(arguments)
    if call_id is None or name is None or text is None:
        return None
    identifier = call_id if isinstance(call_id, str) else _text(call_id)
    return None if identifier is None else _Asked(identifier, str(name), text)


def _first(item: _Object, keys: tuple[str, ...]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _text(value: object) -> str | None:
    """Return a text as it is, and any other value as canonical JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return None
    try:
        return canonical_text(value, plain=False)
    except NotCanonical:
        return None


def comparable(text: str) -> str:
    """Return the text of a mention so that equal ones are equal: an object as canonical JSON."""
    if text[:1] != "{":
        return text
    try:
        return canonical_text(decode_plain(text), plain=True)
    except NOT_DECODED:
        pass
    try:
        parsed = parse_json(text)
        return canonical_text(parsed.value, plain=parsed.plain)
    except (NotJson, NotCanonical):
        return text


def _choices(events: object) -> object:
    if not isinstance(events, list):
        return None
    return [
        event.get("message")
        for event in events
        if isinstance(event, dict) and event.get("event.name") == _CHOICE_EVENT
    ]


def _flattened_keys(keys: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of requests in attributes of their own, numbered by message and by call."""
    for prefix, id_key, name_key, arguments_key in _FLATTENED:
        message = 0
        while f"{prefix.format(message, 0)}{name_key}" in keys:
            call = 0
            while f"{prefix.format(message, call)}{name_key}" in keys:
                start = prefix.format(message, call)
                yield start + id_key, start + name_key, start + arguments_key
                call += 1
            message += 1


def _results_by_id(record: LogRecord, body: object) -> list[Mention]:
    item = body if isinstance(body, dict) else record.attributes
    call_id, content = item.get("id"), _text(item.get("content"))
    if not isinstance(call_id, str) or content is None:
        return []
    return [Mention(record.trace_id, None, call_id, None, RESULT, content)]


def _coding_agent(record: LogRecord) -> list[Mention]:
    get = record.attributes.get
    call_id = get("call_id") or get("tool_use_id")
    if not isinstance(call_id, str):
        return []
    tool = get("tool_name")
    name = tool if isinstance(tool, str) else None
    told = (
        (ARGUMENTS, _text(get("arguments") or get("tool_input"))),
        (RESULT, _text(get("output"))),
    )
    return [
        Mention(record.trace_id, None, call_id, name, what, text)
        for what, text in told
        if text is not None
    ]


def _content_of_span(record: LogRecord, body: _Object) -> list[Mention]:
    """Read one input and one output message as the content of the span that the record names."""
    told = ((ARGUMENTS, _only_message(body["input"])), (RESULT, _only_message(body["output"])))
    return [
        Mention(record.trace_id, record.span_id, None, None, what, text)
        for what, text in told
        if text is not None and record.span_id
    ]


def _only_message(side: object) -> str | None:
    messages = side.get("messages") if isinstance(side, dict) else side
    if isinstance(messages, list):
        if len(messages) != 1:
            return None
        messages = messages[0]
    for _ in range(2):
        if not isinstance(messages, dict):
            break
        messages = messages.get("content", messages.get("message"))
    return _text(messages) if isinstance(messages, str | dict | list) else None
