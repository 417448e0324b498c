import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli.ingest import json_documents, json_window
from visceral_cli.ingest.json_documents import read_concatenated, read_documents
from visceral_cli.ingest.span import DamageKind, Reading

Build = Callable[..., dict[str, Any]]


def read(text: str) -> Reading:
    return read_concatenated(text.encode(), seed="file")


def names(reading: Reading) -> list[str]:
    return [span.name for span in reading.spans]


def console(number: int) -> str:
    """One span as Python's console exporter prints it."""
    context = {"trace_id": "0x1", "span_id": f"0x{number:x}"}
    return json.dumps({"name": f"{number}", "context": context, "attributes": {}}, indent=4)


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let documents of more than 2,000 characters be taken apart."""
    monkeypatch.setattr(json_window, "WINDOW", 2000)
    monkeypatch.setattr(json_window, "_CHUNK", 500)
    monkeypatch.setattr(json_documents, "_BATCH", 1000)
    monkeypatch.setattr(json_window.JsonWindow.take, "__defaults__", (2000,))


def test_one_document_over_several_lines_is_read(otlp: Build, otlp_span: Build) -> None:
    text = json.dumps(otlp(otlp_span(), otlp_span(spanId="2")), indent=2) + "\n"
    reading = read(text)
    assert len(reading.spans) == 2
    assert reading.lines == text.count("\n")
    assert not reading.damage


def test_documents_one_after_the_other_are_read() -> None:
    reading = read("\n".join(map(console, range(1, 4))) + "\n")
    assert names(reading) == ["1", "2", "3"]
    assert not reading.damage


@pytest.mark.parametrize("between", ["", "\n\n", ",\n", "\x1e", "\ufeff"])
def test_documents_may_stand_side_by_side(between: str) -> None:
    assert names(read(between.join(map(console, range(1, 4))))) == ["1", "2", "3"]


def test_a_damaged_document_costs_itself_only() -> None:
    bad = console(2).replace('"attributes"', "attributes")
    reading = read("\n".join([console(1), bad, console(3)]))
    assert names(reading) == ["1", "3"]
    assert reading.damage_counts == {DamageKind.NOT_JSON: 1}


def test_damage_tells_its_line() -> None:
    reading = read(console(1) + "\n}\n" + console(2))
    assert names(reading) == ["1", "2"]
    assert [damage.line for damage in reading.damage] == [console(1).count("\n") + 2]


def test_of_a_cut_document_the_whole_spans_are_read(otlp: Build, otlp_span: Build) -> None:
    spans = [otlp_span(spanId=f"{number}", name=f"{number}") for number in range(1, 6)]
    text = json.dumps(otlp(*spans), indent=2)
    reading = read(text[: text.index('"name": "4"')])
    assert names(reading) == ["1", "2", "3"]
    assert reading.spans[0].scope == "demo"
    assert reading.damage_counts == {DamageKind.CUT: 1}


def test_a_hole_of_nul_bytes_between_documents_is_skipped() -> None:
    reading = read(console(1) + "\n" + "\0" * 100 + console(2))
    assert names(reading) == ["1", "2"]
    assert reading.damage_counts == {DamageKind.NUL: 1}


def test_bare_nan_is_read(otlp: Build, otlp_span: Build) -> None:
    text = console(1).replace('"attributes": {}', '"attributes": {"x": NaN, "y": -Infinity}')
    attributes = read(text).spans[0].attributes
    assert attributes["x"] != attributes["x"]
    assert attributes["y"] == float("-inf")


def test_surrogates_and_bad_bytes_are_replaced() -> None:
    text = console(1).replace('"attributes": {}', '"attributes": {"x": "\\ud83d", "y": "ZZ"}')
    reading = read_concatenated(text.encode().replace(b"ZZ", b"\xff"), seed="file")
    assert reading.spans[0].attributes == {"x": "\ufffd", "y": "\ufffd"}
    assert reading.damage_counts == {DamageKind.SURROGATE: 1, DamageKind.ENCODING: 1}


@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("wrapper", [None, "trace", "result"])
def test_a_huge_document_is_taken_apart(
    otlp: Build, otlp_span: Build, indent: int | None, wrapper: str | None
) -> None:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    spans = [otlp_span(spanId=f"{number:x}", name="caf\u00e9") for number in range(1, 200)]
    document = otlp(*spans, resource=resource)
    document["resourceSpans"] += otlp(otlp_span(spanId="aaaa"))["resourceSpans"]
    data = json.dumps({wrapper: document} if wrapper else document, indent=indent).encode()
    readings = list(read_documents(io.BytesIO(data), seed="file", max_bytes=10_000, piece=5000))
    assert len(readings) > 3
    total = Reading()
    for reading in readings:
        total.extend(reading)
    assert [span.span_id for span in total.spans] == [
        f"{number:016x}" for number in [*range(1, 200), 0xAAAA]
    ]
    assert {span.resource.service for span in total.spans[:-1]} == {"shop"}
    assert total.lines == data.count(b"\n") + 1
    assert not total.damage


@pytest.mark.usefixtures("small_window")
def test_a_huge_list_is_taken_apart(otlp_span: Build) -> None:
    data = json.dumps([otlp_span(spanId=f"{number:x}") for number in range(1, 100)]).encode()
    readings = read_documents(io.BytesIO(data), seed="file", max_bytes=10_000)
    assert sum(len(reading.spans) for reading in readings) == 99


@pytest.mark.usefixtures("small_window")
def test_a_value_beyond_the_limit_is_refused_by_name() -> None:
    text = json.dumps({"x": "a" * 30_000}) + "\n" + console(1)
    (reading,) = read_documents(io.BytesIO(text.encode()), seed="file", max_bytes=10_000)
    assert reading.damage_counts == {DamageKind.TOO_LARGE: 1}
    assert names(reading) == ["1"]


@pytest.mark.parametrize(
    "text", ["", "{", "[", '{"a"', '{"a":', '{"a":1', "[1,", '"', "}", "]", "-", "nul", "{]", "[}"]
)
def test_no_beginning_of_a_document_raises(text: str) -> None:
    reading = read(text)
    assert not reading.spans
    assert bool(reading.damage) == bool(text)
