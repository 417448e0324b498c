"""Arguments: unwrapped in a fixed order, with types kept, or unknown for a reason."""

from __future__ import annotations

import json

import pytest

from visceral_cli.calls.arguments import parameter_names, read_arguments
from visceral_cli.calls.convention import Convention, Envelope, Text
from visceral_cli.calls.tool_call import IdentityMissing

PLAIN = Convention("plain")


def text_of(raw: object, *envelopes: Envelope, **options: object) -> str | None:
    row = Convention("a row", argument_envelopes=envelopes)
    read = read_arguments(raw, row, **options)  # type: ignore[arg-type]
    return read.text if read.missing is None else read.missing.value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{ "a" : 1 }'),
        ('{"f":{"b":1,"a":2}}', '{"f":{"a":2,"b":1}}'),
        ('{"a":[1,2],"b":null}', "{'a': (1, 2), 'b': None}"),
        ('{"q":"caf\\u00e9"}', '{"q":"café"}'),
        ('{"a":1}', json.dumps('{"a":1}')),
        ('{"a":1}', json.dumps(json.dumps('{"a":1}'))),
        ('{"a":{"b":[1]}}', {"a": {"b": [1]}}),
    ],
    ids=[
        "spaces",
        "order of keys",
        "a Python literal",
        "escapes",
        "JSON in JSON",
        "twice",
        "kvlist",
    ],
)
def test_spellings_of_the_same_arguments_are_equal(one: object, other: object) -> None:
    assert text_of(one) == text_of(other) is not None


@pytest.mark.parametrize(
    "values",
    [
        ["1", "1.0", '"1"', "true", "null", None],
        ["12345678901234567890", "12345678901234567891"],
        ['"1.10"', '"1.1"', "1.1"],
        ["[1,2]", "[2,1]"],
        ['"caf\\u00e9"', '"cafe\\u0301"'],
        ['""', "[]", "{}"],
    ],
    ids=["kinds", "long integers", "texts of numbers", "lists", "NFC and NFD", "kinds of nothing"],
)
def test_different_arguments_stay_different(values: list[str | None]) -> None:
    texts = ["{}" if value is None else f'{{"k":{value}}}' for value in values]
    assert len({text_of(text) for text in texts}) == len(values)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "not-captured"),
        ("", "not-captured"),
        ("null", "not-captured"),
        ("<not serializable>", "not-captured"),
        ("__REDACTED__", "redacted"),
        ("***", "redacted"),
        ('{"token":"sk-***"}', "redacted"),
        ({"token": "[REDACTED]"}, "redacted"),
        ('{"q":"a", "text": "lorem ip', "truncated"),
        ("{'q': 'a', 'text': 'lorem ip", "truncated"),
        ('{"q":"… [truncated, 9000 chars total]"}', "truncated"),
        ("{" + "x" * 1199, "truncated"),
        ("x" * 1200, "truncated"),
        ('{"k": NaN}', "not-canonical"),
        ("{'k': nan}", "not-canonical"),
        ("{1: 2}", "not-canonical"),
        ({"k": float("inf")}, "not-canonical"),
        ("{'a': <Agent object at 0x7f3a>}", "unparsable"),
        ("{not json}", "unparsable"),
    ],
)
def test_unknown_arguments_say_why(raw: object, reason: str) -> None:
    assert text_of(raw) == reason


def test_no_arguments_are_known_arguments() -> None:
    assert text_of("{}") == "{}"
    assert text_of({}) == "{}"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Berlin", '{"input":"Berlin"}'),
        ("42", '{"input":"42"}'),
        ("true", '{"input":"true"}'),
        ("(see above)", '{"input":"(see above)"}'),
        ('"Berlin"', '{"input":"Berlin"}'),
        ("[1, 2]", '{"input":[1,2]}'),
        (["a"], '{"input":["a"]}'),
    ],
)
def test_a_lone_value_keeps_its_text(raw: object, text: str) -> None:
    read = read_arguments(raw, PLAIN)
    assert (read.text, read.unnamed) == (text, True)


@pytest.mark.parametrize(
    ("raw", "mime", "text"),
    [
        ("42", "application/json", '{"input":42}'),
        ("42", "text/plain", '{"input":"42"}'),
        ('{"a":1}', None, '{"input":"{\\"a\\":1}"}'),
        ('{"a":1}', "application/json", '{"a":1}'),
        ("{'city': 'Berlin'}", None, '{"city":"Berlin"}'),
        ("{city}", None, '{"input":"{city}"}'),
    ],
    ids=["JSON", "text", "an object that is a text", "an object", "an old str()", "braces"],
)
def test_a_bare_text_is_json_only_if_the_mime_type_says_so(
    raw: str, mime: str | None, text: str
) -> None:
    assert text_of(raw, text_form=Text.BARE, mime=mime) == text


@pytest.mark.parametrize(
    ("raw", "names", "text"),
    [
        ('{"args": [], "kwargs": {"a": 1}}', (), '{"a":1}'),
        ('{"kwargs": {"a": 1}}', (), '{"a":1}'),
        ('{"args": ["x"]}', (), '{"args":["x"],"kwargs":{}}'),
        ('{"args": ["x"], "kwargs": {"b": 2}}', ("a", "b"), '{"a":"x","b":2}'),
        ('{"args": ["x", 2], "kwargs": {}}', ("a", "b"), '{"a":"x","b":2}'),
        ('{"args": ["x", 2], "kwargs": {}}', ("a",), '{"args":["x",2],"kwargs":{}}'),
        ('{"args": ["x"], "kwargs": {"a": 2}}', ("a",), '{"args":["x"],"kwargs":{"a":2}}'),
        ('{"args": ["Desk", "Oslo"], "kwargs": {}}', (), '{"args":["Desk","Oslo"],"kwargs":{}}'),
        ('{"args": 1, "b": 2}', (), '{"args":1,"b":2}'),
        ('{"args": "x", "kwargs": {}}', (), '{"args":"x","kwargs":{}}'),
    ],
    ids=[
        "keywords",
        "keywords alone",
        "positions alone",
        "both, names known",
        "all by position",
        "more than names",
        "twice the same name",
        "self stays",
        "a tool's own args",
        "args that are no list",
    ],
)
def test_positions_get_names_only_from_a_schema(
    raw: str, names: tuple[str, ...], text: str
) -> None:
    assert text_of(raw, Envelope.ARGS_KWARGS, names=names) == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"input_str": "{'a': 1e-05}", "metadata": {"langgraph_step": 3}}, '{"a":1e-05}'),
        ({"input_str": "Berlin", "tags": ["x"]}, '{"input":"Berlin"}'),
        ({"inputs": {"a": 1}, "metadata": {}}, '{"a":1}'),
        ({"inputs": {"a": 1}}, '{"inputs":{"a":1}}'),
    ],
    ids=["a literal", "a lone text", "an object", "a tool's own inputs"],
)
def test_the_callback_envelope_leaves_step_and_run_ids_out(raw: object, text: str) -> None:
    assert text_of(json.dumps(raw), Envelope.CALLBACK) == text


@pytest.mark.parametrize(
    ("envelope", "raw", "text"),
    [
        (Envelope.NAMED, {"tool_name": "f", "arguments": {"a": 1}}, '{"a":1}'),
        (Envelope.NAMED, {"tool_name": "f", "arguments": None}, "{}"),
        (Envelope.NAMED, {"arguments": 1, "b": 2}, '{"arguments":1,"b":2}'),
        (Envelope.TOOL_INPUT, {"tool_input": {"a": 1}}, '{"a":1}'),
        (Envelope.TOOL_INPUT, {"tool_input": "a"}, '{"input":"a"}'),
        (Envelope.TOOL_INPUT, {"tool_input": 1, "b": 2}, '{"b":2,"tool_input":1}'),
        (
            Envelope.QUERY_BUNDLE,
            {"query_bundle": {"query_str": "a", "image_path": None}},
            '{"query":"a"}',
        ),
    ],
)
def test_known_envelopes_are_opened(envelope: Envelope, raw: object, text: str) -> None:
    assert text_of(json.dumps(raw), envelope) == text


def test_envelopes_of_other_conventions_are_arguments() -> None:
    raw = '{"args": [], "kwargs": {"a": 1}}'
    assert text_of(raw) == '{"args":[],"kwargs":{"a":1}}'


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ('{"properties": {"b": {}, "a": {}}, "type": "object"}', ("b", "a")),
        ('{"query": {"type": "string"}}', ("query",)),
        ({"properties": {"a": {}}}, ("a",)),
        ('{"customer_id": "string"}', ()),
        ("no schema", ()),
        ("[]", ()),
        (None, ()),
    ],
)
def test_parameter_names_come_in_the_order_of_the_schema(
    schema: object, names: tuple[str, ...]
) -> None:
    assert parameter_names(schema) == names


def test_no_reason_is_given_for_known_arguments() -> None:
    read = read_arguments('{"a":1}', PLAIN)
    assert (read.missing, read.value, read.unnamed) == (None, {"a": 1}, False)
    assert read_arguments("***", PLAIN).missing is IdentityMissing.REDACTED
