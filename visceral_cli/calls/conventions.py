"""Which attributes mean tool name, arguments, result and the rest, in each convention.

One row of `CONVENTIONS` per library that writes tool calls in its own way; adding a convention is
adding a row here and a fixture to its test. The rows were read from spans of the named packages;
those marked "from its documents" were not.

A span belongs to the first row, in the order of `MARKER_KEYS` and then of the table, whose marker,
scope, span name and conditions all hold; rows without a marker come last. What a model *asked* for
is no call, and neither are pseudo-tools such as ADK's merged span of parallel calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from visceral_cli.calls.convention import ANY, Convention, Envelope, Marker, Text
from visceral_cli.calls.tool_call import CallKind


def _kinds(**kinds: CallKind) -> Mapping[str, CallKind]:
    """Return the kinds under their lower-case, upper-case and capitalised names."""
    spelt: dict[str, CallKind] = {}
    for name, kind in kinds.items():
        spelt |= {name: kind, name.upper(): kind, name.capitalize(): kind}
    return MappingProxyType(spelt)


_TOOL = MappingProxyType({ANY: CallKind.TOOL})
_OPENINFERENCE = Marker(
    "openinference.span.kind",
    _kinds(
        tool=CallKind.TOOL,
        retriever=CallKind.RETRIEVER,
        embedding=CallKind.EMBEDDING,
        reranker=CallKind.RERANKER,
    ),
)
_EXECUTE_TOOL = Marker("gen_ai.operation.name", MappingProxyType({"execute_tool": CallKind.TOOL}))
_TRACELOOP = Marker("traceloop.span.kind", _kinds(tool=CallKind.TOOL))
_ERROR_TYPE = (("error.type", ANY),)
_MERGED = frozenset({"(merged tools)", "(merged)"})

_OPENINFERENCE_KEYS = {
    "tool": ("tool.name", "gen_ai.tool.name"),
    "arguments": ("input.value", "gen_ai.tool.call.arguments"),
    "argument_mime": "input.mime_type",
    "result": ("output.value", "gen_ai.tool.call.result"),
    "result_mime": "output.mime_type",
    "call_id": ("gen_ai.tool.call.id", "tool.id", "tool_call.id"),
    "session": ("session.id", "gen_ai.conversation.id"),
    "agent": ("agent.name", "gen_ai.agent.name"),
    "sealed": True,
    "documents": True,
}


def _openinference(name: str, *scopes: str, **changes: object) -> Convention:
    """Return a row with OpenInference's keys; ``changes`` are what the library does otherwise."""
    fields: dict[str, object] = _OPENINFERENCE_KEYS | {"markers": (_OPENINFERENCE,)} | changes
    return Convention(name, scopes=scopes, **fields)  # type: ignore[arg-type]


_RETRIEVER_METHODS = ("._aretrieve", "._retrieve", ".aretrieve", ".retrieve")

CONVENTIONS: tuple[Convention, ...] = (
    # --- Visceral SDK (visceral-ai 0.2.5) ---------------------------------------------------------
    _openinference(
        "visceral-framework",
        "openinference.instrumentation.",
        markers=(Marker("visceral.tool.name", _TOOL),),
        tool=("visceral.tool.name",),
        argument_envelopes=(Envelope.TOOL_INPUT, Envelope.ARGS_KWARGS),
        argument_text=Text.BARE,
        result_envelopes=(Envelope.OUTPUT_KEY,),
        version=("visceral.tool.version",),
        attested=True,
    ),
    Convention(
        "visceral",
        markers=(Marker("visceral.tool.name", _TOOL),),
        tool=("visceral.tool.name",),
        arguments=("input.value",),
        result=("output.value",),
        result_text=Text.JSON,
        result_as_it_is=True,
        session=("session.id",),
        version=("visceral.tool.version",),
        attested=True,
        sealed=True,
    ),
    # --- OpenInference instrumentations, then its own decorators and hand-made spans --------------
    _openinference(
        "openinference-langchain",
        "openinference.instrumentation.langchain",
        argument_text=Text.BARE,
        result_envelopes=(Envelope.OUTPUT_KEY,),
    ),
    _openinference(
        "openinference-llama-index",
        "openinference.instrumentation.llama_index",
        suffixes=(*_RETRIEVER_METHODS, ".acall", ".call", ".__call__"),
        argument_envelopes=(Envelope.ARGS_KWARGS, Envelope.QUERY_BUNDLE),
        schema="tool.parameters",
        result_envelopes=(Envelope.TOOL_OUTPUT,),
    ),
    _openinference(
        "openinference-smolagents",
        "openinference.instrumentation.smolagents",
        pseudo_tools=frozenset({"final_answer"}),
        argument_envelopes=(Envelope.ARGS_KWARGS,),
        schema="tool.parameters",
    ),
    _openinference(
        "openinference-dspy",
        "openinference.instrumentation.dspy",
        suffixes=(".__call__", ".acall", ".forward"),
        pseudo_tools=frozenset({"finish"}),
        argument_envelopes=(Envelope.ARGS_KWARGS,),
        result_text=Text.JSON,
    ),
    _openinference(
        "openinference-crewai",
        "openinference.instrumentation.crewai",
        suffixes=("._run", ".run"),
    ),
    _openinference("openinference-agno", "openinference.instrumentation.agno"),
    _openinference(
        "openinference-google-adk",
        "openinference.instrumentation.google_adk",
        pseudo_tools=_MERGED,
        result_envelopes=(Envelope.RESPONSE, Envelope.RESULT_KEY),
    ),
    _openinference(
        "openinference-haystack",
        "openinference.instrumentation.haystack",
        markers=(Marker("openinference.span.kind", _kinds(chain=CallKind.TOOL)),),
        span_names=("ToolInvoker.run",),
        several="reprs",
    ),
    _openinference(
        "openinference-beeai",
        "openinference.instrumentation.beeai",
        prefixes=("tool.",),
        arguments=("tool.parameters", "input.value"),
        phased=True,
    ),
    _openinference("openinference"),
    # --- OpenTelemetry GenAI execute_tool spans, by who writes them -------------------------------
    Convention(
        "strands",
        markers=(_EXECUTE_TOOL,),
        scopes=("strands.",),
        argument_event=("gen_ai.tool.message", "content"),
        result_event=("gen_ai.choice", "message"),
        result_envelopes=(Envelope.STRANDS_CONTENT,),
        failed_if=(("gen_ai.tool.status", "error"), ("tool.status", "error")),
        session=("session.id", "gen_ai.conversation.id"),
    ),
    Convention(
        "google-adk",
        markers=(_EXECUTE_TOOL,),
        scopes=("gcp.vertex.agent",),
        pseudo_tools=_MERGED,
        arguments=("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args"),
        empty_pair_is_missing=True,
        result=("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response"),
        result_envelopes=(Envelope.RESULT_KEY,),
        failed_if=_ERROR_TYPE,
    ),
    Convention(
        "openllmetry-langchain",
        markers=(_EXECUTE_TOOL, _TRACELOOP),
        scopes=("opentelemetry.instrumentation.langchain",),
        tool=("gen_ai.tool.name", "traceloop.entity.name"),
        suffixes=(".tool",),
        arguments=("gen_ai.tool.call.arguments", "traceloop.entity.input"),
        argument_envelopes=(Envelope.CALLBACK,),
        result=("gen_ai.tool.call.result", "traceloop.entity.output"),
        result_envelopes=(Envelope.OUTPUT_KEY,),
        failed_if=(("error.type", ANY), ("gen_ai.task.status", "failure")),
        session=(
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
            "session.id",
            "gen_ai.conversation.id",
        ),
        user=("traceloop.association.properties.user_id", "user.id"),
    ),
    Convention(
        "openllmetry-openai-agents",
        markers=(_EXECUTE_TOOL, _TRACELOOP),
        scopes=("opentelemetry.instrumentation.openai_agents",),
        suffixes=(".tool",),
    ),
    Convention(
        "pydantic-ai",
        markers=(_EXECUTE_TOOL, Marker("gen_ai.tool.name", _TOOL)),
        scopes=("pydantic-ai",),
        arguments=("gen_ai.tool.call.arguments", "tool_arguments"),
        result=("gen_ai.tool.call.result", "tool_response"),
        agent=("gen_ai.agent.name", "agent_name"),
    ),
    Convention(
        "mcp",
        markers=(
            _EXECUTE_TOOL,
            Marker("mcp.method.name", MappingProxyType({"tools/call": CallKind.TOOL})),
        ),
        scopes=("fastmcp", "mcp"),
        prefixes=("MCP send tools/call ", "tools/call ", "execute_tool "),
        failed_if=_ERROR_TYPE,
        session=("gen_ai.conversation.id", "session.id", "mcp.session.id"),
    ),
    Convention(
        "semantic-kernel",
        markers=(_EXECUTE_TOOL,),
        scopes=("semantic_kernel",),
        failed_if=_ERROR_TYPE,
    ),
    Convention("autogen", markers=(_EXECUTE_TOOL,), scopes=("autogen",), failed_if=_ERROR_TYPE),
    Convention(
        "agent-framework",
        markers=(_EXECUTE_TOOL,),
        scopes=("agent_framework",),
        failed_if=_ERROR_TYPE,
    ),
    Convention(
        # util-genai, langchain-azure-ai (the scope is the user's), hand-made and older spans
        "otel-genai",
        markers=(
            _EXECUTE_TOOL,
            Marker("mcp.method.name", MappingProxyType({"tools/call": CallKind.TOOL})),
        ),
        prefixes=("execute_tool ", "tools/call "),
        pseudo_tools=_MERGED,
        arguments=("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "input.value"),
        argument_event=("gen_ai.tool.message", "content"),
        argument_envelopes=(Envelope.CALLBACK,),
        empty_pair_is_missing=True,
        result=("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "output.value"),
        result_event=("gen_ai.choice", "message"),
        failed_if=_ERROR_TYPE,
        session=("gen_ai.conversation.id", "session.id", "gen_ai.thread.id", "mcp.session.id"),
    ),
    Convention(
        # from its documents: the retrieval span of the GenAI conventions since 1.40
        "otel-genai-retrieval",
        markers=(
            Marker("gen_ai.operation.name", MappingProxyType({"retrieval": CallKind.RETRIEVER})),
        ),
        tool=("gen_ai.data_source.id",),
        prefixes=("retrieval ",),
        arguments=("gen_ai.retrieval.query.text",),
        argument_text=Text.BARE,
        result=("gen_ai.retrieval.documents",),
        failed_if=_ERROR_TYPE,
    ),
    # --- libraries with their own keys ------------------------------------------------------------
    Convention(
        "langsmith",
        markers=(
            Marker(
                "langsmith.span.kind",
                _kinds(
                    tool=CallKind.TOOL, retriever=CallKind.RETRIEVER, embedding=CallKind.EMBEDDING
                ),
            ),
        ),
        arguments=("gen_ai.prompt", "input.value"),
        result=("gen_ai.completion", "output.value"),
        result_envelopes=(Envelope.OUTPUT_KEY,),
        session=(
            "langsmith.metadata.session_id",
            "langsmith.metadata.thread_id",
            "langsmith.trace.session_id",
            "session.id",
        ),
        user=("langsmith.metadata.user_id", "user.id"),
    ),
    Convention(
        "langfuse",
        markers=(
            Marker(
                "langfuse.observation.type",
                _kinds(
                    tool=CallKind.TOOL, retriever=CallKind.RETRIEVER, embedding=CallKind.EMBEDDING
                ),
            ),
        ),
        tool=("gen_ai.tool.name", "tool.name", "ai.toolCall.name"),
        prefixes=("execute_tool ", "running tool: "),
        arguments=("langfuse.observation.input", "input.value", "tool_arguments"),
        argument_envelopes=(Envelope.ARGS_KWARGS,),
        result=("langfuse.observation.output", "output.value", "tool_response"),
        failed_if=(("langfuse.observation.level", "ERROR"),),
        call_id=("gen_ai.tool.call.id", "ai.toolCall.id"),
        session=("session.id", "langfuse.session.id"),
        user=("user.id", "langfuse.user.id"),
        cost=("langfuse.observation.cost_details",),
    ),
    Convention(
        # the LangChain callback of SDK 3 calls tools plain spans; their result is a ToolMessage
        "langfuse-callback",
        markers=(Marker("langfuse.observation.type", MappingProxyType({"span": CallKind.TOOL})),),
        unless=("gen_ai.operation.name", "gen_ai.tool.name", "openinference.span.kind"),
        only_messages=True,
        arguments=("langfuse.observation.input",),
        result=("langfuse.observation.output",),
        failed_if=(("langfuse.observation.level", "ERROR"),),
        session=("session.id", "langfuse.session.id"),
        user=("user.id", "langfuse.user.id"),
    ),
    Convention(
        "openllmetry-mcp",
        markers=(_TRACELOOP,),
        scopes=("opentelemetry.instrumentation.mcp",),
        tool=("traceloop.entity.name",),
        suffixes=(".tool",),
        arguments=("traceloop.entity.input",),
        argument_envelopes=(Envelope.NAMED,),
        result=("traceloop.entity.output",),
        result_envelopes=(Envelope.RESULT_KEY,),
        failed_if=_ERROR_TYPE,
        session=("traceloop.association.properties.session_id", "session.id"),
        user=("traceloop.association.properties.user_id", "user.id"),
        server_side=("traceloop.workflow.name", ".mcp"),
    ),
    Convention(
        "traceloop",
        markers=(_TRACELOOP,),
        tool=("gen_ai.tool.name", "traceloop.entity.name"),
        suffixes=(".tool",),
        arguments=("traceloop.entity.input", "gen_ai.tool.call.arguments"),
        argument_envelopes=(Envelope.ARGS_KWARGS, Envelope.CALLBACK),
        result=("traceloop.entity.output", "gen_ai.tool.call.result"),
        result_envelopes=(Envelope.OUTPUT_KEY,),
        result_text=Text.JSON,
        session=(
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
            "session.id",
        ),
        user=("traceloop.association.properties.user_id", "user.id"),
        version=("traceloop.entity.version",),
    ),
    Convention(
        "mlflow",
        markers=(
            Marker(
                "mlflow.spanType",
                MappingProxyType(
                    {
                        text: kind
                        for name, kind in (
                            ("TOOL", CallKind.TOOL),
                            ("RETRIEVER", CallKind.RETRIEVER),
                            ("EMBEDDING", CallKind.EMBEDDING),
                            ("RERANKER", CallKind.RERANKER),
                        )
                        for text in (name, f'"{name}"')
                    }
                ),
            ),
        ),
        tool=(),
        arguments=("mlflow.spanInputs",),
        result=("mlflow.spanOutputs",),
        result_text=Text.JSON,
        session=("session.id", "mlflow.trace.session"),
        user=("user.id", "mlflow.trace.user"),
    ),
    Convention(
        "vercel-ai-sdk",
        markers=(Marker("ai.operationId", MappingProxyType({"ai.toolCall": CallKind.TOOL})),),
        tool=("ai.toolCall.name", "gen_ai.tool.name"),
        arguments=("ai.toolCall.args", "ai.toolCall.input", "gen_ai.tool.call.arguments"),
        result=("ai.toolCall.result", "ai.toolCall.output", "gen_ai.tool.call.result"),
        result_text=Text.JSON,
        call_id=("ai.toolCall.id", "gen_ai.tool.call.id"),
        session=(
            "ai.telemetry.metadata.sessionId",
            "ai.telemetry.metadata.session_id",
            "ai.telemetry.metadata.session",
            "session.id",
        ),
        user=("ai.telemetry.metadata.userId", "ai.telemetry.metadata.user_id", "user.id"),
        agent=("ai.telemetry.functionId",),
    ),
    Convention(
        # spans that only name a tool: pydantic-ai formats 1 to 3 under another scope, Koog
        "otel-genai-tool-name",
        markers=(Marker("gen_ai.tool.name", _TOOL),),
        unless=("gen_ai.operation.name", "openinference.span.kind"),
        pseudo_tools=_MERGED,
        arguments=("gen_ai.tool.call.arguments", "tool_arguments", "input.value"),
        result=("gen_ai.tool.call.result", "tool_response", "output.value"),
    ),
    Convention(
        "haystack",
        markers=(
            Marker("haystack.component.type", MappingProxyType({"ToolInvoker": CallKind.TOOL})),
        ),
        arguments=("haystack.component.input",),
        result=("haystack.component.output",),
        several="messages",
    ),
    Convention(
        # @tool only: @trace marks any function, the flow's own entry too
        "prompt-flow",
        markers=(
            Marker(
                "span_type",
                _kinds(
                    tool=CallKind.TOOL, embedding=CallKind.EMBEDDING, retrieval=CallKind.RETRIEVER
                ),
            ),
        ),
        requires=(("framework", "promptflow"),),
        tool=(),
        arguments=("inputs",),
        argument_event=("promptflow.function.inputs", "payload"),
        result=("output",),
        result_event=("promptflow.function.output", "payload"),
        result_text=Text.JSON,
        session=("session_id", "session.id"),
    ),
    # --- recognised by scope and span name alone --------------------------------------------------
    Convention(
        "logfire-openai-agents",
        scopes=("logfire.openai_agents",),
        span_prefixes=("Function: ",),
        tool=("name",),
        prefixes=("Function: ",),
        arguments=("input",),
        result=("output",),
        failed_if=(("error", ANY),),
    ),
    Convention(
        # from its documents: the execution itself; its parent has the name and the content
        "claude-code-execution",
        span_names=("claude_code.tool.execution",),
        tool=("tool_name",),
        prefixes=(),
        arguments=(),
        result=(),
        failed_if=(("success", "false"), ("success", "False")),
        call_id=("tool_use_id", "gen_ai.tool.call.id"),
    ),
    Convention(
        # from its documents: content only as cut span events, and only when switched on
        "claude-code",
        span_names=("claude_code.tool",),
        tool=("tool_name", "gen_ai.tool.name"),
        prefixes=(),
        arguments=("tool_input", "gen_ai.tool.call.arguments"),
        argument_event=("tool.output", "input"),
        result=("tool_output", "gen_ai.tool.call.result"),
        result_event=("tool.output", "output"),
        failed_if=(("success", "false"), ("success", "False")),
        call_id=("tool_use_id", "gen_ai.tool.call.id"),
        agent=("agent_id",),
    ),
    Convention(
        # Google ADK 1.x loses all attributes of a failed call: only the span's name is left
        "span-name",
        span_prefixes=("execute_tool ",),
        unless=("gen_ai.operation.name", "openinference.span.kind"),
        pseudo_tools=_MERGED,
        failed_if=_ERROR_TYPE,
    ),
)

MARKER_KEYS = (
    "visceral.tool.name",
    "openinference.span.kind",
    "langsmith.span.kind",
    "langfuse.observation.type",
    "gen_ai.operation.name",
    "traceloop.span.kind",
    "mlflow.spanType",
    "ai.operationId",
    "mcp.method.name",
    "haystack.component.type",
    "span_type",
    "gen_ai.tool.name",
)
"""The keys of all markers, the more telling first: several may stand on one span."""

SESSION_KEYS = (
    "session.id",
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.trace.session_id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "gcp.vertex.agent.session_id",
    "group_id",
    "gen_ai.thread.id",
    "mcp.session.id",
)
"""Where any span, not only a call's, may name the session; in this order."""

USER_KEYS = (
    "user.id",
    "langfuse.user.id",
    "traceloop.association.properties.user_id",
    "langsmith.metadata.user_id",
    "ai.telemetry.metadata.userId",
    "ai.telemetry.metadata.user_id",
)
AGENT_KEYS = ("gen_ai.agent.name", "agent.name", "agent_name", "visceral.node")
