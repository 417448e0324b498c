from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO

from msgspec.structs import replace

from visceral_cli.report.caution import what_to_beware
from visceral_cli.report.report import Report
from visceral_cli.report.to_markdown import write_markdown
from visceral_cli.report.to_table import write_table
from visceral_cli.report.view import View


def warned(report: Report, tool: str, *warnings: str) -> Report:
    bounds = tuple(
        replace(bound, warnings=warnings) if bound.tool == tool else bound
        for bound in report.bounds
    )
    return replace(report, bounds=bounds)


def written(write: Callable[[Report, BinaryIO, View], None], report: Report) -> str:
    out = io.BytesIO()
    write(report, out, View())
    return out.getvalue().decode()


def test_the_warnings_of_tools_with_rules_are_said_with_the_tool(report: Report) -> None:
    assert what_to_beware(report) == []
    assert what_to_beware(warned(report, "search_flights", "a", "b")) == [
        "search_flights: a",
        "search_flights: b",
    ]


def test_a_tool_without_a_rule_has_nothing_to_beware_of(report: Report) -> None:
    assert what_to_beware(warned(report, "get_weather", "a")) == []


def test_after_three_warnings_the_rest_is_counted(report: Report) -> None:
    said = what_to_beware(warned(report, "search_flights", *"abcde"))
    assert said[2:] == ["search_flights: c", "2 more: visceral explain TOOL"]
    assert len(what_to_beware(warned(report, "search_flights", *"abc"))) == 3


def test_a_warning_stands_in_the_table_and_in_markdown(report: Report) -> None:
    report = warned(report, "search_flights", "up to 3.6% would be stale")
    line = "Beware      search_flights: up to 3.6% would be stale\n"
    assert line in written(write_table, report)
    line = "- Beware: search\\_flights: up to 3.6% would be stale\n"
    assert line in written(write_markdown, report)
