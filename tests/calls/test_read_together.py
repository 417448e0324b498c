"""Texts that are read together give what each of them gives alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.calls.arguments import read_all_arguments, read_arguments
from visceral_cli.calls.canonical import canonical_text, canonical_texts
from visceral_cli.calls.contents import ContentReader
from visceral_cli.calls.convention import Convention, Text
from visceral_cli.calls.conventions import CONVENTIONS
from visceral_cli.calls.encryption import SectionOpener
from visceral_cli.calls.identities import IdentityReader, hashed
from visceral_cli.calls.ignored import without_paths
from visceral_cli.calls.results import read_result, read_results
from visceral_cli.calls.tool_call import ContentMissing, IdentityMissing
from visceral_cli.contract.identity import content_hash
from visceral_cli.settings import NO_DECLARATION, ToolDeclaration

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "a\nb", "é", "\x7f", "\u2028", "***", "[redacted]", "REDACTED", "x [truncated]", "m…"]
    )
)
keys = st.sampled_from(
    ["a", "b", "é", "args", "kwargs", "input_str", "content", "text", "type", "error", "success"]
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
)
texts = st.lists(
    st.builds(json.dumps, values, ensure_ascii=st.booleans())
    | st.sampled_from(
        ["", "{", "[", "{}", "[]", "null", "plain", "Error: no", '{"a": NaN}', '{"a": 1e400}',
         "{'a': 1}", '{"a": "\\ud800"}', '{"a": 1} x', ' {"a": 1}', '{"n": 1e16}', "[1, 2"]
    ),
    max_size=40,
)  # fmt: skip
rows = st.sampled_from([row for row in CONVENTIONS if row.arguments and row.result])
declarations = st.sampled_from(
    [NO_DECLARATION, ToolDeclaration(error_key="a"), ToolDeclaration(ignore_result=("$.a",))]
)


@settings(max_examples=200, deadline=None)
@given(texts, rows, st.sampled_from([None, "application/json", "text/plain"]), declarations)
def test_results(
    raws: list[str], row: Convention, mime: str | None, declaration: ToolDeclaration
) -> None:
    alone = [read_result(raw, row, mime=mime, declaration=declaration) for raw in raws]
    assert read_results(raws, row, mime=mime, declaration=declaration) == alone
    for one in alone:
        counts = one.text and without_paths(one.text, declaration.ignore_result)
        assert one.content_hash == (None if counts is None else content_hash(counts))
    reader = ContentReader(SectionOpener({}))
    assert reader.read_texts(raws, row, mime, declaration) == alone
    assert reader.read_texts(raws, row, mime, declaration) == alone  # remembered
    assert [
        ContentReader(SectionOpener({})).read_text(raw, row, mime, declaration) for raw in raws
    ] == alone


@settings(max_examples=200, deadline=None)
@given(
    texts,
    rows,
    st.sampled_from(list(Text)),
    st.sampled_from([None, "application/json"]),
    st.sampled_from([None, (), ("a",), ("a", "b")]),
)
def test_arguments(
    raws: list[str], row: Convention, form: Text, mime: str | None, vary: tuple[str, ...] | None
) -> None:
    alone = [read_arguments(raw, row, text_form=form, mime=mime) for raw in raws]
    assert read_all_arguments(raws, row, form, mime) == alone
    reader = IdentityReader(SectionOpener({}))
    alone = [read_arguments(raw, row, text_form=row.argument_text, mime=mime) for raw in raws]
    expected = [hashed(one, "a tool", "2", vary) for one in alone]
    assert reader.read_texts(raws, row, mime, "a tool", "2", vary) == expected
    assert reader.read_texts(raws, row, mime, "a tool", "2", vary) == expected  # remembered
    another = reader.read_texts(raws, row, mime, "another tool", "2", vary)
    for one, other in zip(expected, another, strict=True):
        assert (one.input_hash is None) is (other.input_hash is None)
        assert one.input_hash is None or one.input_hash != other.input_hash


@given(st.lists(values, max_size=10))
def test_canonical_texts(several: list[object]) -> None:
    plain = [json.loads(json.dumps(value)) for value in several if not _holds_float(value)]
    assert canonical_texts(plain) == [canonical_text(value, plain=True) for value in plain]


def _holds_float(value: object) -> bool:
    """Floats are written plainly only where they were read so: the decoder's business."""
    if isinstance(value, dict):
        return any(map(_holds_float, value.values()))
    if isinstance(value, list):
        return any(map(_holds_float, value))
    return isinstance(value, float)


def test_one_masked_text_among_plain_ones_is_told() -> None:
    row = next(row for row in CONVENTIONS if row.name == "otel-genai")
    raws = ['{"a": 1}', '{"a": "[redacted]"}', '{"a": "x [truncated]"}', '{"a": "masked ball"}']
    results = read_results(raws, row)
    assert [result.missing for result in results] == [
        None,
        ContentMissing.REDACTED,
        ContentMissing.TRUNCATED,
        None,
    ]
    arguments = read_all_arguments(raws, row, Text.JSON, None)
    assert [one.missing for one in arguments] == [
        None,
        IdentityMissing.REDACTED,
        IdentityMissing.TRUNCATED,
        None,
    ]


@pytest.mark.parametrize("count", [1, 31, 32, 33, 64, 65])
def test_each_of_many_texts_keeps_its_place(count: int) -> None:
    row = next(row for row in CONVENTIONS if row.name == "otel-genai")
    raws = [f'{{"b": {n}, "a": "line\\nfeed"}}' if n % 3 else f"text {n}" for n in range(count)]
    expected = [f'{{"a":"line\\nfeed","b":{n}}}' if n % 3 else f'"text {n}"' for n in range(count)]
    assert [result.text for result in read_results(raws, row)] == expected
