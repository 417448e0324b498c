import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from visceral_cli.ingest import read_file
from visceral_cli.ingest.blocks import read_blocks
from visceral_cli.ingest.framing import Framing
from visceral_cli.ingest.pieces import Piece
from visceral_cli.ingest.read_file import read_piece
from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.settings import Settings

Line = Callable[..., bytes]


def message(number: int) -> bytes:
    data = TracesData()
    span = data.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = bytes(16), number.to_bytes(8, "big")
    span.name = "span" * number
    span.start_time_unix_nano = span.end_time_unix_nano = 1760000000000000001
    return data.SerializeToString()


MESSAGES = [message(number) for number in range(1, 9)]
FRAMED = b"".join(len(one).to_bytes(4, "big") + one for one in MESSAGES)
DELIMITED = b"".join(bytes([len(one)]) + one for one in MESSAGES)
WITH_LINE_FEEDS = b"\n".join(MESSAGES) + b"\n"


def read(path: Path, framing: Framing, length: int, block_bytes: int) -> Reading:
    piece = Piece(str(path), framing, 3, length, "name")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_file, "BLOCK_BYTES", block_bytes)
        (reading,) = read_piece(piece, Settings())
    return reading


def assert_same(path: Path, framing: Framing, data: bytes, block_bytes: int) -> Reading:
    """Read what lies behind the first three bytes of a file, in blocks and at once."""
    path.write_bytes(b"{}\n" + data)
    at_once = read(path, framing, len(data), len(data) + 1)
    in_blocks = read(path, framing, len(data), block_bytes)
    assert in_blocks.spans == at_once.spans
    assert in_blocks.damage == at_once.damage
    assert in_blocks.lines == at_once.lines
    return in_blocks


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_lines_in_blocks_of_any_size_give_what_they_give_at_once(
    tmp_path: Path, line_of: Line, data: st.DataObject
) -> None:
    kinds = st.sampled_from(
        [
            line_of(1, traceId=""),
            line_of(2).replace(b"\n", b" \r\n"),
            b"\xef\xbb\xbf" + line_of(3),
            line_of(4)[:50] + line_of(5, traceId=""),
            line_of(6)[:50] + bytes(20) + line_of(7, traceId=""),
            line_of(8)[:50] + b"\n",
            b"{\n",
            b"}\n",
            b"\n",
            b"\r\n",
        ]
    )
    lines = b"".join(data.draw(st.lists(kinds, max_size=8)))
    content = lines[: len(lines) - data.draw(st.integers(0, 60))]
    block_bytes = data.draw(st.integers(1, 600))
    assert_same(tmp_path / "input", Framing.JSON_LINES, content, block_bytes)


@pytest.mark.parametrize(
    ("framing", "content"),
    [
        (Framing.PROTO_FRAMED, FRAMED),
        (Framing.PROTO_DELIMITED, DELIMITED),
        (Framing.PROTO, b"".join(MESSAGES)),
        (Framing.PROTO, WITH_LINE_FEEDS),
    ],
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(block_bytes=st.integers(1, 300), cut=st.integers(0, 60))
def test_messages_in_blocks_of_any_size_give_what_they_give_at_once(
    tmp_path: Path, framing: Framing, content: bytes, block_bytes: int, cut: int
) -> None:
    whole = content[: len(content) - cut]
    reading = assert_same(tmp_path / "input", framing, whole, block_bytes)
    assert len(reading.spans) >= 6


def test_a_file_that_shrinks_while_it_is_read_is_read_as_far_as_it_goes(
    tmp_path: Path, line_of: Line
) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"{}\n" + line_of(1) + line_of(2)[:-30])
    reading = read(path, Framing.JSON_LINES, 10_000, 1000)
    assert [span.name for span in reading.spans] == ["span 1"]
    assert [(damage.kind, damage.line) for damage in reading.damage] == [(DamageKind.CUT, 2)]


def test_no_more_is_held_at_once_than_a_block_or_the_longest_record() -> None:
    sizes = []

    def take(data: bytes, at: int, *, more: bool) -> int:
        sizes.append(len(data))
        return data.rfind(b"\n") + 1

    content = b"short\n" * 50 + b"x" * 90 + b"\n" + b"short\n" * 50
    read_blocks(io.BytesIO(content), 0, len(content), take, block_bytes=40)
    assert max(sizes) <= 160
    assert sizes[0] == 40
