"""Fast reading and writing of JSON gives the very text of the contract's encoder."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.calls.canonical import NotJson, canonical_text, parse_json
from visceral_cli.contract.identity import NotCanonical, canonical_json

written_floats = st.from_regex(r"-?(0|[1-9]\d{0,17})\.\d{1,20}", fullmatch=True).map(float)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | written_floats
    | st.text()
    | st.text(alphabet='"\\\x00\x1f\x7f\x80\u2028\ud800\udfff\U0001f600é/')
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)


@settings(max_examples=200, deadline=None)
@given(values, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_every_json_text_gets_the_canonical_form_of_the_contract(
    value: object, ascii_only: bool, indent: object
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    parsed = parse_json(text)
    assert canonical_text(parsed.value, plain=parsed.plain) == canonical_json(json.loads(text))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"),
        ("1.0", "1.0"),
        ("-0.0", "-0.0"),
        ("1e5", "100000.0"),
        ("1E16", "1e+16"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1000000000000000.0", "1000000000000000.0"),
        ("18446744073709551616", "18446744073709551616"),
        ('"\\u00fc\\/\\u007f"', '"\\u00fc/\\u007f"'),
        ('"\\ud83d\\ude00"', '"\\ud83d\\ude00"'),
        ('"\\ud800"', '"\\ud800"'),
        (' {"b": 1, "a": 2, "b": 3} ', '{"a":2,"b":3}'),
    ],
)
def test_numbers_and_texts_keep_what_they_are(text: str, canonical: str) -> None:
    parsed = parse_json(text)
    assert canonical_text(parsed.value, plain=parsed.plain) == canonical


@pytest.mark.parametrize("text", ["NaN", '{"k": NaN}', "[Infinity]", "[1e400]"])
def test_what_is_not_finite_has_no_canonical_form(text: str) -> None:
    parsed = parse_json(text)
    with pytest.raises(NotCanonical):
        canonical_text(parsed.value, plain=parsed.plain)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ('{"a": "x', True),
        ('{"a": "x\\u00', True),
        ('{"a": tru', True),
        ('{"a": -', True),
        ('{"a": 1', True),
        ("[1, 2", True),
        ("{", True),
        ("", True),
        ('{"a": 1}}', False),
        ('{"a" 1}', False),
        ("[1,]", False),
        ("{'a': 1}", False),
        ("refund policy", False),
        ("1" * 5000, False),
        ("[" * 200_000, False),
    ],
)
def test_text_that_is_no_json_is_told_from_text_that_ends_early(text: str, cut: bool) -> None:
    with pytest.raises(NotJson) as caught:
        parse_json(text)
    assert caught.value.cut is cut
