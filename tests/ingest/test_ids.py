import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.ingest.ids import record_ids, span_id, trace_id

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"


@pytest.mark.parametrize(
    "spelling",
    [
        TRACE,
        TRACE.upper(),
        f"0x{TRACE}",
        f" {TRACE} ",
        "0x" + TRACE.removeprefix("0"),
        "CvdlGRbNQ92ESOshHIAxnA==",
        "CvdlGRbNQ92ESOshHIAxnA",
        "MGFmNzY1MTkxNmNkNDNkZDg0NDhlYjIxMWM4MDMxOWM=",
        "MGFmNzY1MTkxNmNkNDNkZDg0NDhlYjIxMWM4MDMxOWM",
        "0af76519-16cd-43dd-8448-eb211c80319c",
        bytes.fromhex(TRACE),
        TRACE.encode(),
        base64.b64decode(TRACE),
        base64.b64decode(TRACE).hex(),
        int(TRACE, 16),
    ],
)
def test_every_spelling_of_a_trace_id_gives_the_same_digits(spelling: object) -> None:
    assert trace_id(spelling) == TRACE


@pytest.mark.parametrize(
    "spelling",
    [
        SPAN,
        SPAN.upper(),
        f"0x{SPAN}",
        "t61rcWkgMzE=",
        "YjdhZDZiNzE2OTIwMzMzMQ==",
        bytes.fromhex(SPAN),
    ],
)
def test_every_spelling_of_a_span_id_gives_the_same_digits(spelling: object) -> None:
    assert span_id(spelling) == SPAN


def test_both_base64_alphabets_are_one() -> None:
    assert trace_id("+/+/+/+/+/+/+/+/+/+/+w==") == trace_id("-_-_-_-_-_-_-_-_-_-_-w==")


@pytest.mark.parametrize("empty", [None, "", "0", "0x0", "0" * 16, "0" * 32, bytes(8), bytes(16)])
def test_an_empty_id_is_none(empty: object) -> None:
    assert span_id(empty) is None
    assert trace_id(empty) is None


def test_zeros_in_base64_are_an_empty_id() -> None:
    assert span_id("AAAAAAAAAAA=") is None
    assert trace_id("AAAAAAAAAAAAAAAAAAAAAA==") is None


@pytest.mark.parametrize("text", ["trace000", "zzz", "span_f9c5785eb5cbef28", "trace-001-1"])
def test_what_is_neither_hex_nor_base64_stays_as_it_is(text: str) -> None:
    assert trace_id(text) == text
    assert span_id(text) == text


def test_a_short_hex_id_is_padded() -> None:
    assert record_ids("4", "ABC", "0x1") == ("4".zfill(32), "abc".zfill(16), "1".zfill(16))


def test_a_64_bit_trace_id_is_padded() -> None:
    assert trace_id("8448eb211c80319c") == "00000000000000008448eb211c80319c"


def test_eleven_hex_digits_are_a_short_id_beside_a_hex_trace_id() -> None:
    assert record_ids(TRACE, "abcdefabcde", None)[1] == "00000abcdefabcde"


def test_eleven_hex_digits_are_base64_beside_a_base64_trace_id() -> None:
    text = base64.b64encode(bytes.fromhex("69b71d79f69b71d7")).decode().rstrip("=")
    assert text == "abcdefabcdc"
    assert record_ids("CvdlGRbNQ92ESOshHIAxnA", text, text)[1:] == ("69b71d79f69b71d7",) * 2


def test_a_text_of_eleven_characters_is_no_base64_beside_a_text_trace_id() -> None:
    assert record_ids("adot-trace-1", "adot-tool-0", None) == ("adot-trace-1", "adot-tool-0", None)


def test_a_root_has_no_parent_however_it_is_written() -> None:
    for parent in (None, "", "0" * 16, bytes(8)):
        assert record_ids(TRACE, SPAN, parent) == (TRACE, SPAN, None)


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=8, max_size=8))
def test_hex_and_base64_of_one_record_agree(trace: bytes, span: bytes) -> None:
    standard = [base64.b64encode(one).decode() for one in (trace, span)]
    bare = [base64.urlsafe_b64encode(one).decode().rstrip("=") for one in (trace, span)]
    expected = record_ids(trace.hex(), span.hex(), span.hex())
    assert record_ids(trace, span, span) == expected
    assert record_ids(standard[0], standard[1], standard[1]) == expected
    if any(trace) and bare[0].strip("0123456789abcdefABCDEF"):
        assert record_ids(bare[0], bare[1], bare[1]) == expected


@given(st.one_of(st.text(), st.integers(), st.none(), st.binary(), st.lists(st.text())))
def test_no_id_raises(value: object) -> None:
    for found in record_ids(value, value, value):
        assert found is None or found
