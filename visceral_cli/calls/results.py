"""What a tool returned, reduced to its own value, as canonical JSON.

Frameworks wrap results in messages, content blocks and records that hold call ids, run ids and
the like; compared as they are, equal results look different. Layers are taken off until none is
left: first those of the convention, then those that are unmistakable everywhere (LangChain's
``ToolMessage`` in its serialised forms, MCP content blocks). A text that is a JSON object or array,
or the Python literal of one, counts as that: some writers print it, others quote it.

The content hash is the sha256 of the canonical JSON. What was cut or redacted has none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from visceral_cli.calls import mask_scan, placeholders
from visceral_cli.calls.canonical import (
    NOT_DECODED,
    NotJson,
    canonical_lines,
    canonical_text,
    decode_plain,
    parse_json,
)
from visceral_cli.calls.convention import Convention, Text
from visceral_cli.calls.envelopes import as_text_or_none
from visceral_cli.calls.failures import value_failed
from visceral_cli.calls.ignored import without_paths
from visceral_cli.calls.literals import NotLiteral, read_literal
from visceral_cli.calls.result_layers import (
    OPENERS,
    Layer,
    is_message_repr,
    mcp_result,
    message_in,
    message_in_repr,
    repeats_content,
    text_of_block,
)
from visceral_cli.calls.tool_call import ContentMissing
from visceral_cli.contract.identity import (
    ContentHash,
    NotCanonical,
    canonical_json,
    content_hash,
    content_hashes,
)
from visceral_cli.settings import NO_DECLARATION, ToolDeclaration

Plain = dict[str, object] | list[object]

MAX_LAYERS = 12
"""How many layers are taken off at most."""


class Result(msgspec.Struct, frozen=True, gc=False):
    """The result of a call, or the reason why it is unknown."""

    missing: ContentMissing | None
    text: str | None = None
    """Canonical JSON; ``None`` exactly when ``missing`` says why."""
    failed: bool = False
    empty: bool = False
    call_id: str | None = None
    length: int | None = None
    """Bytes of the canonical JSON, also where only an encrypted section tells it."""
    content_hash: str | None = None
    """sha256 of the canonical JSON, without what the user says does not count."""


class _Unknown(Exception):
    def __init__(self, reason: ContentMissing) -> None:
        super().__init__(reason.value)
        self.reason = reason


def read_result(
    raw: object,
    row: Convention,
    *,
    mime: str | None = None,
    declaration: ToolDeclaration = NO_DECLARATION,
) -> Result:
    """Read the result that a span holds as ``raw``."""
    if raw is None:
        return Result(ContentMissing.NOT_CAPTURED)
    if type(raw) is str:
        result = _read_plain(raw, declaration)
        if result is not None:
            return result
    return _read_layers(raw, row, mime, declaration)


def read_results(
    raws: Sequence[str],
    row: Convention,
    *,
    mime: str | None = None,
    declaration: ToolDeclaration = NO_DECLARATION,
) -> list[Result]:
    """Read the results that spans hold as texts: what `read_result` gives for each, faster."""
    results: list[Result] = []
    for start in range(0, len(raws), _AT_ONCE):
        results += _read_few(raws[start : start + _AT_ONCE], row, mime, declaration)
    return results


_AT_ONCE = 64
"""How many results are read together: their values mostly lie in the processor's cache."""


def _read_few(
    raws: Sequence[str], row: Convention, mime: str | None, declaration: ToolDeclaration
) -> list[Result]:
    values = [_plain_value(raw) for raw in raws]
    plain = [value for value in values if value is not None]
    try:
        lines = canonical_lines(plain)
    except NotCanonical:  # one of them has no canonical form
        return [read_result(raw, row, mime=mime, declaration=declaration) for raw in raws]
    texts = lines.split("\n")[:-1]  # JSON of one line has no other line feed
    read = _plain_results(plain, texts, declaration)
    look = mask_scan.may_be_altered(lines)
    if not look and len(read) == len(raws):
        return read
    next_read = iter(read).__next__
    results = []
    for raw, value in zip(raws, values, strict=True):
        result = None if value is None else next_read()
        if result is None or (look and placeholders.may_be_altered(str(result.text))):
            result = _read_layers(raw, row, mime, declaration)
        results.append(result)
    return results


def _read_layers(
    raw: object, row: Convention, mime: str | None, declaration: ToolDeclaration
) -> Result:
    reader = _Reader(row)
    try:
        value = reader.reduced(reader.first(raw, mime))
        if reader.structured:
            text = _checked(canonical_json(value))
        else:
            text = canonical_text(value, plain=reader.plain)
    except _Unknown as unknown:
        return Result(unknown.reason, failed=reader.failed, call_id=reader.call_id)
    except NotCanonical:
        return Result(ContentMissing.NOT_CANONICAL, None, reader.failed, False, reader.call_id)
    failed = reader.failed or value_failed(value, declaration)
    (hash_,) = _hashes((text,), declaration)
    return Result(None, text, failed, is_empty(value), reader.call_id, len(text), hash_)


_ENVELOPE_KEYS = frozenset(
    {
        "content",
        "data",
        "json",
        "kwargs",
        "output",
        "raw_output",
        "response",
        "result",
        "text",
        "type",
    }
)
"""Without any of these keys an object is no envelope."""


def _plain_value(raw: str) -> Plain | None:
    """Return the JSON object or array that a text is, where it is no envelope.

    The most common case: of anything else, ``None``.
    """
    if raw[:1] not in ("{", "["):
        return None
    try:
        value = decode_plain(raw)
    except NOT_DECODED:
        return None
    sample = value[0] if type(value) is list and value else value
    if type(sample) is not dict or not _ENVELOPE_KEYS.isdisjoint(sample):
        return None
    return value if isinstance(value, list) else sample


def _read_plain(raw: str, declaration: ToolDeclaration) -> Result | None:
    value = _plain_value(raw)
    if value is None:
        return None
    try:
        text = canonical_text(value, plain=True)
    except NotCanonical:
        return None
    if placeholders.may_be_altered(text):
        return None
    (result,) = _plain_results((value,), (text,), declaration)
    return result


def _plain_results(
    values: Sequence[Plain], texts: Sequence[str], declaration: ToolDeclaration
) -> list[Result]:
    """Return the results that values are whose canonical JSON is in ``texts``."""
    return [
        Result(
            None, text, value_failed(value, declaration), is_empty(value), None, len(text), hash_
        )
        for value, text, hash_ in zip(values, texts, _hashes(texts, declaration), strict=True)
    ]


def _hashes(texts: Sequence[str], declaration: ToolDeclaration) -> Sequence[ContentHash]:
    """Return content hashes, which leave out what the user says does not count."""
    if declaration.ignore_result:
        return [content_hash(without_paths(text, declaration.ignore_result)) for text in texts]
    return content_hashes(texts)


class _Reader:
    """Takes the layers off one result and remembers what they told."""

    __slots__ = ("call_id", "failed", "openers", "plain", "row", "structured")

    def __init__(self, row: Convention) -> None:
        self.row = row
        self.openers = tuple(OPENERS[envelope] for envelope in row.result_envelopes)
        self.plain = True
        self.structured = False
        self.failed = False
        self.call_id: str | None = None

    def first(self, raw: object, mime: str | None) -> object:
        if not isinstance(raw, str):
            self.structured = True
            return raw
        text = _checked(raw)
        if self.row.result_text is Text.JSON or (mime is not None and "json" in mime):
            try:
                parsed = parse_json(text)
            except NotJson as problem:
                if problem.cut and text.lstrip()[:1] in ("{", "[", '"'):
                    raise _Unknown(ContentMissing.TRUNCATED) from None
            else:
                self.plain = parsed.plain
                return parsed.value
        if text in ("null", "None"):
            return None
        if text[:1] == '"':
            return self.quoted(text)
        return text

    def quoted(self, text: str) -> str:
        try:
            parsed = parse_json(text)
        except NotJson:
            return text
        self.plain = self.plain and parsed.plain
        return parsed.value if isinstance(parsed.value, str) else text

    def reduced(self, value: object) -> object:
        if self.row.result_as_it_is:
            return value
        for opener in self.openers:  # once each: a tool's own value may have the same shape
            value = self.out_of_text(value)
            layer = opener(value)
            if layer is not None:
                value = self.noted(layer)
        return self.own(value)

    def own(self, value: object) -> object:
        for _ in range(MAX_LAYERS):
            value = self.out_of_text(value)
            layer = None
            if isinstance(value, dict):
                layer = self.tool_message(value) or mcp_result(value)
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                layer = self.blocks(value)
            if layer is None:
                return value
            value = self.noted(layer)
        return value

    def tool_message(self, value: dict[str, object]) -> Layer | None:
        """Open a ToolMessage; an artifact, which the model does not see, is part of the result."""
        message = message_in(value)
        if message is None:
            return None
        content, artifact = message["content"], message.get("artifact")
        if not repeats_content(artifact):
            content = {"artifact": artifact, "content": self.own(content)}
        call_id = as_text_or_none(message["tool_call_id"])
        return Layer(content, message.get("status") == "error", call_id)

    def noted(self, layer: Layer) -> object:
        self.failed = self.failed or layer.failed
        self.call_id = self.call_id or layer.call_id
        return layer.value

    def out_of_text(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        inner = self.in_text(value)
        return value if inner is None else inner

    def blocks(self, value: list[object]) -> Layer | None:
        """Open MCP content: one text block is its text, several are a list of theirs."""
        texts = [text_of_block(block) for block in value]
        if None in texts:
            return None
        if len(texts) == 1:
            return Layer(texts[0])
        return Layer([self.own(text) for text in texts])

    def in_text(self, text: str) -> object:
        """Return the object or list that a text is, or ``None`` if it is just a text."""
        looks = text.lstrip()[:1]
        if looks not in ("{", "[", "("):
            return self.message_repr(text)
        cut = False
        if looks != "(":
            try:
                parsed = parse_json(text)
            except NotJson as problem:
                cut = problem.cut
            else:
                self.plain = self.plain and parsed.plain
                return parsed.value
        try:
            literal = read_literal(text)
        except NotLiteral as problem:
            cut = cut or (problem.cut and looks != "(")
        else:
            self.plain = False
            return literal if isinstance(literal, dict | list) else None
        if cut or placeholders.result_ends_cut(text):
            raise _Unknown(ContentMissing.TRUNCATED)
        return None

    def message_repr(self, text: str) -> object:
        """Return what ``str()`` of a ToolMessage holds, as a message again."""
        if is_message_repr(text):
            try:
                return message_in_repr(text)
            except (NotLiteral, NotCanonical):
                raise _Unknown(ContentMissing.UNPARSABLE) from None
        if placeholders.result_ends_cut(text):
            raise _Unknown(ContentMissing.TRUNCATED)
        return None


def _checked(text: str) -> str:
    """Return ``text`` if nothing in it says that something else stood there."""
    if text in _NOT_CAPTURED:
        raise _Unknown(ContentMissing.NOT_CAPTURED)
    if placeholders.has_result_mask(text) or placeholders.is_redacted(text):
        raise _Unknown(ContentMissing.REDACTED)
    if placeholders.has_cut_marker(text):
        raise _Unknown(ContentMissing.TRUNCATED)
    return text


_NOT_CAPTURED = frozenset({"<not serializable>", "<not specified>", "N/A", "undefined"})


_NOTHING_FOUND = re.compile(
    r"(?:no|0|zero)\s+(?:\w+\s+)?(?:results?|matches|match|records?|documents?|data|items?|entries)"
    r"(?:\s+(?:found|were found|available|returned))?|nothing(?:\s+(?:was\s+)?found)?|not\s+found"
    r"|none|empty",
    re.IGNORECASE,
)


def is_empty(value: object) -> bool:
    """Whether a result holds nothing: null, ``""``, ``[]``, ``{}``, or says "no results".

    So does an object with an empty list whose other members are empty, false or zero too.
    """
    if isinstance(value, dict):
        return not any(value.values()) and (not value or [] in value.values())
    if value is None or value == "" or value == []:
        return True
    return (
        isinstance(value, str)
        and len(value) < 60
        and _NOTHING_FOUND.fullmatch(value.strip(" .!\n\t")) is not None
    )
