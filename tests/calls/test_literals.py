"""Python literals are read as they were written, and nothing is ever run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.calls.literals import (
    Constructed,
    NotLiteral,
    read_constructed,
    read_literal,
    read_literal_at,
)
from visceral_cli.contract.identity import NotCanonical, canonical_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(values)
def test_reading_a_repr_gives_the_value_back(value: object) -> None:
    assert canonical_json(read_literal(repr(value))) == canonical_json(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': (1, 2), 'b': None}", {"a": [1, 2], "b": None}),
        ("(1)", 1),
        ("(1,)", [1]),
        ("()", []),
        ("{}", {}),
        ("{'b', 'a'}", ["a", "b"]),
        ("b'ab'", "b'ab'"),
        (r"'\x41\u00fc\U0001f600\n\d'", "Aü😀\n\\d"),
        ("datetime.datetime(2026, 1, 2)", "datetime.datetime(2026, 1, 2)"),
        (
            "{'at': datetime(2026, 1, 2, tzinfo=timezone.utc)}",
            {"at": "datetime(2026, 1, 2, tzinfo=timezone.utc)"},
        ),
    ],
)
def test_literals_have_one_meaning(text: str, value: object) -> None:
    assert read_literal(text) == value


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("{'a': 'x", True),
        ("{'a': tru", True),
        ("{'a': 1", True),
        ("{'a'", True),
        ("F(x=1", True),
        ("__import__('os').system('true')", False),
        ("1 + 2", False),
        ("'a' 'b'", False),
        ("<Agent object at 0x7f3a>", False),
        ("{'a': <Agent object at 0x7f3a>}", False),
        ("{'a': 1, 'b'}", False),
        ("[" * 5000 + "]" * 5000, False),
        ("1" * 5000, False),
        ("x" * ((1 << 20) + 1), False),
    ],
)
def test_what_is_no_literal_is_refused_and_said_to_be_cut_or_not(text: str, cut: bool) -> None:
    with pytest.raises(NotLiteral) as caught:
        read_literal(text)
    assert caught.value.cut is cut


def test_keys_that_are_no_text_have_no_canonical_form() -> None:
    with pytest.raises(NotCanonical):
        read_literal("{1: 2}")
    with pytest.raises(NotCanonical):
        canonical_json(read_literal("{'a': nan}"))


def test_the_repr_of_an_object_is_read_by_its_fields() -> None:
    text = "x=[ToolCall(tool_name='f', arguments={'a': 1}, id=None), 2]"
    made, end = read_constructed(text, 3)
    assert made == Constructed(
        "ToolCall", [], {"tool_name": "f", "arguments": {"a": 1}, "id": None}
    )
    assert text[end:] == ", 2]"
    with pytest.raises(NotLiteral):
        read_constructed(text, 0)


def test_a_literal_inside_a_text_is_read_up_to_its_end() -> None:
    text = r"content='it\'s \"so\"' name='f'"
    assert read_literal_at(text, 8) == ('it\'s "so"', 22)
    assert read_literal_at("x=[1, 2] y", 2) == ([1, 2], 8)
