from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from visceral_cli.report.report import Report
from visceral_cli.report.to_table import write_table
from visceral_cli.report.view import Rows, View

ANSI_COLOR = re.compile(r"\x1b\[[0-9;]*m")
HEADINGS_OF_SENTENCES = re.compile(
    r"(?m)(  +(freshness|evidence|missing|what|why|what would change it))+$"
)


def written(report: Report, **view: object) -> str:
    out = io.BytesIO()
    write_table(report, out, View(**view))
    return out.getvalue().decode(view.get("encoding", "utf-8"))


def test_the_table_in_a_pipe_is_the_golden_one(
    report: Report, golden: Callable[[str, bytes], None]
) -> None:
    golden("report.table.txt", written(report).encode())


def test_the_table_in_a_terminal_is_the_golden_one(
    report: Report, golden: Callable[[str, bytes], None]
) -> None:
    golden("report.table100.txt", written(report, width=100, height=24).encode())


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("tools", [1, 6, 200])
def test_the_first_screen_holds_all_from_the_answer_to_what_is_next(
    report: Report, width: int, tools: int
) -> None:
    report = replace(report, tools=(report.tools * 100)[:tools])
    lines = written(report, width=width, height=24).splitlines()
    last_screen = lines[-23:]
    assert any(line.startswith("204 tool calls of 6 tools") for line in last_screen)
    assert any(line.startswith("search_flights") for line in last_screen)
    assert last_screen[-1].startswith("Next")
    assert max(map(cell_len, lines)) <= width
    if width >= 100:
        assert len(lines) < 24


def test_a_screen_too_short_for_all_begins_with_what_was_read(report: Report) -> None:
    def order(**view: object) -> list[str]:
        lines = written(report, width=80, **view).splitlines()
        firsts = ("Read", "204 tool calls", "Next")
        return [first for line in lines for first in firsts if line.startswith(first)]

    assert order(height=24) == ["Read", "204 tool calls", "Next"]
    assert order(height=40) == ["204 tool calls", "Read", "Next"]
    assert order(height=24, top=0) == ["204 tool calls", "Read", "Next"]


def test_a_taller_screen_shows_more_tools_and_is_never_overrun(report: Report) -> None:
    report = replace(report, tools=report.tools * 10)
    shown = []
    for height in range(28, 60, 4):
        text = written(report, width=80, height=height)
        assert text.count("\n") < height
        shown.append(text.count("search_flights"))
    assert shown[-1] > shown[0]


@pytest.mark.parametrize("rows", [None, *(rows for rows in Rows if rows is not Rows.CALLS)])
@pytest.mark.parametrize("width", [62, 80, 100])
@pytest.mark.parametrize("color", [False, True])
def test_a_narrow_screen_shows_all_that_a_wide_one_shows(
    report: Report,
    rows: Rows | None,
    width: int,
    color: bool,
    assert_whole: Callable[[str, str, int], None],
) -> None:
    narrow = ANSI_COLOR.sub(
        "", written(report, rows=rows, width=width, height=24, top=0, color=color)
    )
    wide = written(report, rows=rows, top=0)
    wide = HEADINGS_OF_SENTENCES.sub("", wide)  # below its row a sentence has none, and no dash
    assert_whole(narrow.replace("-", ""), wide.replace("-", ""), width)


def test_thirty_tools_of_two_services_are_whole_on_80_columns(
    report: Report, assert_whole: Callable[[str, str, int], None]
) -> None:
    first = report.tools[0]
    names = [
        "mcp__crm_of_a_big_company__query_records_with_pagination_v2x",
        "航班搜索_按日期_和出发城市",
    ]
    names += [f"tool_{number}" for number in range(28)]
    report = replace(
        report,
        tools=tuple(
            replace(first, tool=name, namespace="部门" if nth % 2 else "shop", calls=12_345)
            for nth, name in enumerate(names)
        ),
    )
    narrow = written(report, width=80, height=24, top=0)
    assert_whole(narrow, written(report, top=0), 80)
    assert narrow.count(" 12,345 ") == 30


@pytest.mark.parametrize("width", [40, 50, 60])
def test_numbers_are_whole_on_any_screen(report: Report, width: int) -> None:
    lines = written(report, rows=Rows.GROUPS, width=width, height=24).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert {"84", "41", "61.5"} <= set(" ".join(lines).split())
    assert "same to 52.0 min" in " ".join(lines)


@pytest.mark.parametrize("rows", [None, *(rows for rows in Rows if rows is not Rows.CALLS)])
@pytest.mark.parametrize("color", [False, True])
def test_hostile_names_add_no_line_and_no_control_character(
    report: Report, rows: Rows | None, color: bool
) -> None:
    tame = replace(
        report,
        tools=tuple(replace(tool, tool="tame") for tool in report.tools),
        groups=tuple(replace(group, tool="tame") for group in report.groups),
        bounds=tuple(replace(bound, tool="tame") for bound in report.bounds),
        findings=tuple(replace(finding, tool="tame") for finding in report.findings),
    )
    shown = written(report, rows=rows, color=color)
    left = ANSI_COLOR.sub("", shown) if color else shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", left)
    assert shown.count("\n") == written(tame, rows=rows, color=color).count("\n")


def test_color_says_nothing_that_the_text_does_not(report: Report) -> None:
    colored = written(report, color=True)
    assert "\x1b[" in colored
    assert [line.rstrip() for line in ANSI_COLOR.sub("", colored).splitlines()] == (
        written(report).splitlines()
    )


def test_a_stream_of_ascii_gets_ascii(report: Report) -> None:
    text = written(report, encoding="ascii")
    assert text.isascii()
    assert "####" in text


def test_in_a_pipe_nothing_is_cut(report: Report) -> None:
    assert "87 clean observations, needs 299" in written(report)
    assert "…" not in written(report).replace("… (+9,920 characters)", "")


@pytest.mark.parametrize(("top", "more"), [(0, 0), (2, 4), (6, 0), (7, 0)])
def test_top_says_how_many_rows_are_left_out(report: Report, top: int, more: int) -> None:
    text = written(report, top=top)
    assert (f"… {more:,} more: --top 0 shows all" in text) is bool(more)


def test_nothing_to_list_is_said(report: Report) -> None:
    assert written(replace(report, findings=()), rows=Rows.FINDINGS) == "No findings.\n"
