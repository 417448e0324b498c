from __future__ import annotations

import json

import pytest

from visceral_cli.cli.explain import INSERTS
from visceral_cli.report.explain.explanation import Explanation, Line, Rows
from visceral_cli.report.explain.layout import as_text
from visceral_cli.report.explain.page_layout import page_text
from visceral_cli.report.explain.pages import Page, pages
from visceral_cli.report.explain.to_json import as_json

ONE = Explanation(
    kind="call",
    heading="search  3fa94c",
    lines=(Line("rule", "none"), Line("blocked by", "a: " + "word " * 30), Line("", "b: short")),
    rows=Rows(("span", "what"), (("1", "first"), ("22", "a long text " * 10)), left_out=3),
    facts={"tool": "search", "calls": 2},
)


def test_labels_stand_beside_texts_of_natural_length_in_a_pipe() -> None:
    lines = as_text([ONE], width=None).splitlines()
    assert lines[0] == "search  3fa94c"
    assert lines[2] == "rule        none"
    assert lines[3].startswith("blocked by  a: word word")
    assert len(lines[3]) > 150
    assert lines[4] == "            b: short"
    assert lines[6] == "span  what"
    assert lines[7] == "1     first"
    assert lines[-1] == "… 3 more: --top 0 shows all"


def test_in_a_terminal_long_texts_go_on_below_their_beginning() -> None:
    lines = as_text([ONE], width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[4].startswith(" " * 12 + "word")
    assert any(line.startswith(("      a long", "      text")) for line in lines)


def test_rows_that_do_not_fit_beside_each_other_go_on_below() -> None:
    times = ("2026-03-02 07:04:27.203", "2383a52b4be244b7")
    rows = Rows(("start", "span", "under the rules"), ((*times, "served by the rule"),))
    lines = as_text([Explanation("call", "search", rows=rows)], width=50).splitlines()
    assert lines[2:] == [
        "start                    span",
        "2026-03-02 07:04:27.203  2383a52b4be244b7",
        "    served by the rule",
    ]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.heading)
@pytest.mark.parametrize("width", [60, 80])
def test_every_page_fits_a_narrow_terminal_with_all_its_words(page: Page, width: int) -> None:
    text = page.filled(INSERTS)
    narrow = page_text(text, width)
    assert narrow.split() == text.split()
    code = [line for line in narrow.splitlines() if " = " in line]
    assert max(len(line) for line in narrow.splitlines() if line not in code) <= width
    assert page_text(text, None) == page_text(text, 100) == text


def test_settings_to_copy_stay_on_their_lines_on_80_columns() -> None:
    for page in pages():
        narrow = page_text(page.text, 80).splitlines()
        assert {line for line in page.text.splitlines() if " = " in line} <= set(narrow)


def test_items_and_terms_hang_below_their_beginning() -> None:
    page = "A list of\ntwo:\n\n  * an item\n    of two lines\n  a term  and what it means"
    assert page_text(page, 16).splitlines() == [
        "A list of two:",
        "",
        "  * an item of",
        "    two lines",
        "  a term  and",
        "        what it",
        "        means",
    ]


def test_the_facts_are_json() -> None:
    document = json.loads(as_json("3fa94c", [ONE, ONE]))
    assert (document["format"], document["what"]) == (1, "3fa94c")
    assert document["explanations"][1] == {
        "kind": "call",
        "heading": "search  3fa94c",
        "tool": "search",
        "calls": 2,
    }
