from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.report.explain.difference import difference_of_texts, first_difference


def found(one: Any, other: Any) -> tuple[str, str] | None:
    difference = first_difference(one, other, show_values=False)
    return None if difference is None else (difference.path, difference.how)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": 1, "b": {"c": [1, 2]}}, {"b": {"c": [1, 2]}, "a": 1}, None),
        ({"a": 1, "b": {"c": [1, 2]}}, {"a": 1, "b": {"c": [1, 3]}}, ("$.b.c[1]", "other value")),
        ([1, 2, 3], [1, 2], ("$", "3 and 2 elements")),
        ([1, 2, 3], [9, 2], ("$[0]", "other value")),
        ({"a": 1}, {}, ("$.a", "only in the first")),
        ({}, {"a": None}, ("$.a", "only in the second")),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, ("$.a", "other value")),
        (1, 1.0, ("$", "whole number and number with a fraction")),
        (1, True, ("$", "whole number and true or false")),
        (1, "1", ("$", "whole number and text")),
        (None, [], ("$", "null and list")),
        ("Rome", "rome", ("$", "other letter case")),
        ("a b", "a  b", ("$", "other spaces")),
        ("S\u00e3o", "Sa\u0303o", ("$", "other Unicode form")),
        ("a", "b", ("$", "other value")),
    ],
    ids=repr,
)
def test_the_first_difference_is_named_by_path_and_kind(
    one: Any, other: Any, expected: tuple[str, str] | None
) -> None:
    assert found(one, other) == expected


def test_a_key_that_does_not_look_like_a_name_is_left_out_of_the_path() -> None:
    one, other = {"fares": {"ann@example.com": 1}}, {"fares": {"ann@example.com": 2}}
    assert found(one, other) == ("$.fares[…]", "other value")
    shown = first_difference(one, other, show_values=True)
    assert shown is not None
    assert shown.path == '$.fares["ann@example.com"]'


def test_values_come_only_when_they_are_shown() -> None:
    hidden = first_difference({"a": "secret"}, {"a": "other"}, show_values=False)
    shown = first_difference({"a": "secret"}, {"a": "x" * 1000}, show_values=True)
    assert hidden is not None
    assert (hidden.first, hidden.second) == (None, None)
    assert shown is not None
    assert shown.first == '"secret"'
    assert shown.second is not None
    assert len(shown.second) == 80


@pytest.mark.parametrize("text", [None, "{", "[" * 100_000 + "]" * 100_000])
def test_what_cannot_be_read_has_no_difference(text: str | None) -> None:
    assert difference_of_texts(text, "1", show_values=False) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_there_is_no_difference_exactly_when_the_canonical_texts_are_equal(
    one: Any, other: Any
) -> None:
    equal = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (found(one, other) is None) == (equal or _only_the_sign_of_zero(one, other))


def _only_the_sign_of_zero(one: Any, other: Any) -> bool:
    texts = [json.dumps(value, sort_keys=True).replace("-0.0", "0.0") for value in (one, other)]
    return texts[0] == texts[1]
