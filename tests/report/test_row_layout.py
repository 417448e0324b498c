from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from visceral_cli.report.column import Column
from visceral_cli.report.fold import GLUE
from visceral_cli.report.row_layout import lay_out

COLUMNS = (
    Column("tool", itemgetter(0)),
    Column("namespace", itemgetter(1), gives_way=True),
    Column("calls", itemgetter(2), is_number=True),
    Column("repeats / 1,000 runs", itemgetter(3), is_number=True),
    Column("why", itemgetter(4), wraps=True),
)
ROW = ("search_flights", "travel-desk", "4,039", "0.0 → 65.0", "26 clean observations, needs 299")
LONG = ("mcp__crm_of_a_big_company__query_records_with_pagination", "crm", "7", "0.0 → 0.0", "-")
NAMES = st.text(st.sampled_from("ab_-.航"), min_size=1, max_size=60)
NUMBERS = st.integers(0, 10**9).map("{:,}".format)
ROWS = st.lists(
    st.tuples(NAMES, NAMES, NUMBERS, NUMBERS, st.text(st.sampled_from("ab ,9"), max_size=90)),
    min_size=1,
    max_size=5,
)


def laid_out(width: int | None, *rows: Sequence[str]) -> list[str]:
    layout = lay_out(COLUMNS, rows, width)
    lines = layout.heading() + [line for row in rows for line in layout.row(row)]
    return [line.replace(GLUE, " ") for line in lines]


@given(ROWS, st.integers(40, 200))
def test_nothing_is_cut_and_every_line_fits(rows: list[Sequence[str]], width: int) -> None:
    lines = laid_out(width, *rows)
    shown = Counter("".join(lines))
    for row in rows:
        shown.subtract(text for cell in row for text in cell if text != " ")
    assert min(shown.values()) >= 0
    assert max(map(cell_len, lines)) <= width


@given(ROWS, st.integers(40, 200))
def test_a_number_is_never_broken(rows: list[Sequence[str]], width: int) -> None:
    layout = lay_out(COLUMNS, rows, width)
    for row in rows:
        words = " ".join(layout.row(row)).replace(GLUE, " ").split()
        assert {row[2], row[3]} <= set(words)


def test_without_a_width_every_row_is_one_line() -> None:
    assert laid_out(None, ROW, LONG)[1:] == laid_out(200, ROW, LONG)[1:]
    assert len(laid_out(None, ROW, LONG)) == 3


def test_headings_of_numbers_are_folded_first_and_upwards() -> None:
    assert laid_out(80, ROW) == [
        "                                     repeats /",
        "tool            namespace    calls  1,000 runs  why",
        "search_flights  travel-desk  4,039  0.0 → 65.0  26 clean observations, needs 299",
    ]


def test_a_reason_that_does_not_fit_stands_below_its_row() -> None:
    assert laid_out(60, ROW) == [
        "tool            namespace    calls  repeats / 1,000 runs",
        "search_flights  travel-desk  4,039            0.0 → 65.0",
        "    26 clean observations, needs 299",
    ]


def test_names_beside_the_tool_go_below_with_their_headings() -> None:
    assert laid_out(40, ROW) == [
        "                         repeats / 1,000",
        "tool            calls               runs",
        "search_flights  4,039         0.0 → 65.0",
        "    namespace travel-desk",
        "    26 clean observations, needs 299",
    ]


def test_without_rows_there_is_a_heading() -> None:
    assert laid_out(200) == ["tool  namespace  calls  repeats / 1,000 runs  why"]


def test_one_long_name_is_folded_rather_than_all_reasons_put_below() -> None:
    lines = laid_out(100, ROW, ROW, ROW, LONG)
    assert sum("26 clean observations" in line for line in lines) == 3
    assert len(lines) < 1 + 2 * 4
