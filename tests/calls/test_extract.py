"""From a span to its call: where things are looked for, and what other records complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.remembered import MOST_CHARACTERS, Remembered
from visceral_cli.calls.tool_call import CallKind, ToolCall
from visceral_cli.contract.identity import content_hash, input_hash
from visceral_cli.ingest.span import Span
from visceral_cli.settings import ExtractSettings, ToolDeclaration

Make = Callable[..., ToolCall]

TOOL = {"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": '{"q": "a"}'}


def test_the_identity_is_the_contracts_over_tool_version_and_arguments(call_of: Make) -> None:
    call = call_of(TOOL)
    assert call.input_hash == input_hash("search", {"q": "a"})
    assert (call.hash_v, call.recorded_hash, call.arguments) == (1, False, '{"q":"a"}')

    settings = ExtractSettings(tools={"search": ToolDeclaration(version="3")})
    versioned = call_of(TOOL, settings)
    assert versioned.input_hash == input_hash("search", {"q": "a"}, version="3")
    assert versioned.version == "3"


def test_the_content_hash_is_that_of_the_canonical_result(call_of: Make) -> None:
    call = call_of(TOOL | {"output.value": '{"b": 1, "a": "é"}'})
    assert call.result == '{"a":"\\u00e9","b":1}'
    assert call.content_hash == content_hash(call.result)
    assert call.content_bytes == len(call.result)


@pytest.mark.parametrize(
    ("vary", "keyed"),
    [
        (("q",), {"q": "a"}),
        ((), {}),
        (("q", "lang"), {"q": "a", "n": 1}),
        (None, {"q": "a", "n": 1}),
    ],
    ids=["one", "none", "one that is missing: all count", "not declared"],
)
def test_declared_vary_selects_what_counts(
    call_of: Make, vary: tuple[str, ...] | None, keyed: dict[str, object]
) -> None:
    settings = ExtractSettings(tools={"search": ToolDeclaration(vary=vary)})
    call = call_of(TOOL | {"input.value": '{"q": "a", "n": 1}'}, settings)
    assert call.input_hash == input_hash("search", keyed)
    assert call.arguments == '{"n":1,"q":"a"}'


def test_dropped_attributes_leave_no_identity(call_of: Make) -> None:
    call = call_of(TOOL | {"output.value": '{"n": 1}'}, dropped=12)
    assert (call.input_hash, call.identity_missing) == (None, "dropped-attributes")
    assert call.content_hash is not None
    assert call_of(TOOL, dropped=12).content_missing == "dropped-attributes"
    assert call_of(TOOL).content_missing == "not-captured"


def test_arguments_that_a_backend_took_apart_are_put_together(call_of: Make) -> None:
    call = call_of(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments.q": "a",
            "gen_ai.tool.call.arguments.ids.0": 1,
            "gen_ai.tool.call.arguments.ids.1": 2,
            "gen_ai.tool.call.arguments.by.name": "x",
            "gen_ai.tool.call.result.n": 1,
        }
    )
    assert call.arguments == '{"by":{"name":"x"},"ids":[1,2],"q":"a"}'
    assert call.result == '{"n":1}'


@pytest.mark.parametrize(
    ("second", "arguments", "reason"),
    [
        ('{"q":"a"}', '{"q":"a"}', None),
        ('{"q": "b"}', None, "conflicting"),
        ("a", '{"q":"a"}', None),
        ("__REDACTED__", '{"q":"a"}', None),
        ({"q": "a"}, '{"q":"a"}', None),
        ({"q": "b"}, None, "conflicting"),
    ],
    ids=["same", "other", "unnamed", "redacted", "same, structured", "other, structured"],
)
def test_two_attributes_with_arguments_must_agree(
    call_of: Make, second: object, arguments: str | None, reason: str | None
) -> None:
    for first_key, second_key in (
        ("input.value", "gen_ai.tool.call.arguments"),
        ("gen_ai.tool.call.arguments", "input.value"),
    ):
        call = call_of(
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "search",
                first_key: '{"q": "a"}',
                second_key: second,
            }
        )
        assert (call.arguments, call.identity_missing) == (arguments, reason)
        assert (call.input_hash is None) == (reason is not None)


def test_google_adk_without_content_writes_empty_objects(call_of: Make) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gcp.vertex.agent.tool_call_args": "{}",
        "gcp.vertex.agent.tool_response": "{}",
    }
    off = call_of(attributes, scope="gcp.vertex.agent")
    assert (off.identity_missing, off.content_missing) == ("not-captured", "not-captured")
    on = call_of(
        attributes | {"gcp.vertex.agent.tool_response": '{"result": 1}'}, scope="gcp.vertex.agent"
    )
    assert (on.arguments, on.result) == ("{}", "1")


# --- retrievers, embeddings, rerankers ------------------------------------------------------------


def retriever(**attributes: object) -> dict[str, object]:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {"openinference.span.kind": "RETRIEVER", "input.value": "refund policy"} | named


def test_a_retrievers_query_and_what_stands_beside_it_are_its_arguments(call_of: Make) -> None:
    three = call_of(retriever(retrieval__top_k=3), name="docs")
    assert (three.kind, three.arguments) == (
        CallKind.RETRIEVER,
        '{"query":"refund policy","top_k":3}',
    )
    assert three.input_hash != call_of(retriever(retrieval__top_k=2), name="docs").input_hash


def test_documents_are_the_result_of_a_retriever(call_of: Make) -> None:
    documents = {
        "retrieval.documents.0.document.id": "d-1",
        "retrieval.documents.0.document.score": 1.0,
        "retrieval.documents.0.document.metadata": '{"b": 1, "a": 2}',
        "retrieval.documents.1.document.id": "d-2",
    }
    call = call_of(retriever() | documents | {"output.value": '["<NodeWithScore ...>"]'}, name="d")
    assert call.result == '[{"id":"d-1","metadata":{"a":2,"b":1},"score":1.0},{"id":"d-2"}]'
    assert call_of(retriever() | documents, dropped=1).content_missing == "dropped-attributes"


def test_a_reranker_is_asked_with_its_documents(call_of: Make) -> None:
    attributes: dict[str, object] = {
        "openinference.span.kind": "RERANKER",
        "reranker.query": "refunds",
        "reranker.top_k": 1,
        "reranker.input_documents.0.document.id": "d-1",
        "reranker.output_documents.0.document.id": "d-1",
        "input.value": '{"query": "refunds"}',
    }
    call = call_of(attributes, name="rerank")
    assert call.arguments == (
        '{"input_documents":[{"document":{"id":"d-1"}}],"query":"refunds","top_k":1}'
    )
    assert call.result == '[{"id":"d-1"}]'


def test_an_embedding_is_asked_of_a_model(call_of: Make) -> None:
    attributes: dict[str, object] = {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "small",
        "embedding.embeddings.0.embedding.text": "a",
        "embedding.embeddings.0.embedding.vector": [0.5],
        "input.value": "a",
    }
    call = call_of(attributes, name="embed")
    assert call.arguments == (
        '{"embeddings":[{"embedding":{"text":"a"}}],"input":"a","model_name":"small"}'
    )


# --- context --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("namespace", "attributes", "principal"),
    [
        ("service.name", {}, "agent"),
        ("tenant", {"tenant": "t-1"}, "t-1"),
        ("tenant", {}, "t-2"),
        ("missing", {}, None),
        ("number", {"number": 7}, "7"),
        (None, {"tenant": "t-1"}, None),
    ],
)
def test_the_namespace_is_an_attribute_of_the_span_or_of_its_resource(
    call_of: Make, namespace: str | None, attributes: dict[str, object], principal: str | None
) -> None:
    settings = ExtractSettings(namespace_attribute=namespace)
    resource = {"service.name": "agent", "tenant": "t-2"}
    call = call_of(TOOL | attributes, settings, resource=resource)
    assert (call.principal, call.service) == (principal, "agent")


@pytest.mark.parametrize(
    ("attributes", "context"),
    [
        ({"session.id": "s-1", "user.id": "u-1"}, ("s-1", "u-1", None)),
        ({"gen_ai.conversation.id": "s-1", "gen_ai.agent.name": "a"}, ("s-1", None, "a")),
        ({"gcp.vertex.agent.session_id": "s-1"}, ("s-1", None, None)),
        ({"group_id": 7}, ("7", None, None)),
        ({"session.id": "", "group_id": "g"}, ("g", None, None)),
        ({}, (None, None, None)),
    ],
)
def test_any_span_may_name_session_user_and_agent(
    span_of: Callable[..., Span],
    attributes: dict[str, object],
    context: tuple[str | None, ...],
) -> None:
    found = Extractor(ExtractSettings()).context(span_of(attributes))
    assert (found.session, found.user, found.agent) == context


@pytest.mark.parametrize(
    ("attributes", "cost"),
    [
        ({"llm.cost.total": 0.5}, 0.5),
        ({"cost_usd": "0.25"}, 0.25),
        ({"cost_usd": "much"}, None),
        ({"gen_ai.usage.cost": float("nan")}, None),
        ({}, None),
    ],
)
def test_a_cost_on_the_span_is_taken(
    call_of: Make, attributes: dict[str, object], cost: float | None
) -> None:
    assert call_of(TOOL | attributes).cost_usd == cost


# --- completing -----------------------------------------------------------------------------------

NAKED = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.id": "c-1",
}


def completed(call: ToolCall, arguments: str | None, result: str | None, **tools: Any) -> ToolCall:
    return Extractor(ExtractSettings(tools=tools)).complete(call, arguments, result)


def test_other_records_fill_in_what_a_span_lacks(call_of: Make) -> None:
    call = call_of(NAKED)
    done = completed(call, '{"q": "a"}', '{"n": 1}')
    assert done.input_hash == input_hash("search", {"q": "a"})
    assert (done.identity_missing, done.content_missing) == (None, None)
    assert (done.result, done.content_hash) == ('{"n":1}', content_hash('{"n":1}'))
    assert (call.input_hash, call.identity_missing) == (None, "not-captured")


def test_a_literal_and_a_message_of_a_log_record_are_read_as_well(call_of: Make) -> None:
    done = completed(
        call_of(NAKED),
        "{'city': 'Alaska'}",
        '{"name": "get_weather", "content": "snowy", "tool_call_id": "tc_01"}',
    )
    assert (done.arguments, done.result) == ('{"city":"Alaska"}', '"snowy"')


def test_what_the_span_tells_itself_stays(call_of: Make) -> None:
    call = call_of(NAKED | {"gen_ai.tool.call.arguments": '{"q": "b"}'})
    assert completed(call, '{"q": "a"}', None) == call


def test_placeholders_of_other_records_fill_in_nothing(call_of: Make) -> None:
    call = call_of(NAKED)
    assert completed(call, "__REDACTED__", "__REDACTED__") == call
    assert completed(call, None, None) == call


def test_a_failure_told_elsewhere_is_one_and_a_failed_call_stays_failed(call_of: Make) -> None:
    done = completed(call_of(NAKED), None, '{"error": "boom"}')
    assert (done.failed, done.content_hash, done.content_missing) == (True, None, "failed")
    failed = call_of(NAKED, status=2)
    assert completed(failed, None, '{"n": 1}').content_hash is None


def test_a_call_that_comes_back_from_a_store_is_completed_like_a_fresh_one(call_of: Make) -> None:
    call = call_of(NAKED)
    stored = msgspec.structs.replace(
        call,
        kind=str(call.kind),
        identity_missing=str(call.identity_missing),
        content_missing=str(call.content_missing),
    )
    assert completed(stored, '{"q": "a"}', '{"n": 1}') == completed(call, '{"q": "a"}', '{"n": 1}')


def test_served_calls_are_not_completed(call_of: Make) -> None:
    served = {
        "visceral.tool.name": "search",
        "visceral.tool.readonly": True,
        "visceral.tool.served_decision_id": "d-1",
    }
    call = call_of(served)
    assert completed(call, '{"q": "a"}', '{"n": 1}') == call


def test_completed_arguments_are_hashed_with_declared_vary_and_version(call_of: Make) -> None:
    declaration = ToolDeclaration(vary=("q",), version="2")
    call = call_of(NAKED, ExtractSettings(tools={"search": declaration}))
    done = completed(call, '{"q": "a", "n": 1}', None, search=declaration)
    assert done.input_hash == input_hash("search", {"q": "a"}, version="2")


# --- memory ---------------------------------------------------------------------------------------


def test_repeated_texts_are_read_once_and_read_alike(span_of: Callable[..., Span]) -> None:
    extractor = Extractor(ExtractSettings())
    spans = [
        span_of(TOOL | {"output.value": text}, span=f"span-{n}")
        for n, text in enumerate(['{"n": 1}', '{"n": 1}', "Error: boom", "Error: boom"])
    ]
    calls = [call for span in spans for call in extractor.calls(span)]
    fresh = [call for span in spans for call in Extractor(ExtractSettings()).calls(span)]
    assert calls == fresh


def test_what_is_remembered_is_bounded() -> None:
    memory: Remembered[int] = Remembered()
    length = MOST_CHARACTERS // 4
    texts = [chr(ord("a") + number) * length for number in range(20)]
    for number, text in enumerate(texts):
        memory.keep("a way", [text], [number])
    known = memory.known("a way")
    assert known[texts[19]] == 19
    assert len(known) < 5
    assert not memory.known("another way")
