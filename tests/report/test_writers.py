from __future__ import annotations

import io
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from visceral_cli.errors import UsageError
from visceral_cli.report.format_choice import REPORT_FORMATS, check_rows, format_of
from visceral_cli.report.report import Report
from visceral_cli.report.view import Format, Rows, View
from visceral_cli.report.writers import Answer, write_answer

ALL = REPORT_FORMATS


class Terminal(io.TextIOWrapper):
    """A stdout that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("name", "place", "expected"),
    [
        (None, None, Format.TABLE),
        (None, "r.json", Format.JSON),
        (None, "r.MD", Format.MARKDOWN),
        (None, "r.parquet", Format.PARQUET),
        (None, "report", Format.TABLE),
        ("csv", "r.json", Format.CSV),
        ("CSV", None, Format.CSV),
        (None, "/dev/stdout", Format.TABLE),
    ],
)
def test_the_name_beats_the_suffix_beats_the_first(
    name: str | None, place: str | None, expected: Format
) -> None:
    assert format_of(name, None if place is None else Path(place), ALL) is expected


def test_an_unknown_format_names_those_that_are_carried() -> None:
    with pytest.raises(UsageError, match='no output format "pdf" here') as caught:
        format_of("pdf", None, (Format.TABLE, Format.JSON))
    assert caught.value.hint == "known: table, json"
    with pytest.raises(UsageError, match=r"no format has the suffix \.pdf"):
        format_of(None, Path("report.pdf"), ALL)
    with pytest.raises(UsageError, match="does not write csv"):
        format_of(None, Path("report.csv"), (Format.TABLE,))


@pytest.mark.parametrize("chosen", [Format.TABLE, Format.MARKDOWN])
def test_calls_are_refused_where_millions_could_not_be_read(chosen: Format) -> None:
    with pytest.raises(UsageError, match="--rows calls"):
        check_rows(chosen, None, Rows.CALLS)


def test_json_is_always_whole() -> None:
    with pytest.raises(UsageError, match="json always holds everything"):
        check_rows(Format.JSON, None, Rows.TOOLS)


def test_parquet_is_not_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    check_rows(Format.PARQUET, None, None)
    monkeypatch.setattr(sys, "stdout", Terminal(io.BytesIO()))
    check_rows(Format.PARQUET, Path("r.parquet"), None)
    with pytest.raises(UsageError, match="parquet is not for a terminal"):
        check_rows(Format.PARQUET, None, None)


@pytest.mark.parametrize("chosen", ALL)
def test_every_format_writes_a_file(report: Report, tmp_path: Path, chosen: Format) -> None:
    if chosen is Format.HTML:
        pytest.importorskip("vl_convert", reason="the extra html is not installed")
    place = tmp_path / "out"
    write_answer(Answer(report), chosen, place, View())
    first = place.read_bytes()
    assert first
    write_answer(Answer(report), chosen, place, View())
    assert place.read_bytes() == first


def test_calls_come_from_where_they_are(report: Report, tmp_path: Path) -> None:
    def calls(show_arguments: bool) -> pa.RecordBatchReader:
        return pa.table({"tool": ["t"], "shown": [show_arguments]}).to_reader()

    place, view = tmp_path / "calls.csv", View(rows=Rows.CALLS, show_arguments=True)
    write_answer(Answer(report, calls), Format.CSV, place, view)
    assert place.read_text() == '"tool","shown"\n"t",true\n'
    with pytest.raises(UsageError, match="holds no calls"):
        write_answer(Answer(report), Format.CSV, place, view)


@pytest.mark.parametrize("chosen", [Format.CSV, Format.JSONL, Format.MARKDOWN, Format.JSON])
def test_no_format_lets_a_name_reach_the_terminal_as_it_is(
    report: Report, monkeypatch: pytest.MonkeyPatch, chosen: Format
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(raw, write_through=True))
    write_answer(Answer(report), chosen, None, View(rows=None))
    shown = raw.getvalue().decode()
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_reader_that_has_gone_away_is_no_error(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.BytesIO):
        def write(self, data: object) -> int:
            raise BrokenPipeError

    left: list[bool] = []
    monkeypatch.setattr("visceral_cli.report.output._leave_stdout", lambda: left.append(True))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Gone()))
    write_answer(Answer(report), Format.CSV, None, View())
    assert left == [True]
