"""A saved report in every format that a report carries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def saved(in_process: Run, traces: Path, tmp_path: Path) -> Path:
    assert in_process("analyze", "traces", "-o", "report.json").returncode == 0
    return tmp_path / "report.json"


@pytest.mark.parametrize("chosen", ["table", "json", "markdown", "csv", "jsonl"])
def test_it_is_shown_as_the_analysis_was(in_process: Run, saved: Path, chosen: str) -> None:
    done = in_process("report", "report.json", "-f", chosen)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == in_process("analyze", "traces", "-f", chosen).stdout


def test_rows_can_be_chosen_but_calls_are_not_in_it(in_process: Run, saved: Path) -> None:
    done = in_process("report", "report.json", "--rows", "tools", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["tool"] for row in rows} == {"get_weather", "clock"}
    done = in_process("report", "report.json", "--rows", "calls", "-f", "csv")
    assert done.returncode == 2
    assert "a saved report holds no calls" in done.stderr


def test_a_newer_format_is_refused_in_one_line(in_process: Run, saved: Path) -> None:
    document = json.loads(saved.read_text()) | {"format": 2}
    saved.write_text(json.dumps(document))
    done = in_process("report", "report.json")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(
        "visceral: error: report.json: a report of format 2, but this version reads 1\n"
    )
    assert in_process("diff", "report.json", "traces").returncode == 3
    assert in_process("check", "traces", "--against", "report.json").returncode == 3


def test_a_report_of_before_the_intervals_can_be_read(in_process: Run, saved: Path) -> None:
    document = json.loads(saved.read_text())
    del document["per_run"]
    saved.write_text(json.dumps(document))
    assert in_process("report", "report.json").returncode == 0
    assert in_process("diff", "report.json", "traces").returncode == 0


def test_it_may_come_through_a_pipe(visceral: Run, saved: Path) -> None:
    with saved.open() as pipe:
        done = visceral("report", "-", stdin=pipe)
    assert done.returncode == 0
    assert "8 tool calls of 2 tools" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}", "no visceral report"), ("{", "not JSON"), ('{"format": 1}', 'without "tool"')],
)
def test_what_is_no_report_is_refused(
    in_process: Run, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "x.json").write_text(text)
    done = in_process("report", "x.json")
    assert done.returncode == 3
    assert f"x.json: {message}" in done.stderr or message in done.stderr


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_report_is_known_however_it_was_written(
    in_process: Run, saved: Path, indent: int | None, ordered: bool
) -> None:
    from visceral_cli.report.read_json import is_report

    document = json.loads(saved.read_text())
    saved.write_text(json.dumps(document, indent=indent, sort_keys=ordered))
    assert is_report(saved)
    assert not is_report(saved.parent / "traces" / "spans.jsonl")
