"""Results are reduced to the tool's own value, so that equal ones compare equal."""

from __future__ import annotations

import json

import pytest

from visceral_cli.calls.convention import Convention, Envelope, Text
from visceral_cli.calls.results import is_empty, read_result

PLAIN = Convention("plain")
WEATHER = {"city": "Berlin", "temp_c": 15.5}
CANONICAL = '{"city":"Berlin","temp_c":15.5}'
TEXT = json.dumps(WEATHER)


def result_of(raw: object, *envelopes: Envelope, **options: object) -> str | None:
    read = read_result(raw, Convention("a row", result_envelopes=envelopes), **options)  # type: ignore[arg-type]
    return read.text if read.missing is None else read.missing.value


def message(content: object = TEXT, **fields: object) -> dict[str, object]:
    return {"content": content, "type": "tool", "tool_call_id": "c-1", "id": "m-1"} | fields


@pytest.mark.parametrize(
    "raw",
    [
        TEXT,
        WEATHER,
        json.dumps(TEXT),
        str(WEATHER),
        json.dumps({"type": "tool", "data": message()}),
        json.dumps({"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": message()}),
        json.dumps(message()),
        message(),
        f"content={TEXT!r} name='get_weather' tool_call_id='c-1'",
        f"content={[{'type': 'text', 'text': TEXT}]!r} id='m-1' tool_call_id='c-1'",
        json.dumps([{"type": "text", "text": TEXT}]),
        json.dumps([{"type": "text", "text": TEXT, "annotations": None, "id": "lc_1"}]),
        json.dumps([{"type": "text", "content": TEXT}]),
        json.dumps({"content": [{"type": "text", "text": TEXT}], "isError": False}),
        json.dumps(
            {
                "content": [{"type": "text", "text": TEXT}],
                "structuredContent": {"result": WEATHER},
                "isError": False,
            }
        ),
        json.dumps(message([{"type": "text", "text": TEXT}])),
        json.dumps(message(artifact={"structured_content": WEATHER})),
    ],
)
def test_unmistakable_layers_come_off_everywhere(raw: object) -> None:
    assert result_of(raw) == CANONICAL


@pytest.mark.parametrize(
    ("envelope", "raw"),
    [
        (Envelope.STRANDS_CONTENT, [{"text": TEXT}]),
        (Envelope.STRANDS_CONTENT, [{"json": WEATHER}]),
        (Envelope.RESULT_KEY, {"result": WEATHER}),
        (Envelope.RESULT_KEY, {"result": TEXT, "is_error": False}),
        (Envelope.RESPONSE, {"id": "adk-1", "name": "get_weather", "response": WEATHER}),
        (Envelope.OUTPUT_KEY, {"output": WEATHER}),
        (Envelope.OUTPUT_KEY, {"output": f"content={TEXT!r} name='f' tool_call_id='c-1'"}),
        (Envelope.OUTPUT_KEY, {"output": message(), "kwargs": {"name": "get_weather"}}),
        (
            Envelope.TOOL_OUTPUT,
            {"blocks": [], "tool_name": "get_weather", "raw_output": WEATHER, "is_error": False},
        ),
    ],
)
def test_layers_of_a_convention_come_off_there_and_nowhere_else(
    envelope: Envelope, raw: object
) -> None:
    assert result_of(json.dumps(raw), envelope) == CANONICAL
    assert result_of(json.dumps(raw)) != CANONICAL


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("value-of-k1", '"value-of-k1"'),
        ('"value-of-k1"', '"value-of-k1"'),
        ("1.10", '"1.10"'),
        ("1.1", '"1.1"'),
        ("null", "null"),
        ("None", "null"),
        ("", '""'),
        ("[Population of Tokelau](https://example.org) and more", None),
        ("{not json", None),
        ("(52.52, 13.4)", "[52.52,13.4]"),
        ("content='no message'", None),
        ("content = 1", None),
    ],
)
def test_a_text_stays_a_text(raw: str, text: str | None) -> None:
    assert result_of(raw) == (json.dumps(raw) if text is None else text)


def test_everything_is_json_where_the_library_quotes_texts() -> None:
    row = Convention("a row", result_text=Text.JSON)
    texts = {raw: read_result(raw, row).text for raw in ("1.10", '"1.10"', "null", "plain text")}
    assert texts == {
        "1.10": "1.1",
        '"1.10"': '"1.10"',
        "null": "null",
        "plain text": '"plain text"',
    }


def test_the_sdks_own_text_is_not_touched() -> None:
    row = Convention("a row", result_text=Text.JSON, result_as_it_is=True)
    assert read_result('"{\\"a\\":1}"', row).text == '"{\\"a\\":1}"'
    assert read_result(json.dumps(message()), row).text == json.dumps(
        message(), sort_keys=True, separators=(",", ":")
    )


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ([{"type": "text", "text": "1"}, {"type": "text", "text": '{"a":1}'}], '["1",{"a":1}]'),
        (
            [{"type": "image", "data": "x"}, {"type": "text", "text": "a"}],
            '[{"data":"x","type":"image"},{"text":"a","type":"text"}]',
        ),
        ([{"text": "a"}], '[{"text":"a"}]'),
        ({"content": "a", "n": 1}, '{"content":"a","n":1}'),
        ({"type": "tool", "name": "hammer"}, '{"name":"hammer","type":"tool"}'),
        ([], "[]"),
    ],
    ids=["several texts", "an image", "a tool's own list", "own content", "own type", "nothing"],
)
def test_a_tools_own_value_is_left_whole(raw: object, text: str) -> None:
    assert result_of(json.dumps(raw)) == text


def test_an_artifact_is_part_of_the_result_and_ids_are_not() -> None:
    one = result_of(json.dumps(message(artifact=[1])))
    assert one == '{"artifact":[1],"content":{"city":"Berlin","temp_c":15.5}}'
    assert one == result_of(json.dumps(message(artifact=[1], tool_call_id="c-2", id="m-2")))
    assert one != result_of(json.dumps(message(artifact=[2])))


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "not-captured"),
        ("<not serializable>", "not-captured"),
        ("__REDACTED__", "redacted"),
        ('{"card": "[redacted]"}', "redacted"),
        ('{"a": 1, "b": "lorem', "truncated"),
        ("{'a': 1, 'b': 'lorem", "truncated"),
        (json.dumps({"type": "tool", "data": message()})[:-9], "truncated"),
        (json.dumps([{"type": "text", "text": '{"a": [1, 2'}]), "truncated"),
        ("x" * 4096, "truncated"),
        ("lorem [truncated]", "truncated"),
        ('{"a": NaN}', "not-canonical"),
        ({"a": float("nan")}, "not-canonical"),
    ],
)
def test_unknown_results_say_why(raw: object, reason: str) -> None:
    assert result_of(raw) == reason


def test_dots_at_the_end_of_a_snippet_are_the_tools_own() -> None:
    assert result_of("word " * 40 + "...") == json.dumps("word " * 40 + "...")


@pytest.mark.parametrize(
    ("raw", "failed"),
    [
        ({"content": [{"type": "text", "text": "boom"}], "isError": True}, True),
        (message("boom", status="error"), True),
        (message("boom", status="success"), False),
        ({"error": "customer not found"}, True),
        (json.dumps({"error": "customer not found"}), True),
        ({"error": None, "rows": [1]}, False),
        ("Error: boom", True),
        ("No error: fine", False),
    ],
)
def test_a_result_may_tell_a_failure(raw: object, failed: bool) -> None:
    assert read_result(json.dumps(raw), PLAIN).failed is failed


@pytest.mark.parametrize(
    ("value", "empty"),
    [
        (None, True),
        ("", True),
        ([], True),
        ({}, True),
        ("No results found.", True),
        ("0 matches", True),
        ("not found", True),
        ("No results from the year 1999 are on file", False),
        ({"results": [], "total": 0}, True),
        ({"results": [], "took_ms": 3}, False),
        ({"total": 0}, False),
        (0, False),
        (False, False),
        ("value-of-k1", False),
    ],
)
def test_results_that_hold_nothing(value: object, empty: bool) -> None:
    assert is_empty(value) is empty
