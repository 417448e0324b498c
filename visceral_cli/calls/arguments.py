"""What a tool was called with, from whatever a span holds, as one canonical JSON object.

The order is fixed:

1. the attribute (or span event) that the convention names;
2. placeholders, masks and marks of a cut end it: unknown arguments are never equal arguments;
3. text is read as JSON, else as a Python literal; a text that is neither is the only argument;
4. JSON text inside JSON text is read again;
5. the envelopes of the convention are opened;
6. the object is written as canonical JSON.

A lone argument whose name the span lost becomes ``{"input": value}``, with text kept as text: it
would be read as another type (``42``, ``true``) only if the MIME type said that it is JSON. The
query of a retriever becomes ``{"query": value}``. Positional arguments get their names from the
tool's schema where the span has one, and stay ``{"args": [...], "kwargs": {...}}`` otherwise.
Defaults that the library did not record are not filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from visceral_cli.calls import placeholders
from visceral_cli.calls.canonical import (
    NOT_DECODED,
    NotJson,
    Parsed,
    canonical_text,
    canonical_texts,
    decode_plain,
    parse_json,
)
from visceral_cli.calls.convention import Convention, Text
from visceral_cli.calls.envelopes import LONE, OPENERS, Opened, object_in
from visceral_cli.calls.literals import NotLiteral, read_literal
from visceral_cli.calls.tool_call import IdentityMissing
from visceral_cli.contract.identity import NotCanonical, canonical_json

MAX_NESTED_TEXTS = 3
"""How often a JSON text may hold a JSON text."""


_JSON = Text.JSON
"""Looked up once: reading a member off its class costs a tenth of a microsecond."""


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """The arguments of a call, or the reason why they are unknown."""

    missing: IdentityMissing | None
    value: Mapping[str, object] = {}
    text: str | None = None
    """Canonical JSON of ``value``; ``None`` exactly when ``missing`` says why."""
    unnamed: bool = False
    """Whether ``value`` is ``{"input": ...}`` or ``{"args": ..., "kwargs": ...}``."""
    call_id: str | None = None
    captured: object = None
    """The value before its envelopes were opened."""


class _Unknown(Exception):
    def __init__(self, reason: IdentityMissing) -> None:
        super().__init__(reason.value)
        self.reason = reason


def read_arguments(
    raw: object,
    row: Convention,
    *,
    text_form: Text = Text.JSON,
    mime: str | None = None,
    names: Sequence[str] = (),
    lone: str = LONE,
    beside: Mapping[str, object] | None = None,
) -> Arguments:
    """Read the arguments that a span holds as ``raw``.

    ``text_form`` says what a text without MIME type is: `Text.BARE` for the lone argument itself.
    ``names`` are the tool's parameters in order, ``lone`` the name for a single unnamed value, and
    ``beside`` are arguments that stand in attributes of their own.
    """
    try:
        if type(raw) is str and raw[:1] == "{" and text_form is _JSON and not beside:
            plain = _read_plain(raw, row, names, lone)
            if plain is not None:
                return plain
        parsed, unnamed = _value_of(raw, text_form, mime, lone)
        opened = _open(parsed.value, row, names, lone)
        value = cast("dict[str, object]", opened.value)
        if beside:
            value = {**beside, **value}
        if isinstance(raw, str) and not beside:
            text = canonical_text(value, plain=parsed.plain and opened.plain)
        else:
            text = _checked(canonical_json(value))
    except _Unknown as unknown:
        return Arguments(unknown.reason)
    except NotCanonical:
        return Arguments(IdentityMissing.NOT_CANONICAL)
    return Arguments(None, value, text, unnamed or opened.unnamed, opened.call_id, parsed.value)


_ENVELOPE_KEYS = frozenset(
    {"args", "arguments", "input_str", "inputs", "kwargs", "query_bundle", "tool_input"}
)
"""Without any of these keys an object is no envelope."""


def read_all_arguments(
    raws: Sequence[str], row: Convention, text_form: Text, mime: str | None
) -> list[Arguments]:
    """Read the arguments that spans hold as texts: what `read_arguments` gives for each, faster."""
    plain = _read_all_plain(raws, row) if text_form is _JSON else [None] * len(raws)
    return [
        read_arguments(raw, row, text_form=text_form, mime=mime) if read is None else read
        for raw, read in zip(raws, plain, strict=True)
    ]


def _read_all_plain(raws: Sequence[str], row: Convention) -> list[Arguments | None]:
    """Read JSON objects as :func:`_read_plain` does; ``None`` for what else there is."""
    look = placeholders.may_lack_arguments("\n".join(raws))
    opened: list[Opened | None] = []
    captured: list[object] = []
    for raw in raws:
        lacks = look and placeholders.may_lack_arguments(raw)
        value = None if lacks else _plain_object(raw)
        captured.append(value)
        opened.append(None if value is None else _open_plain(value, row))
    try:
        texts = canonical_texts([one.value for one in opened if one is not None])
    except NotCanonical:  # one of them has no canonical form
        return [None] * len(raws)
    next_text = iter(texts).__next__
    return [
        None
        if one is None
        else Arguments(None, one.value, next_text(), one.unnamed, one.call_id, value)  # type: ignore[arg-type]
        for value, one in zip(captured, opened, strict=True)
    ]


def _open_plain(value: dict[str, object], row: Convention) -> Opened | None:
    """Return what is in the envelopes of an object; ``None`` where that was not plainly read."""
    if not row.argument_envelopes or _ENVELOPE_KEYS.isdisjoint(value):
        return Opened(value)
    try:
        opened = _open(value, row, (), LONE)
    except _Unknown:
        return None
    return opened if opened.plain else None


def _plain_object(raw: str) -> dict[str, object] | None:
    if raw[:1] != "{":
        return None
    try:
        return cast("dict[str, object]", decode_plain(raw))
    except NOT_DECODED:
        return None


def _read_plain(raw: str, row: Convention, names: Sequence[str], lone: str) -> Arguments | None:
    """Read a JSON object whose floats are plain, or return ``None``: the most common case."""
    if placeholders.has_mask(raw) or placeholders.has_cut_marker(raw):
        return None
    value = _plain_object(raw)
    if value is None:
        return None
    if not row.argument_envelopes or _ENVELOPE_KEYS.isdisjoint(value):
        return Arguments(None, value, canonical_text(value, plain=True), False, None, value)
    opened = _open(value, row, names, lone)
    inner = cast("dict[str, object]", opened.value)
    text = canonical_text(inner, plain=opened.plain)
    return Arguments(None, inner, text, opened.unnamed, opened.call_id, value)


def _value_of(raw: object, form: Text, mime: str | None, lone: str) -> tuple[Parsed, bool]:
    """Return the value and whether it is a lone one whose name was made up here."""
    if raw is None:
        raise _Unknown(IdentityMissing.NOT_CAPTURED)
    if not isinstance(raw, str):
        return Parsed(raw, False), False
    text = _checked(raw)
    is_json = mime is not None and "json" in mime
    if form is Text.BARE and not is_json:
        # Only old writers wrote a whole dictionary here, with str(); JSON is a lone argument.
        literal = None if _is_json(text) else object_in(text)
        value = {lone: _whole(text)} if literal is None else literal
        return Parsed(value, False), literal is None
    return _decoded(text, is_json, lone)


def _checked(text: str) -> str:
    """Return ``text`` if nothing in it says that something else stood there."""
    if placeholders.is_not_captured(text):
        raise _Unknown(IdentityMissing.NOT_CAPTURED)
    if placeholders.has_mask(text) or placeholders.is_redacted(text):
        raise _Unknown(IdentityMissing.REDACTED)
    if placeholders.has_cut_marker(text):
        raise _Unknown(IdentityMissing.TRUNCATED)
    return text


def _whole(text: str) -> str:
    """Return a text that is an argument itself, if it is likely to be all of it."""
    if placeholders.ends_cut(text):
        raise _Unknown(IdentityMissing.TRUNCATED)
    return text


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except NotJson:
        return False
    return True


def _decoded(text: str, is_json: bool, lone: str) -> tuple[Parsed, bool]:
    for _ in range(MAX_NESTED_TEXTS):
        looks = text.lstrip()[:1]
        if not looks or (looks not in '{["(' and not is_json):
            break
        parsed = _parsed(text)
        if parsed is None:
            break
        if not isinstance(parsed.value, str):
            if isinstance(parsed.value, dict):
                return parsed, False
            return Parsed({lone: parsed.value}, parsed.plain), True
        text, is_json = parsed.value, False
    return Parsed({lone: _whole(text)}, False), True


def _parsed(text: str) -> Parsed | None:
    """Return the value of JSON or a literal; ``None`` for a text that only begins with ``(``."""
    try:
        return parse_json(text)
    except NotJson as problem:
        cut = problem.cut
    try:
        return Parsed(read_literal(text), False)
    except NotLiteral as problem:
        cut = cut or problem.cut
    if text.lstrip().startswith("("):
        return None
    cut = cut or placeholders.ends_cut(text)
    raise _Unknown(IdentityMissing.TRUNCATED if cut else IdentityMissing.UNPARSABLE)


def _open(value: object, row: Convention, names: Sequence[str], lone: str) -> Opened:
    opened = Opened(value)
    for envelope in row.argument_envelopes:
        if isinstance(opened.value, dict):
            inner = OPENERS[envelope](opened.value, names)
            if inner is not None:
                opened = Opened(
                    inner.value,
                    opened.unnamed or inner.unnamed,
                    inner.call_id or opened.call_id,
                    opened.plain and inner.plain,
                )
    if isinstance(opened.value, dict):
        return opened
    if opened.value is None:
        raise _Unknown(IdentityMissing.NOT_CAPTURED)
    return Opened({lone: opened.value}, unnamed=True, call_id=opened.call_id)


def parameter_names(schema: object) -> tuple[str, ...]:
    """Return the parameters in the order of a JSON schema, or of a bare map of properties."""
    if isinstance(schema, str):
        try:
            schema = parse_json(schema).value
        except NotJson:
            return ()
    if not isinstance(schema, dict):
        return ()
    properties = schema.get("properties", schema)
    if not isinstance(properties, dict) or not all(
        isinstance(item, dict) for item in properties.values()
    ):
        return ()
    return tuple(properties)
