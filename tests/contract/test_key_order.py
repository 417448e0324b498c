"""The order of keys beside canonical JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.contract.identity import faithful_json
from visceral_cli.contract.key_order import UnfitOrder, is_order_told, key_order, put_in_order

leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
keys = st.text(st.characters(codec="utf-8") | st.sampled_from("ab,;*="), max_size=3)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=25,
)


@given(values)
def test_a_canonical_text_and_its_order_give_back_what_was_written(value: Any) -> None:
    order = key_order(value)
    assert order is not None
    again = json.loads(faithful_json(value))
    put_in_order(again, order)
    assert json.dumps(again) == json.dumps(value)
    if is_order_told(value):
        assert order == ""


@pytest.mark.parametrize(
    ("value", "order"),
    [
        (5, ""),
        ({"a": 1, "b": 2}, ""),
        ({"b": 1, "a": 2}, "1,0"),
        ({"b": {"d": 1, "c": 2}, "a": [{"z": 1}, {"y": 1, "x": 2}]}, "1,0*3"),
        ([{"a": 1, "b": 2}, {"c": 1, "b": 2, "a": 3}], "=;2,1,0"),
        ({"\U0001f600": 1, "￿": 2}, "1,0"),
    ],
)
def test_an_order_is_the_places_of_the_keys_in_sorted_order(value: Any, order: str) -> None:
    assert key_order(value) == order


@pytest.mark.parametrize(
    "order", ["1", "0,0", "1,0,2", "1,0;1,0", "x", "1,0*2", "1,0*x", ";", "*", "2,1", "-1,0"]
)
def test_an_order_that_does_not_fit_is_refused(order: str) -> None:
    with pytest.raises(UnfitOrder):
        put_in_order({"a": 1, "b": 2}, order)


def test_an_order_that_is_longer_than_a_short_text_is_not_told() -> None:
    rows = [{"b": 1, "a": 2, **({"c": 3} if number % 2 else {})} for number in range(2000)]
    assert key_order(rows) is None
    assert key_order(rows[::2]) == "1,0*1000"


def test_an_order_of_many_is_no_work_for_one() -> None:
    with pytest.raises(UnfitOrder, match="more orders"):
        put_in_order({"a": 1, "b": 2}, "1,0*999999999")
