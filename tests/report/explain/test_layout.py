from __future__ import annotations

import json

from visceral_cli.report.explain.explanation import Explanation, Line, Rows
from visceral_cli.report.explain.layout import as_text, cells
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


def test_the_facts_are_json() -> None:
    document = json.loads(as_json("3fa94c", [ONE, ONE]))
    assert (document["format"], document["what"]) == (1, "3fa94c")
    assert document["explanations"][1] == {
        "kind": "call",
        "heading": "search  3fa94c",
        "tool": "search",
        "calls": 2,
    }


def test_wide_characters_take_two_cells_and_marks_none() -> None:
    assert [cells(text) for text in ("ab", "日本", "a\u0301")] == [2, 4, 1]
