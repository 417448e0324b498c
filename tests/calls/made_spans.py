"""Spans whose keys and values are drawn from all that the table of conventions knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import strategies as st

from visceral_cli.calls.conventions import (
    AGENT_KEYS,
    CONVENTIONS,
    MARKER_KEYS,
    SESSION_KEYS,
    USER_KEYS,
)
from visceral_cli.contract import attributes as names
from visceral_cli.contract.identity import content_hash, input_hash
from visceral_cli.ingest.span import Event, Resource, Span
from visceral_cli.ingest.span_columns import Shapes, SpanColumns


def _keys_of_table() -> Iterator[str]:
    yield from (*MARKER_KEYS, *SESSION_KEYS, *USER_KEYS, *AGENT_KEYS)
    for row in CONVENTIONS:
        for keys in (row.tool, row.arguments, row.result, row.call_id, row.cost, row.version):
            yield from keys
        yield from (key for key, _ in (*row.failed_if, *row.requires))
        yield from (key for key in (row.argument_mime, row.result_mime, row.schema) if key)
        yield from row.unless
        if row.server_side:
            yield row.server_side[0]


PARTS = (
    "visceral.input.ciphertext", "visceral.input.iv", "visceral.input.tag",
    "visceral.output.ciphertext", "visceral.output.iv", "visceral.output.tag",
    "visceral.tool.input_hash", "visceral.tool.hash_v", "visceral.tool.readonly",
    "visceral.tool.vary", "retrieval.documents.0.document.content", "retrieval.top_k",
    "reranker.output_documents.0.document.id", "reranker.query", "embedding.model_name",
    "input.value.city", "output.value.0", "gen_ai.tool.call.arguments.a.0",
    "gen_ai.completion.0.tool_calls.0.name", "gen_ai.completion.0.tool_calls.0.id",
    "gen_ai.completion.0.tool_calls.0.arguments", "service.name", "events", "note",
)  # fmt: skip
KEYS = tuple(dict.fromkeys((*_keys_of_table(), *PARTS)))
VALUES = (
    None, "", "x", "{}", '{"city":"Berlin"}', '{"city": "Bonn"}', "[1, 2]", "application/json",
    "Error: no", "ERROR", "7", 7, 0.5, True, ["a"], {"city": "Berlin"}, "a" * 16,
    "MTIzNDU2Nzg5MDEy", "MTIzNDU2Nzg5MDEyMzQ1Ng==", "promptflow", "service.mcp",
)  # fmt: skip
MARKS = tuple(
    (marker.key, value) for row in CONVENTIONS for marker in row.markers for value in marker.kinds
)
SCOPES = tuple(dict.fromkeys(scope for row in CONVENTIONS for scope in (*row.scopes, "")))
NAMES = ("execute_tool search", "ToolInvoker.run", "claude_code.tool", "Function: f", "a.start-1")
EVENTS = (
    Event("exception", {}),
    Event("gen_ai.tool.message", {"content": '{"city":"Berlin"}'}),
    Event("gen_ai.choice", {"message": "[]"}),
    Event("tool.output", {"input": "{}", "output": "1"}),
)


ATTESTED: dict[str, tuple[object, ...]] = {
    names.TOOL_NAME: ("search", "get", "", 7),
    names.READONLY: (True, False, "true", None),
    names.REPLAY_SAFE: (True, "no"),
    names.VARY: ("city", "city,day", "", 7),
    names.VERSION: ("2", 2, ["2"], ""),
    names.FRESHNESS_OVERRIDE: (60.0, "60", "x"),
    names.INVALIDATES: ("", "search"),
    names.INPUT_HASH: ("ab" * 32, input_hash("search", {"city": "Berlin"}), "AB" * 32, "ab", 7),
    names.HASH_V: (1, 2, "1", True),
    names.OUTPUT_HASH: ("cd" * 32, content_hash("{}"), "cd", 7),
    names.OUTPUT_ORDER: ("a", ""),
    names.SERVED_DECISION_ID: ("d-1", ""),
    names.VERIFY_MATCH: (True, False, "false"),
    names.SERVED_START: (5, "5", -1),
    names.RUN_ID: ("run-1",),
    names.INPUT_VALUE: ('{"city":"Berlin"}', '{"input":{"city":"Berlin"}}', "{}", "x", None),
    names.OUTPUT_VALUE: ('{"n":1}', "{}", "null", "Error: no", None),
    f"{names.INPUT_SECTION}.ciphertext": ("MTIz", "MTI=", 7),
    f"{names.OUTPUT_SECTION}.ciphertext": ("MTIz", "MTI=", "MTI"),
    f"{names.OUTPUT_SECTION}.iv": ("MTIzNDU2Nzg5MDEy", "MTIz"),
    f"{names.OUTPUT_SECTION}.tag": ("MTIzNDU2Nzg5MDEyMzQ1Ng==",),
}
"""What spans of the Visceral SDK carry, as it writes it and as backends and accidents change it."""


SECOND_KEY_ONLY = Span(
    "trace-1",
    "span-1",
    None,
    "search",
    1,
    2,
    {"openinference.span.kind": "TOOL", "gen_ai.tool.call.arguments": '{"city":"Berlin"}'},
    Resource(),
    scope="openinference.instrumentation.langchain",
)
"""Of this library only a text under the first of the keys would be a lone argument."""


def columns_of(spans: Iterable[Span]) -> SpanColumns:
    """Spans without events as columns."""
    columns, shapes = SpanColumns(), Shapes()
    for span in spans:
        for field in SpanColumns.__slots__:
            if field not in ("shape", "values"):
                getattr(columns, field).append(getattr(span, field))
        columns.shape.append(shapes.of(span.scope, tuple(span.attributes)))
        columns.values.append(list(span.attributes.values()))
    return columns


@st.composite
def attested_spans(draw: st.DrawFn) -> Span:
    """A span of the SDK, or of a framework whose span the SDK completed."""
    keys = draw(st.lists(st.sampled_from(list(ATTESTED)), unique=True))
    keys = list(dict.fromkeys([names.TOOL_NAME, *keys]))
    attributes = {key: draw(st.sampled_from(ATTESTED[key])) for key in keys}
    scope = draw(st.sampled_from(("visceral", "openinference.instrumentation.langchain")))
    status = draw(st.sampled_from((0, 1, 2)))
    return Span("t", "s", None, "search", 1, 2, attributes, Resource(), status=status, scope=scope)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    attributes: dict[str, object] = dict(draw(st.lists(st.sampled_from(MARKS), max_size=2)))
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=8)):
        attributes.setdefault(key, draw(st.sampled_from(VALUES)))
    return Span(
        "trace-1",
        "span-1",
        None,
        draw(st.sampled_from(NAMES)),
        1,
        2,
        attributes,
        Resource(draw(st.sampled_from(({}, {"service.name": "agent"})))),
        draw(st.integers(0, 5)),
        draw(st.integers(0, 2)),
        "",
        draw(st.lists(st.sampled_from(EVENTS), max_size=1)),
        draw(st.sampled_from(SCOPES)),
        draw(st.sampled_from((0, 0, 1))),
    )
