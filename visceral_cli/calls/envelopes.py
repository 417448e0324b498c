"""The known envelopes around arguments: what is inside, or that it is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

import msgspec

from visceral_cli.calls.canonical import NotJson, parse_json
from visceral_cli.calls.convention import Envelope
from visceral_cli.calls.literals import NotLiteral, read_literal
from visceral_cli.contract.identity import NotCanonical

LONE = "input"
"""The name that stands for the lost name of a lone argument."""


class Opened(msgspec.Struct, frozen=True, gc=False):
    """What an envelope held."""

    value: object
    unnamed: bool = False
    """Whether ``value`` is ``{"input": ...}`` or ``{"args": ..., "kwargs": ...}``."""
    call_id: str | None = None
    plain: bool = True
    """As `Parsed.plain` for what was read here out of an inner text."""


def as_text_or_none(value: object) -> str | None:
    """Return a text that is not empty, else ``None``."""
    return value if isinstance(value, str) and value else None


def positional(
    args: Sequence[object], kwargs: Mapping[str, object], names: Sequence[str]
) -> Opened:
    """Give the positional arguments their names; without names both parts stay as they are.

    A method's ``self`` stays the first of them: its state may change the result, so leaving it out
    could make two different calls look equal.
    """
    if not args:
        return Opened(kwargs)
    taken = names[: len(args)]
    if len(taken) == len(args) and not any(name in kwargs for name in taken):
        return Opened({**dict(zip(taken, args, strict=True)), **kwargs})
    return Opened({"args": list(args), "kwargs": dict(kwargs)}, unnamed=True)


_ARGS_KWARGS_KEYS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
_NAMED_KEYS = frozenset({"tool_name", "name", "arguments", "_meta", "meta"})


def _args_kwargs(value: dict[str, object], names: Sequence[str]) -> Opened | None:
    if not _ARGS_KWARGS_KEYS.issuperset(value) or not ("args" in value or "kwargs" in value):
        return None
    args, kwargs = value.get("args", []), value.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return None
    return positional(args, kwargs, names)


def _callback(value: dict[str, object], names: Sequence[str]) -> Opened | None:
    if "input_str" not in value and not ("inputs" in value and "metadata" in value):
        return None
    bookkeeping = value.get("kwargs")
    call_id = bookkeeping.get("tool_call_id") if isinstance(bookkeeping, dict) else None
    known_id = as_text_or_none(call_id)
    inputs = value.get("inputs")
    if isinstance(inputs, dict):
        return Opened(inputs, call_id=known_id)
    text = inputs if isinstance(inputs, str) else value.get("input_str")
    if not isinstance(text, str):
        return None
    read = object_in(text)
    if read is not None:
        return Opened(read, call_id=known_id, plain=False)
    return Opened({LONE: text}, unnamed=True, call_id=known_id)


def object_in(text: str) -> dict[str, object] | None:
    """Return the object that a text is as JSON or as a Python literal, else ``None``."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = parse_json(text).value
    except NotJson:
        try:
            value = read_literal(text)
        except (NotLiteral, NotCanonical):
            return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _named(value: dict[str, object], names: Sequence[str]) -> Opened | None:
    if "arguments" not in value or not _NAMED_KEYS.issuperset(value):
        return None
    arguments = value["arguments"]
    return Opened({} if arguments is None else arguments)


def _tool_input(value: dict[str, object], names: Sequence[str]) -> Opened | None:
    if len(value) != 1 or "tool_input" not in value:
        return None
    inner = value["tool_input"]
    if isinstance(inner, dict):
        return Opened(inner)
    return Opened({LONE: inner}, unnamed=True)


def _query_bundle(value: dict[str, object], names: Sequence[str]) -> Opened | None:
    bundle = value.get("query_bundle")
    if not isinstance(bundle, dict) or "query_str" not in bundle:
        return None
    others = {name: item for name, item in bundle.items() if item is not None}
    query = others.pop("query_str", None)
    beside = {name: item for name, item in value.items() if name != "query_bundle"}
    return Opened({"query": query, **others, **beside})


OPENERS: Mapping[Envelope, Callable[[dict[str, object], Sequence[str]], Opened | None]] = (
    MappingProxyType(
        {
            Envelope.ARGS_KWARGS: _args_kwargs,
            Envelope.CALLBACK: _callback,
            Envelope.NAMED: _named,
            Envelope.TOOL_INPUT: _tool_input,
            Envelope.QUERY_BUNDLE: _query_bundle,
        }
    )
)
"""How each envelope of arguments is opened: value and names of positions in, contents out."""
