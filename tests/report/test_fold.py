from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from visceral_cli.report.fold import GLUE, cell_count, fold_name, fold_parts, fold_sentence

NAMES = st.text(st.sampled_from("ab_-./: 航e\u0301"), max_size=60)
WORDS = st.lists(st.text(st.sampled_from("ab,航"), min_size=1, max_size=8), max_size=12)
WIDTHS = st.integers(2, 30)


@given(NAMES, WIDTHS)
def test_a_folded_name_is_whole_and_fits(name: str, width: int) -> None:
    lines = fold_name(name, width)
    assert "".join(lines) == name
    assert max(map(cell_len, lines)) <= width
    assert not any(line.startswith("\u0301") for line in lines[1:])


@given(WORDS, st.integers(16, 30))
def test_a_folded_sentence_is_whole_and_fits(words: list[str], width: int) -> None:
    lines = fold_sentence(" ".join(words), width)
    assert " ".join(lines) == " ".join(words)
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("traveller_profile", ["traveller_", "profile"]),
        ("crm.customer.read", ["crm.customer", ".read"]),
        ("a_very-long-tool", ["a_very-long-", "tool"]),
        ("getTravellerProfile", ["getTraveller", "Profile"]),
        ("旅行者資料查詢", ["旅行者資料查", "詢"]),
        ("get_weather", ["get_weather"]),
        ("", [""]),
    ],
)
def test_a_name_is_broken_at_its_joints(name: str, lines: list[str]) -> None:
    assert fold_name(name, 12) == lines


def test_a_number_stays_with_its_unit() -> None:
    assert fold_sentence("unchanged for 12.4 min", 17) == ["unchanged for", f"12.4{GLUE}min"]


def test_parts_stand_beside_each_other_while_they_fit() -> None:
    assert fold_parts(["namespace shop", "other 12", "stale 0%"], 24, gap="  ") == [
        "namespace shop  other 12",
        "stale 0%",
    ]


@pytest.mark.parametrize(
    ("text", "cells"),
    [("ab", 2), ("日本", 4), ("a\u0301", 1), ("✈\ufe0f", 1), ("a\u200b", 1), ("🛫", 2)],
)
def test_wide_characters_take_two_cells_and_marks_none(text: str, cells: int) -> None:
    assert cell_count(text) == cells
