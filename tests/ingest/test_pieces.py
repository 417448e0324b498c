import bz2
import gzip
import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from visceral_cli.ingest import packed_pieces, pieces, read_file
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.plan import plan_file
from visceral_cli.ingest.read_file import read_piece
from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.settings import Settings

packed = partial(gzip.compress, mtime=0)
"""With the time in it, tests would be named otherwise each second."""

Line = Callable[..., bytes]


def message(number: int) -> bytes:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = bytes(16), number.to_bytes(8, "big")
    span.name = "span" * (number % 7)
    span.start_time_unix_nano = span.end_time_unix_nano = 1760000000000000001
    return data.SerializeToString()


def line(number: int) -> bytes:
    span = {"traceId": "", "spanId": f"{number}", "name": "x" * (number % 50)}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


MESSAGES = [message(number) for number in range(1, 40)]
LINES = [line(number) for number in range(1, 40)]
FRAMED = b"".join(len(one).to_bytes(4, "big") + one for one in MESSAGES)


def legacy_zstd(messages: list[bytes]) -> bytes:
    frames = [zstandard.ZstdCompressor().compress(one) for one in messages]
    return b"".join(len(one).to_bytes(4, "big") + one for one in frames)


CONTENTS = {
    "json-lines": b"\n".join(LINES) + b"\n",
    "json-lines without a last line feed": b"\n".join(LINES),
    "otlp-proto": b"".join(MESSAGES),
    "otlp-proto with line feeds": b"\n".join(MESSAGES) + b"\n",
    "otlp-proto-framed": FRAMED,
    "otlp-proto-delimited": b"".join(varint(len(one)) + one for one in MESSAGES),
    "zstd-framed json": legacy_zstd(LINES),
    "zstd-framed proto": legacy_zstd(MESSAGES),
    "json": b"\n".join(json.dumps(json.loads(one), indent=1).encode() for one in LINES),
}


def read(path: Path, data: bytes, piece_bytes: int, limits: Settings | None = None) -> Reading:
    path.write_bytes(data)
    limits = limits or Settings()
    plan = plan_file(InputFile(path, "name", len(data)), limits, piece_bytes=piece_bytes)
    total = Reading()
    for piece in plan.pieces:
        for reading in read_piece(pickle.loads(pickle.dumps(piece)), limits):
            total.extend(reading)
    total.extend(plan.notes)
    return total


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@settings(
    max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(piece_bytes=st.integers(1, 5000))
def test_cutting_a_file_anywhere_gives_the_same_spans(
    tmp_path: Path, kind: str, pack: Callable[[bytes], bytes], piece_bytes: int
) -> None:
    data = CONTENTS[kind]
    whole = read(tmp_path / "input", data, 1 << 30)
    assert len(whole.spans) == 39
    assert len({span.trace_id for span in whole.spans}) == 39
    assert whole.damage_counts == {DamageKind.ID: 39}
    cut = read(tmp_path / "input", pack(data), piece_bytes)
    assert cut.spans == whole.spans
    assert cut.damage_counts == whole.damage_counts
    assert cut.lines == whole.lines


def test_a_plain_file_is_cut_by_places_and_a_packed_one_by_content(tmp_path: Path) -> None:
    path = tmp_path / "input"
    for kind in ("json-lines", "otlp-proto", "otlp-proto-framed", "otlp-proto-delimited"):
        path.write_bytes(CONTENTS[kind])
        size = len(CONTENTS[kind])
        plan = plan_file(InputFile(path, "name", size), Settings(), piece_bytes=500)
        found = list(plan.pieces)
        assert plan.format == kind
        assert len(found) > 3
        assert all(piece.content is None for piece in found)
        assert found[-1].offset + found[-1].length == size
        assert [piece.offset for piece in found[1:]] == [
            piece.offset + piece.length for piece in found[:-1]
        ]
    path.write_bytes(packed(CONTENTS["json-lines"]))
    plan = plan_file(InputFile(path, "name", path.stat().st_size), Settings(), piece_bytes=500)
    assert plan.format == "gzip json-lines"
    content = [piece.content or b"" for piece in plan.pieces]
    assert b"".join(content) == CONTENTS["json-lines"]
    assert all(one.endswith(b"\n") for one in content)


def test_line_numbers_go_on_over_pieces(tmp_path: Path) -> None:
    lines = [*LINES]
    lines[30] = b"broken"
    reading = read(tmp_path / "input", b"\n".join(lines), 300)
    (damage,) = [one for one in reading.damage if one.kind is DamageKind.NOT_JSON]
    assert damage.line == 31


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_longer_than_a_window_is_read_as_a_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    for module in (pieces, packed_pieces, read_file):
        monkeypatch.setattr(module, "WINDOW", 1000)
    spans = [{"traceId": "1", "spanId": f"{number}", "name": "n"} for number in range(1, 100)]
    long = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    data = b"\n".join([*LINES[:5], long, *LINES[5:]])
    reading = read(tmp_path / "input", pack(data), 400)
    assert len(reading.spans) == 39 + 99
    assert reading.damage_counts == {DamageKind.ID: 39}


def test_a_line_beyond_the_limit_is_refused_by_name(tmp_path: Path) -> None:
    data = b"\n".join([*LINES[:5], b'{"x": "' + b"a" * 50_000 + b'"}', *LINES[5:]])
    limits = Settings(max_document_bytes=10_000)
    reading = read(tmp_path / "input", packed(data), 400, limits)
    assert len(reading.spans) == 39
    assert reading.damage_counts == {DamageKind.ID: 39, DamageKind.TOO_LARGE: 1}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_message_beyond_the_limit_is_refused_by_name(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    data = TracesData.FromString(message(7))
    data.resource_spans[0].scope_spans[0].spans[0].name = "n" * 50_000
    long = data.SerializeToString()
    framed = FRAMED + len(long).to_bytes(4, "big") + long
    limits = Settings(max_document_bytes=10_000)
    reading = read(tmp_path / "input", pack(framed), 400, limits)
    assert len(reading.spans) == 39
    assert reading.damage_counts == {DamageKind.ID: 39, DamageKind.TOO_LARGE: 1}


def test_a_damaged_frame_costs_its_message_only(tmp_path: Path) -> None:
    frames = [legacy_zstd([one]) for one in LINES]
    frames[3] = frames[3][:12] + b"\xff\xff\xff" + frames[3][15:]
    frames[5] = frames[5][4:]
    reading = read(tmp_path / "input", b"".join(frames), 1000)
    assert len(reading.spans) == 37
    assert reading.damage_counts == {DamageKind.ID: 37, DamageKind.COMPRESSION: 2}


def test_the_frames_of_a_file_share_a_limit(tmp_path: Path) -> None:
    data = legacy_zstd(LINES)
    limit = sum(map(len, LINES[:10]))
    reading = read(tmp_path / "input", data, 1000, Settings(max_decompressed_bytes=limit))
    assert len(reading.spans) == 10
    assert reading.damage_counts == {DamageKind.ID: 10, DamageKind.TOO_LARGE: 1}


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "empty"),
        (b"a text\n", "unknown"),
        (b"{\n  traceId: 'a',\n  name: 'b' }\n", "javascript-console"),
        (packed(b"a text\n"), "gzip unknown"),
    ],
)
def test_a_file_that_cannot_be_read_has_no_pieces_and_a_reason(
    tmp_path: Path, data: bytes, name: str
) -> None:
    path = tmp_path / "input"
    path.write_bytes(data)
    plan = plan_file(InputFile(path, "name", len(data)), Settings())
    assert plan.format == name
    assert not list(plan.pieces)
    assert plan.notes.damage_counts[DamageKind.UNKNOWN_SHAPE] == (name != "empty")


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_was_seen(
    tmp_path: Path, line_of: Line
) -> None:
    path = tmp_path / "input"
    path.write_bytes(line_of(1) + line_of(2))
    plan = plan_file(InputFile(path, "name", len(line_of(1)) + 20), Settings())
    (piece,) = plan.pieces
    (reading,) = read_piece(piece, Settings())
    assert [span.name for span in reading.spans] == ["span 1"]
    assert reading.damage_counts == {DamageKind.CUT: 1}


def test_the_last_pieces_of_lines_are_shorter_but_never_tiny(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes((b'{"resourceSpans":[]}' + b" " * 79 + b"\n") * 100)
    plan = plan_file(InputFile(path, "name", path.stat().st_size), Settings(), piece_bytes=2000)
    pieces = list(plan.pieces)
    lengths = [piece.length for piece in pieces]
    assert [piece.offset for piece in pieces] == [sum(lengths[:n]) for n in range(len(lengths))]
    assert sum(lengths) == 10_000
    assert lengths == [2000, 2000, 2000, 1400, 900, 600, 500, 500, 100]
