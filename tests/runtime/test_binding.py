"""Arguments bound by the fast way and by the signature: the same, or both refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.contract.identity import NotCanonical, bind_arguments
from visceral_cli.runtime.binding import Binder


def plain(a: Any, b: Any = 2, c: Any = None) -> None: ...
def required(a: Any, b: Any) -> None: ...
def nothing() -> None: ...
def positional_only(a: Any, /, b: Any = 1) -> None: ...
def keyword_only(a: Any, *, b: Any = 1) -> None: ...
def variable(a: Any, *args: Any, **kwargs: Any) -> None: ...


class Desk:
    def method(self, a: Any, b: Any = 1) -> None: ...


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    plain,
    required,
    nothing,
    positional_only,
    keyword_only,
    variable,
    Desk.method,
    Desk().method,
)


def bound(bind: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return list(bind(*arguments).items())
    except NotCanonical as error:
        return str(error)


@given(
    st.sampled_from(FUNCTIONS),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "c", "args", "self", "x"]), st.integers()),
)
def test_both_ways_agree_in_values_order_and_refusals(function, args, kwargs):
    assert bound(Binder(function).bind, args, kwargs) == bound(
        bind_arguments, function, args, kwargs
    )


def test_a_function_without_a_signature_is_refused_when_it_is_called():
    binder = Binder(min)
    with pytest.raises(NotCanonical):
        binder.bind([1, 2], {})
