from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from msgspec.structs import replace

pytest.importorskip("vl_convert", reason="the extra html is not installed")

from visceral_cli.report.explain.difference import Difference
from visceral_cli.report.page.detail import (
    GROUPS,
    SPANS_OF_A_TRACE,
    TRACES,
    Bar,
    CallMark,
    GroupTimeline,
    Mark,
    PageDetail,
    SpanBar,
    Waterfall,
    WriterMark,
)
from visceral_cli.report.plain_text import plain
from visceral_cli.report.report import Report
from visceral_cli.report.to_html import write_html
from visceral_cli.report.to_json import report_to_json
from visceral_cli.report.view import View

SECRET = "s3cret-value"
TRACE = "f" * 32
INVISIBLE = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"


class Page(HTMLParser):
    """The elements of a page: names, attributes, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.text: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else ""
        if self._inside:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside][-1] += data
        else:
            self.text.append(data)

    def attributes(self, name: str) -> Iterator[str]:
        return (attributes[name] or "" for _, attributes in self.elements if name in attributes)


def written(report: Report, detail: PageDetail | None = None, **view: Any) -> str:
    out = io.BytesIO()
    write_html(report, detail, out, View(**view))
    return out.getvalue().decode()


def detail(report: Report, *, shows_values: bool = False) -> PageDetail:
    """Single calls of the report's first group, and a trace; every name is hostile."""
    hostile = report.tools[2].tool
    shown = SECRET if shows_values else None
    marks = tuple(
        CallMark(nth // 2, TRACE, f"{nth:016x}", 60.0 * nth, nth % 2, 0.5, mark, "first", 1, True)
        for nth, mark in enumerate(Mark)
    )
    return PageDetail(
        groups=(
            GroupTimeline(
                place=0,
                calls=marks,
                calls_in_all=84,
                writers=(WriterMark(1, 0.5, hostile),),
                changed_span_ids=("0" * 16, "1" * 16),
                difference=Difference("$.fares[0].price", "other value", shown, shown),
            ),
        ),
        traces=(
            Waterfall(
                trace_id=TRACE,
                seconds=100.0,
                spans_in_all=9,
                calls=len(Bar),
                saved_calls=2,
                saved_seconds=1.5,
                spans=tuple(
                    SpanBar(hostile, f"{nth:016x}", nth, 9.0 * nth, 1.0, bar, None, ((1.0, 2.0),))
                    for nth, bar in enumerate(Bar)
                ),
            ),
        ),
        under_rules=True,
        shows_values=shows_values,
    )


@pytest.fixture(scope="module")
def text(report: Report) -> str:
    return written(report, detail(report))


def test_the_same_report_gives_the_same_bytes(report: Report, text: str) -> None:
    assert written(report, detail(report)) == text


def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else(text: str) -> None:
    page = Page(text)
    policy = next(page.attributes("content"))
    for _, attributes in page.elements:
        if attributes.get("http-equiv") == "Content-Security-Policy":
            policy = attributes["content"] or ""
    data, script = page.raw["script"]
    (style,) = page.raw["style"]

    def hashed(part: str) -> str:
        return base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()

    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{hashed(style)}'",
        f"script-src 'sha256-{hashed(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert json.loads(data)["report"]["format"] == 1


def test_nothing_is_loaded_from_anywhere(text: str) -> None:
    page = Page(text)
    names = {name for _, attributes in page.elements for name in attributes}
    assert not names & {"src", "srcset", "style", "action", "data", "xlink:href"}
    assert not any(name.startswith("on") for name in names)
    assert all(link.startswith("#") for link in page.attributes("href"))
    (style,) = page.raw["style"]
    assert "url(" not in style
    assert "@import" not in style
    urls = set(re.findall(r"https?://[^\s\"'<]+", text))
    assert urls == {"http://www.w3.org/2000/svg"}


def test_every_cell_has_the_number_of_the_json_report(report: Report, text: str) -> None:
    document = report_to_json(report)
    cells = [attributes for _, attributes in Page(text).elements if "data-path" in attributes]
    assert len(cells) > 60
    for cell in cells:
        expected = _at(document, cell["data-path"] or "")
        assert float(cell["data-value"] or "nan") == (-1 if expected is None else expected)


def _at(document: Any, path: str) -> Any:
    for step in path.split("."):
        document = document[int(step) if isinstance(document, list) else step]
    return document


def test_the_bar_and_its_figures_hold_every_repeat(report: Report, text: str) -> None:
    parts = [
        int(attributes["data-value"] or 0)
        for _, attributes in Page(text).elements
        if "data-part" in attributes
    ]
    assert sum(parts) == sum(tool.repeats for tool in report.tools)


@pytest.mark.parametrize(
    "name",
    [
        "</script><script>alert(1)</script>",
        "\"'><img src=x onerror=alert(1)>",
        "[red]{{ 7 * 7 }}{% raw %}",
        "a\x00b\x1b[31m\x07\nc",
        "\u202eevil\u2066\u200f",
        "]]><!--",
        "a" * 10_000,
    ],
    ids=["script", "quotes", "markup", "control", "right-to-left", "comment", "long"],
)
def test_a_hostile_name_stays_text(report: Report, harmless: str, name: str) -> None:
    text = renamed(report, name)
    page = Page(text)
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in Page(harmless).elements]
    assert page.text.count(plain(name)) >= 4
    assert not re.search(INVISIBLE, text)
    assert max(map(len, page.text)) < 500


@pytest.fixture(scope="module")
def harmless(report: Report) -> str:
    return renamed(report, "harmless")


def renamed(report: Report, name: str) -> str:
    """The page of the report when a tool, its group, curves and spans have another name."""
    tools = (replace(report.tools[0], tool=name), *report.tools[1:])
    groups = (replace(report.groups[0], tool=name), *report.groups[1:])
    curves = tuple(replace(curve, tool=name) for curve in report.curves)
    calls = detail(report)
    (trace,) = calls.traces
    spans = tuple(replace(span, name=name) for span in trace.spans)
    return written(
        replace(report, tools=tools, groups=groups, curves=curves),
        replace(calls, traces=(replace(trace, spans=spans),)),
    )


def test_values_are_on_the_page_only_when_they_are_asked_for(report: Report, text: str) -> None:
    assert SECRET not in text
    assert "--show-arguments" in text
    shown = written(report, detail(report, shows_values=True))
    assert SECRET in shown
    assert "argument values and results are not in this file" not in shown


def test_the_page_of_a_saved_report_says_what_it_lacks(report: Report) -> None:
    text = written(report)
    assert "made from a saved report" in text
    assert 'id="traces"' not in text
    assert 'id="curves"' in text


def test_a_page_holds_the_rows_that_are_asked_for_and_says_how_many_more(report: Report) -> None:
    short, whole = written(report, top=1), written(report, top=0)
    assert "1 more are not on this page" in short
    assert len(json.loads(Page(short).raw["script"][0])["report"]["groups"]) == 1
    assert "not on this page" not in whole
    assert len(json.loads(Page(whole).raw["script"][0])["report"]["groups"]) == 2


def test_what_is_not_data_stays_under_300_kb_however_much_there_is(report: Report) -> None:
    count, few = 300, detail(report)
    (timeline,), (trace,) = few.groups, few.traces
    many = replace(
        report,
        tools=tuple(replace(report.tools[0], tool=f"look_something_up_{n}") for n in range(count)),
        groups=tuple(report.groups) * count,
        rules=report.rules * count,
        candidates=report.candidates * count,
        refusals=report.refusals * count,
        findings=report.findings * count,
        curves=tuple(
            replace(report.curves[0], tool=f"tool {n}", points=report.curves[0].points * 6)
            for n in range(count)
        ),
    )
    spans = tuple(replace(trace.spans[0], name="look_something_up", depth=n % 4) for n in range(30))
    calls = tuple(replace(timeline.calls[n % 5], trace=n // 3) for n in range(40))
    whole = replace(
        few,
        groups=tuple(replace(timeline, place=n, calls=calls) for n in range(GROUPS)),
        traces=(replace(trace, spans=spans[:SPANS_OF_A_TRACE]),) * TRACES,
    )
    text = written(many, whole)
    size = len(text) - len(Page(text).raw["script"][0])
    assert 150_000 < size < 300_000


def test_the_page_says_who_may_share_the_results_of_a_tool(text: str) -> None:
    assert "shared within one user: answers depend on who asks: 80 of 80 pairs" in text


def test_the_page_says_what_a_proven_freshness_does_not_cover(report: Report, text: str) -> None:
    assert "<dt>beware</dt>" not in text
    bounds = tuple(replace(bound, warnings=("up to <3%>",)) for bound in report.bounds)
    warned = written(replace(report, bounds=bounds))
    assert "<dt>beware</dt><dd>search_flights: up to &lt;3%&gt;</dd>" in warned


def test_a_report_without_any_repeat_is_a_page_too(report: Report) -> None:
    tools = tuple(
        replace(tool, repeats=0, same_result=0, changed=0, in_flight=0) for tool in report.tools
    )
    nothing = replace(
        report,
        totals=replace(report.totals, repeats=0),
        tools=tools,
        funnel=(),
        groups=(),
        curves=(),
        bounds=(),
        rules=(),
        candidates=(),
        refusals=(),
        findings=(),
        savings=replace(report.savings, by_identity={}, by_tool=()),
    )
    text = written(nothing, PageDetail((), (), False, False))
    assert "none repeats an earlier one" in text
    assert 'id="groups"' not in text
