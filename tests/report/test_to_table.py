from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from visceral_cli.report.report import Report
from visceral_cli.report.to_table import write_table
from visceral_cli.report.view import Rows, View

ANSI_COLOR = re.compile(r"\x1b\[[0-9;]*m")


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


@pytest.mark.parametrize("width", [100, 120, 200])
@pytest.mark.parametrize("tools", [1, 6, 200])
def test_the_first_screen_fits(report: Report, width: int, tools: int) -> None:
    report = replace(report, tools=(report.tools * 100)[:tools])
    lines = written(report, width=width, height=24).splitlines()
    assert len(lines) < 24
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_cuts_nothing_but_cells(report: Report, width: int) -> None:
    lines = written(report, width=width, height=24).splitlines()
    assert "visceral rules" in " ".join(lines)
    if width == 80:
        assert max(map(cell_len, lines)) <= width


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
