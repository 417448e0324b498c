from __future__ import annotations

import io
from collections.abc import Callable

from visceral_cli.report.report import Report
from visceral_cli.report.to_markdown import escaped, write_markdown
from visceral_cli.report.view import Rows, View


def written(report: Report, view: View | None = None) -> str:
    out = io.BytesIO()
    write_markdown(report, out, view or View())
    return out.getvalue().decode()


def test_the_markdown_report_is_the_golden_one(
    report: Report, golden: Callable[[str, bytes], None]
) -> None:
    golden("report.md", written(report).encode())


def test_every_row_of_a_table_has_as_many_cells_as_its_heading(report: Report) -> None:
    tables = [block.splitlines() for block in written(report).split("\n\n") if block[0] == "|"]
    assert len(tables) > 5
    for lines in tables:
        bars = {line.replace("\\|", "").count("|") for line in lines}
        assert len(bars) == 1


def test_a_name_can_be_neither_markup_nor_html(report: Report) -> None:
    text = written(report)
    assert "</script>" not in text
    assert "\\<\\/script\\>" in text or "\\</script\\>" in text
    assert "\x1b" not in text


def test_what_markdown_would_read_is_escaped() -> None:
    assert escaped("a|b <i> `c` *d* [e](f) #g @h") == (
        "a\\|b \\<i\\> \\`c\\` \\*d\\* \\[e\\](f) \\#g \\@h"
    )


def test_one_table_alone_can_be_asked_for(report: Report) -> None:
    text = written(report, View(rows=Rows.GROUPS, top=1))
    assert text.startswith("| tool |")
    assert text.endswith("1 more: `--top 0` shows all\n")
