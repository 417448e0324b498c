from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.report.plain_text import LONGEST_NAME, harmless, plain


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("get_weather", "get_weather"),
        ("list[str]", "list[str]"),
        ("Wetter für 東京", "Wetter für 東京"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]8;;http://x\x07link", "\\x1b]8;;http://x\\x07link"),
        ("a\r\n\tb", "a\\r\\n\\tb"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\x9b31m", "\\x9b31m"),
        ("cut \ud83d", "cut \\ud83d"),
        ("\U000e0041tag", "\\U000e0041tag"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_has_no_visible_form_is_shown_as_its_escape(name: str, shown: str) -> None:
    assert plain(name) == shown


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (LONGEST_NAME - 1, "a" * (LONGEST_NAME - 1)),
        (LONGEST_NAME, "a" * LONGEST_NAME),
        (LONGEST_NAME + 1, "a" * LONGEST_NAME + "… (+1 characters)"),
        (10_000, "a" * LONGEST_NAME + "… (+9,920 characters)"),
    ],
)
def test_a_long_name_is_cut_and_says_so(length: int, shown: str) -> None:
    assert plain("a" * length) == shown


def test_marks_piled_on_one_letter_are_escaped_from_the_third_on() -> None:
    assert plain("e\u0301\u0302\u0303x") == "e\u0301\u0302\\u0303x"


def test_line_ends_are_kept_in_text_of_several_lines() -> None:
    assert harmless("a\x1b[2J\nb") == "a\\x1b[2J\nb"


@given(st.text())
def test_nothing_that_moves_a_cursor_comes_through(name: str) -> None:
    shown = plain(name, longest=None)
    assert not any(unicodedata.category(one).startswith(("C", "Zl", "Zp")) for one in shown)
    assert plain(shown, longest=None) == shown
