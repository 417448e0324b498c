"""One row of the table of conventions: the keys and shapes by which a library tells a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from visceral_cli.calls.tool_call import CallKind

ANY = "*"
"""As a marker's value: any text."""


class Envelope(StrEnum):
    """How a library wraps arguments or results; see ``calls.arguments`` and ``calls.results``."""

    ARGS_KWARGS = "args-kwargs"
    """``{"args": [...], "kwargs": {...}}``, either alone, or with bookkeeping beside them."""
    CALLBACK = "callback"
    """LangChain's callback: ``{"input_str": ..., "inputs": {...}, "metadata": ...}``."""
    NAMED = "named"
    """``{"tool_name": ..., "arguments": {...}}``."""
    TOOL_INPUT = "tool-input"
    """``{"tool_input": {...}}``."""
    QUERY_BUNDLE = "query-bundle"
    """``{"query_bundle": {"query_str": ...}}`` of LlamaIndex retrievers."""
    STRANDS_CONTENT = "strands-content"
    """``[{"text": ...}]``, ``[{"json": ...}]``."""
    RESULT_KEY = "result-key"
    """``{"result": ...}``, with or without ``is_error``."""
    RESPONSE = "response"
    """``{"id": ..., "name": ..., "response": {...}}``."""
    OUTPUT_KEY = "output-key"
    """``{"output": ...}``, with or without ``kwargs``."""
    TOOL_OUTPUT = "tool-output"
    """LlamaIndex: ``{"blocks": ..., "raw_output": ..., "raw_input": ..., "is_error": ...}``."""


class Text(StrEnum):
    """How a text that is no JSON object or array is meant."""

    BARE = "bare"
    """Strings stand unquoted: a text that looks like a number may be one or not, and stays text."""
    JSON = "json"
    """Everything is JSON, strings are quoted."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The attribute by whose value a span is recognised."""

    key: str
    kinds: Mapping[str, CallKind]
    """Kind of the call by value of the attribute; the value `ANY` stands for every text."""


@dataclass(frozen=True, slots=True)
class Convention:
    """One row. Tuples of keys are tried in order, the first attribute present counts."""

    name: str
    markers: tuple[Marker, ...] = ()
    scopes: tuple[str, ...] = ()
    """Beginnings of the names of the instrumentation scope; empty: any scope."""
    span_names: tuple[str, ...] = ()
    """The span's name, one of these; empty: any. Without `markers` it is what recognises."""
    span_prefixes: tuple[str, ...] = ()
    """Beginnings of the span's name, as `span_names`."""
    requires: tuple[tuple[str, str], ...] = ()
    """Attributes that must have these values as well."""
    unless: tuple[str, ...] = ()
    """Attributes that must be absent."""

    tool: tuple[str, ...] = ("gen_ai.tool.name", "tool.name")
    prefixes: tuple[str, ...] = ("execute_tool ",)
    """What to strip from the span's name where no attribute names the tool."""
    suffixes: tuple[str, ...] = ()
    pseudo_tools: frozenset[str] = frozenset()
    """Names that are no tools of the user."""

    arguments: tuple[str, ...] = ("gen_ai.tool.call.arguments",)
    argument_event: tuple[str, str] | None = None
    """Span event and its attribute that hold the arguments where no attribute does."""
    argument_mime: str | None = None
    argument_envelopes: tuple[Envelope, ...] = ()
    argument_text: Text = Text.JSON
    """`Text.BARE`: without a JSON mime type, a text is the only argument, its name is lost."""
    schema: str | None = None
    """Attribute with a JSON schema (or bare map of properties) whose order names positions."""
    sealed: bool = False
    """Whether ``visceral.input.*`` and ``visceral.output.*`` may hold the content encrypted."""
    empty_pair_is_missing: bool = False
    """Whether ``{}`` as arguments and ``{}`` as result together say that nothing was captured."""

    result: tuple[str, ...] = ("gen_ai.tool.call.result",)
    result_event: tuple[str, str] | None = None
    result_mime: str | None = None
    result_envelopes: tuple[Envelope, ...] = ()
    result_text: Text = Text.BARE
    result_as_it_is: bool = False
    """Whether the recorded text is the tool's own value already: nothing is taken off it."""
    documents: bool = False
    """Whether ``retrieval.documents.N.*`` and the like hold the result."""

    failed_if: tuple[tuple[str, str], ...] = ()
    """Attributes whose value tells a failure; the value `ANY` stands for presence."""
    call_id: tuple[str, ...] = ("gen_ai.tool.call.id",)
    session: tuple[str, ...] = ("gen_ai.conversation.id", "session.id")
    user: tuple[str, ...] = ("user.id",)
    agent: tuple[str, ...] = ("gen_ai.agent.name",)
    version: tuple[str, ...] = ()
    cost: tuple[str, ...] = ("cost_usd", "llm.cost.total", "gen_ai.usage.cost")
    """Attributes with the money of this call, USD."""
    several: str | None = None
    """Where one span tells of several calls: how to take them apart (``calls.haystack``)."""
    server_side: tuple[str, str] | None = None
    """Attribute and end of its value that tell the server's side of a call; see ``one_call``."""
    phased: bool = False
    """Whether the span's name ends in a phase and a number: ``tool.search.wikipedia.start-12``."""
    attested: bool = False
    """Whether ``visceral.tool.*`` may attest flags, served results and a recorded hash."""
    only_messages: bool = False
    """Whether only a span whose result is a ToolMessage is a call."""
