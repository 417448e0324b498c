from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import money_text, seconds_text

Samples = tuple[Path, dict[str, Any]]

HOSTILE_NAMES = (
    "</script><script>window.pwned = 1</script>",
    "\"'><img src=x onerror='window.pwned = 1'>",
    "[red]{{ 7 * 7 }}",
    "a\x00b\x1b[31m\x07\nc",
    "\u202eevil\u2066\u200f",
    "</title></style><!--]]>",
    "a" * 10_000,
)


@pytest.fixture(autouse=True)
def wide(browser: Any) -> Iterator[None]:
    """Each test begins at the width of a desktop, in the light, with scripts."""
    set_width(browser, 1280)
    yield
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.get("about:blank")


def set_width(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def opened(browser: Any, page: Path) -> list[str]:
    """Open a page; return what it asked the network for beside itself."""
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(page.as_uri())
    asked = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    return [url for url in asked if url != page.as_uri()]


def column(browser: Any, table: str, place: int) -> list[str]:
    """The texts of a column, of the rows that are seen."""
    script = """
        return [...document.querySelectorAll(arguments[0] + ' tbody tr')]
            .filter(row => row.checkVisibility())
            .map(row => row.cells[arguments[1]].querySelector('bdi').textContent)"""
    found: list[str] = browser.execute_script(script, table, place)
    return found


def screenshot(browser: Any, place: Path) -> None:
    size = "return [innerWidth, document.documentElement.scrollHeight]"
    width, height = browser.execute_script(size)
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    command = {"captureBeyondViewport": True, "clip": clip}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", command)
    place.write_bytes(base64.b64decode(taken["data"]))


def test_the_page_loads_without_an_error_and_asks_for_nothing(
    browser: Any, samples: Samples
) -> None:
    assert opened(browser, samples[0]) == []
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.querySelectorAll('svg').length") > 20


def test_the_policy_stops_what_is_not_of_the_page(browser: Any, samples: Samples) -> None:
    opened(browser, samples[0])
    browser.execute_script(
        "const added = document.createElement('script');"
        "added.textContent = 'window.pwned = 1'; document.body.append(added);"
        "document.body.append(Object.assign(new Image(), {src: 'https://example.invalid/x'}));"
    )
    assert browser.execute_script("return window.pwned") is None
    refused = [entry["message"] for entry in browser.get_log("browser")]
    assert any("script-src" in message for message in refused)
    assert any("example.invalid" in message for message in refused)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_as_wide_as_the_window(
    browser: Any, samples: Samples, artifacts: Path, width: int
) -> None:
    set_width(browser, width)
    opened(browser, samples[0])
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    for number in ("#tools", "#groups"):
        cut = """
            return [...document.querySelectorAll(arguments[0] + ' td')].filter(cell => {
                const box = cell.getBoundingClientRect();
                return box.width && (box.left < 0 || box.right > innerWidth);
            }).length"""
        assert browser.execute_script(cut, number) == 0
    smallest = """
        return Math.min(...[...document.querySelectorAll('svg text')].map(text =>
            text.getBoundingClientRect().height).filter(height => height > 0))"""
    assert browser.execute_script(smallest) >= 8
    screenshot(browser, artifacts / f"page-{width}.png")


def test_the_page_follows_the_readers_dark_setting(
    browser: Any, samples: Samples, artifacts: Path
) -> None:
    opened(browser, samples[0])
    background = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(background)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    assert browser.execute_script(background) != light
    screenshot(browser, artifacts / "page-dark.png")


def test_every_number_that_is_shown_is_that_of_the_json_report(
    browser: Any, samples: Samples
) -> None:
    page, report = samples
    opened(browser, page)
    cells: list[list[str]] = browser.execute_script(
        "return [...document.querySelectorAll('[data-path]')].map(cell =>"
        " [cell.dataset.path, cell.dataset.value, cell.querySelector('bdi').textContent])"
    )
    assert len(cells) > 200
    for path, value, text in cells:
        expected = _at(report, path)
        assert float(value) == (-1 if expected is None else expected), path
        assert text == _as_text(path, expected), path
    answer = browser.execute_script("return document.querySelector('h1').textContent")
    assert answer.startswith(f"{report['inputs']['tool_calls']:,} tool calls")
    assert f"{report['totals']['repeats']:,} repeat an earlier call" in answer
    parts: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('[data-part]')].map(part => part.textContent)"
    )
    assert sum(int(part.replace(",", "")) for part in parts) == report["totals"]["repeats"]


def _at(document: Any, path: str) -> Any:
    for step in path.split("."):
        document = document[int(step) if isinstance(document, list) else step]
    return document


def _as_text(path: str, value: Any) -> str:
    if path.endswith("_usd"):
        return money_text(value)
    if path.endswith("seconds"):
        return seconds_text(float("nan") if value is None else value)
    return f"{value:,}"


def test_the_data_of_the_page_is_that_of_the_json_report(browser: Any, samples: Samples) -> None:
    page, report = samples
    opened(browser, page)
    held = json.loads(browser.execute_script("return document.getElementById('data').textContent"))
    for part in ("inputs", "totals", "funnel", "tools", "bounds", "curves", "findings"):
        assert held["report"][part] == report[part], part
    assert held["report"]["groups"] == report["groups"][: len(held["report"]["groups"])]


@pytest.mark.parametrize(
    ("place", "key"),
    [(0, "tool"), (1, "calls"), (4, "repeat_seconds")],
    ids=["by name", "by number", "by time"],
)
def test_a_click_on_a_heading_sorts_and_another_turns_it_around(
    browser: Any, samples: Samples, place: int, key: str
) -> None:
    page, report = samples
    opened(browser, page)
    before = column(browser, "#tools", 0)
    button = f"#tools th:nth-child({place + 1}) button"
    browser.execute_script("document.querySelector(arguments[0]).click()", button)
    first = column(browser, "#tools", 0)
    state = f"return document.querySelector('#tools th:nth-child({place + 1})').ariaSort"
    assert browser.execute_script(state) == ("descending" if place else "ascending")
    values = {tool["tool"]: tool[key] for tool in report["tools"]}
    in_order = [values[name] for name in first]
    assert in_order == sorted(in_order, reverse=bool(place))
    browser.execute_script("document.querySelector(arguments[0]).click()", button)
    turned = [values[name] for name in column(browser, "#tools", 0)]
    assert turned == sorted(in_order, reverse=not place)
    assert sorted(first) == sorted(before)


def test_the_filter_leaves_the_rows_that_have_all_its_words(browser: Any, samples: Samples) -> None:
    page, report = samples
    opened(browser, page)
    field = browser.find_element("css selector", "#tools input[type=search]")
    everything = column(browser, "#tools", 0)
    wanted = [t["tool"] for t in report["tools"] if t["namespace"] == "travel-desk"]
    field.send_keys("TRAVEL desk")
    assert column(browser, "#tools", 0) == wanted
    status = browser.execute_script(
        "return document.querySelector('#tools [role=status]').innerText"
    )
    assert status == f"{len(wanted)} of {len(everything)} rows"
    field.send_keys(" no such tool")
    assert column(browser, "#tools", 0) == []
    field.clear()
    field.send_keys(" ")
    assert column(browser, "#tools", 0) == everything


def test_the_slider_of_a_curve_tells_each_age(browser: Any, samples: Samples) -> None:
    page, report = samples
    opened(browser, page)
    place, shown, texts = browser.execute_script(
        """
        const figure = document.querySelector('[data-curve]');
        const slider = figure.querySelector('input');
        const shown = [figure.querySelector('output').textContent];
        for (let nth = 0; nth <= Number(slider.max); nth++) {
            slider.value = nth;
            slider.dispatchEvent(new Event('input'));
            shown.push(figure.querySelector('output').textContent);
        }
        return [Number(figure.dataset.curve), shown,
                [...figure.querySelectorAll('li')].map(item => item.textContent)];"""
    )
    assert shown[0] in texts
    assert shown[1:] == texts
    points = report["curves"][place]["points"][-len(texts) :]
    for text, point in zip(texts, points, strict=True):
        assert f" {point['serves']:,} call" in text
        assert f"{seconds_text(point['saved_seconds'])} saved, {point['stale']:,} stale" in text


def test_without_script_all_rows_are_there(browser: Any, samples: Samples) -> None:
    page, _ = samples
    opened(browser, page)
    with_script = column(browser, "#tools", 0)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get(page.as_uri())
    source = browser.find_elements("css selector", "#tools tbody tr td:first-child > bdi")
    assert [name.text for name in source] == with_script
    assert not browser.find_elements("css selector", "input, button, select")
    assert len(browser.find_elements("css selector", "#traces svg")) == 10


def test_the_page_can_be_printed(browser: Any, samples: Samples, artifacts: Path) -> None:
    opened(browser, samples[0])
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    document = base64.b64decode(printed["data"])
    assert document.startswith(b"%PDF-")
    (artifacts / "page.pdf").write_bytes(document)


def test_hostile_names_stay_text(
    browser: Any,
    tmp_path: Path,
    artifacts: Path,
    analyzed: Callable[[Path], Samples],
) -> None:
    traces = tmp_path / "hostile.jsonl"
    traces.write_text("".join(_span_line(nth, name) for nth, name in _two_of_each()))
    page, report = analyzed(traces)
    assert {tool["tool"] for tool in report["tools"]} >= set(HOSTILE_NAMES[:2])
    set_width(browser, 390)
    assert opened(browser, page) == []
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.pwned") is None
    assert browser.execute_script("return document.querySelectorAll('img, script').length") == 2
    assert browser.execute_script("return document.title") == "Repeated tool calls"
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390
    shown = column(browser, "#tools", 0)
    assert shown == [plain(tool["tool"]) for tool in report["tools"]]
    assert len(shown) == len(HOSTILE_NAMES)
    screenshot(browser, artifacts / "page-hostile-390.png")


def _two_of_each() -> Iterator[tuple[int, str]]:
    yield from enumerate(name for name in HOSTILE_NAMES for _ in range(2))


def _span_line(nth: int, name: str) -> str:
    start_ns = 1_777_896_000_000_000_000 + nth * 1_000_000_000
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": '{"q": 1}',
        "gen_ai.tool.call.result": '{"found": true}',
    }
    span = {
        "traceId": f"{nth // 2 + 1:032x}",
        "spanId": f"{nth + 1:016x}",
        "name": f"execute_tool {name}",
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(start_ns + 500_000_000),
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
        ],
    }
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    return json.dumps(document) + "\n"
