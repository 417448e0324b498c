"""The layers that frameworks put around a result: what is inside, or that it is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from visceral_cli.calls.convention import Envelope
from visceral_cli.calls.envelopes import as_text_or_none
from visceral_cli.calls.literals import read_literal_at


class Layer(msgspec.Struct, frozen=True, gc=False):
    """What one layer held."""

    value: object
    failed: bool = False
    call_id: str | None = None


_TEXT_BLOCK_KEYS = frozenset(
    {"type", "text", "content", "annotations", "meta", "_meta", "id", "index", "citations"}
)
_MCP_RESULT_KEYS = frozenset(
    {"content", "isError", "is_error", "structuredContent", "structured_content", "_meta", "meta"}
)
_MESSAGE_STARTS = ("content='", 'content="', "content=[")
_MESSAGE_END = re.compile(r" tool_call_id='[^']*'")
_MESSAGE_FIELD = re.compile(r" (tool_call_id|status)='([^']*)'")


def is_message_repr(text: str) -> bool:
    """Whether a text is what ``str()`` makes of a LangChain ToolMessage."""
    return text.startswith(_MESSAGE_STARTS) and _MESSAGE_END.search(text) is not None


def message_in_repr(text: str) -> dict[str, object]:
    """Return such a message as an object; raises `NotLiteral` and `NotCanonical`."""
    content, end = read_literal_at(text, len("content="))
    fields = dict(_MESSAGE_FIELD.findall(text, end))
    return {"tool_call_id": fields.pop("tool_call_id", None), **fields, "content": content}


def text_of_block(block: object) -> str | None:
    """Return the text of a content block that holds nothing else, else ``None``."""
    if not isinstance(block, dict) or block.get("type") != "text":
        return None
    if not _TEXT_BLOCK_KEYS.issuperset(block):
        return None
    text = block.get("text", block.get("content"))
    return text if isinstance(text, str) else None


def message_in(value: dict[str, object]) -> dict[str, object] | None:
    """Return a LangChain ToolMessage, plain or out of one of its two serialised forms."""
    message: object = value
    if value.get("type") == "tool" and isinstance(value.get("data"), dict):
        message = value["data"]
    elif value.get("type") == "constructor" and isinstance(value.get("kwargs"), dict):
        message = value["kwargs"]
    if not isinstance(message, dict) or "content" not in message or "tool_call_id" not in message:
        return None
    return message


def repeats_content(artifact: object) -> bool:
    """Whether an artifact is nothing, or MCP's structured copy of the content."""
    return artifact is None or (isinstance(artifact, dict) and set(artifact) <= _STRUCTURED)


_STRUCTURED = frozenset({"structured_content", "structuredContent"})


def mcp_result(value: dict[str, object]) -> Layer | None:
    """Open the result of an MCP call: its content, or what is structured if that is no text."""
    content = value.get("content")
    if not isinstance(content, list) or not _MCP_RESULT_KEYS.issuperset(value):
        return None
    failed = bool(value.get("isError") or value.get("is_error"))
    structured = value.get("structuredContent", value.get("structured_content"))
    if all(text_of_block(block) is not None for block in content) or structured is None:
        return Layer(content, failed)
    return Layer(structured, failed)


def _strands_content(value: object) -> Layer | None:
    if not isinstance(value, list) or not value:
        return None
    parts = [
        next(iter(block.values()))
        for block in value
        if isinstance(block, dict) and len(block) == 1 and next(iter(block)) in ("text", "json")
    ]
    if len(parts) != len(value):
        return None
    return Layer(parts[0] if len(parts) == 1 else parts)


def _result_key(value: object) -> Layer | None:
    if not isinstance(value, dict) or "result" not in value:
        return None
    if len(value) > 1 and set(value) != {"result", "is_error"}:
        return None
    return Layer(value["result"], failed=bool(value.get("is_error")))


def _response(value: object) -> Layer | None:
    if not isinstance(value, dict) or not {"name", "response"} <= set(value) <= _RESPONSE_KEYS:
        return None
    return Layer(value["response"], call_id=as_text_or_none(value.get("id")))


_RESPONSE_KEYS = frozenset({"id", "name", "response", "will_continue", "scheduling", "parts"})


def _output_key(value: object) -> Layer | None:
    if not isinstance(value, dict) or "output" not in value:
        return None
    return Layer(value["output"]) if set(value) <= {"output", "kwargs"} else None


def _tool_output(value: object) -> Layer | None:
    if not isinstance(value, dict) or "raw_output" not in value or "tool_name" not in value:
        return None
    return Layer(value["raw_output"], failed=bool(value.get("is_error")))


OPENERS: Mapping[Envelope, Callable[[object], Layer | None]] = MappingProxyType(
    {
        Envelope.STRANDS_CONTENT: _strands_content,
        Envelope.RESULT_KEY: _result_key,
        Envelope.RESPONSE: _response,
        Envelope.OUTPUT_KEY: _output_key,
        Envelope.TOOL_OUTPUT: _tool_output,
    }
)
"""How each envelope of results is opened: value in, contents out."""
