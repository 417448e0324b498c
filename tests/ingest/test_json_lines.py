import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.ingest.json_lines import read_lines
from visceral_cli.ingest.span import DamageKind, Reading

Line = Callable[..., bytes]


def read(data: bytes) -> Reading:
    reading = Reading()
    read_lines(data, reading, seed="file")
    return reading


def names(reading: Reading) -> list[str]:
    return [span.name for span in reading.spans]


def places(reading: Reading) -> list[tuple[str, int | None]]:
    return [(damage.kind.value, damage.line) for damage in reading.damage]


def test_each_line_is_read_and_counted(line_of: Line) -> None:
    reading = read(line_of(1) + b"\n" + line_of(2))
    assert names(reading) == ["span 1", "span 2"]
    assert reading.lines == 3
    assert not reading.damage


def test_the_last_line_needs_no_line_feed(line_of: Line) -> None:
    reading = read(line_of(1) + line_of(2).rstrip())
    assert names(reading) == ["span 1", "span 2"]
    assert reading.lines == 2
    assert not reading.damage


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\x1e", b"  \t", b"\x1e\xef\xbb\xbf"])
@pytest.mark.parametrize("after", [b"\n", b"\r\n", b" \r\n", b",\n"])
def test_marks_around_a_line_are_ignored(line_of: Line, before: bytes, after: bytes) -> None:
    data = b"".join(before + line_of(number).rstrip() + after for number in (1, 2))
    reading = read(data)
    assert names(reading) == ["span 1", "span 2"]
    assert not reading.damage


def test_a_bad_line_costs_itself_only(line_of: Line) -> None:
    reading = read(line_of(1) + b"{this is not JSON\n" + line_of(2))
    assert names(reading) == ["span 1", "span 2"]
    assert places(reading) == [("not-json", 2)]


def test_a_cut_last_line_is_told_from_a_bad_one(line_of: Line) -> None:
    reading = read(line_of(1) + line_of(2)[:-20])
    assert names(reading) == ["span 1"]
    assert places(reading) == [("cut", 2)]


def test_a_hole_of_nul_bytes_costs_what_it_covers(line_of: Line) -> None:
    half = line_of(2)[:30]
    reading = read(line_of(1) + half + bytes(5000) + line_of(3) + bytes(10) + b"\n" + line_of(4))
    assert names(reading) == ["span 1", "span 3", "span 4"]
    assert places(reading) == [("nul-bytes", 2), ("nul-bytes", 3)]


def test_a_half_line_without_a_line_feed_does_not_cost_the_next(line_of: Line) -> None:
    reading = read(line_of(1)[:30] + line_of(2) + line_of(3))
    assert names(reading) == ["span 2", "span 3"]
    assert places(reading) == [("not-json", 1)]


def test_a_document_behind_the_prefix_of_a_logger_is_read(line_of: Line) -> None:
    reading = read(b"INFO: " + line_of(1))
    assert names(reading) == ["span 1"]
    assert places(reading) == [("not-json", 1)]


def test_several_documents_on_one_line_are_read(line_of: Line) -> None:
    reading = read(line_of(1).rstrip() + line_of(2).rstrip() + b", " + line_of(3))
    assert names(reading) == ["span 1", "span 2", "span 3"]
    assert not reading.damage


def test_bad_utf_8_is_replaced_and_counted_once(line_of: Line) -> None:
    line = line_of(1, attributes=[{"key": "k", "value": {"stringValue": "XX"}}])
    reading = read(line.replace(b"XX", b"\xff\xc3"))
    assert reading.spans[0].attributes == {"k": "\ufffd\ufffd"}
    assert places(reading) == [("invalid-utf-8", 1)]


def test_half_of_a_surrogate_pair_is_replaced_and_counted(line_of: Line) -> None:
    line = line_of(1, attributes=[{"key": "k", "value": {"stringValue": "ok \ud83d"}}])
    reading = read(line)
    assert reading.spans[0].attributes == {"k": "ok \ufffd"}
    assert places(reading) == [("lone-surrogate", 1)]


def test_a_whole_surrogate_pair_is_one_character(line_of: Line) -> None:
    line = line_of(1, attributes=[{"key": "k", "value": {"stringValue": "ok \U0001f600"}}])
    assert b"\\ud83d" in line
    reading = read(line)
    assert reading.spans[0].attributes == {"k": "ok \U0001f600"}
    assert not reading.damage


def test_integers_of_any_length_are_exact() -> None:
    span = {"trace_id": "1", "span_id": "2", "name": "n", "attributes": {"n": 2**200}}
    reading = read(json.dumps(span).encode())
    assert reading.spans[0].attributes == {"n": 2**200}


def test_an_integer_of_thousands_of_digits_does_not_cost_its_line() -> None:
    digits = "9" * 5000
    reading = read(f'{{"trace_id": "1", "span_id": "2", "name": "n", "x": {digits}}}'.encode())
    assert names(reading) == ["n"]


def test_nesting_without_end_costs_its_line_only(line_of: Line) -> None:
    reading = read(b"[" * 100_000 + b"\n" + line_of(1))
    assert names(reading) == ["span 1"]
    assert places(reading) == [("not-json", 1)]


def test_damage_never_tells_a_value(line_of: Line) -> None:
    reading = read(b'{"secret": "s3cr3t"\n["s3cr3t"]\n' + line_of(1, kind="s3cr3t"))
    assert len(reading.damage) == 3
    assert not any("s3cr3t" in damage.what for damage in reading.damage)


def test_only_the_first_hundred_places_of_a_kind_are_told() -> None:
    reading = read(b"{\n" * 150)
    assert len(reading.damage) == 100
    assert reading.damage_counts == {DamageKind.NOT_JSON: 150}


def test_the_same_place_has_the_same_synthetic_ids_however_the_lines_are_cut(
    line_of: Line,
) -> None:
    line = line_of(1, traceId="")
    whole = read(line * 3)
    assert len({span.trace_id for span in whole.spans}) == 3
    parts = Reading()
    read_lines(line, parts, seed="file", first_byte=0)
    read_lines(line * 2, parts, seed="file", first_byte=len(line))
    assert parts.spans == whole.spans


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_no_bytes_raise(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    reading = read(data)
    assert reading.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@given(st.integers(0, 4), st.data())
def test_a_damaged_line_costs_exactly_one_record(damaged: int, data: st.DataObject) -> None:
    lines = [
        json.dumps({"traceId": "1", "spanId": f"{number}", "name": f"{number}"}).encode()
        for number in range(1, 6)
    ]
    cut = data.draw(st.integers(1, len(lines[damaged]) - 1))
    lines[damaged] = lines[damaged][:cut]
    reading = read(b"\n".join(lines) + b"\n")
    assert names(reading) == [str(number) for number in range(1, 6) if number != damaged + 1]
    assert reading.damage_counts == {DamageKind.NOT_JSON: 1}
