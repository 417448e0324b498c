import bz2
import gzip
import io
import lzma
from functools import partial

import pytest
import zstandard

from visceral_cli.ingest.compression import Content, open_content, unpack_frame
from visceral_cli.ingest.span import DamageKind

packed = partial(gzip.compress, mtime=0)
"""With the time in it, tests would be named otherwise each second."""

TEXT = b"".join(b'{"line": %d}\n' % number for number in range(5000))
SKIPPABLE = b"\x5a\x2a\x4d\x18\x04\x00\x00\x00skip"


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def opened(data: bytes, limit: int = 1 << 30) -> Content:
    return open_content(io.BytesIO(data), limit_bytes=limit)


@pytest.mark.parametrize(
    ("layers", "data"),
    [
        ((), TEXT),
        (("gzip",), packed(TEXT)),
        (("gzip",), packed(TEXT[:7]) + packed(b"") + packed(TEXT[7:])),
        (("gzip",), packed(TEXT) + bytes(500)),
        (("bz2",), bz2.compress(TEXT[:7]) + bz2.compress(TEXT[7:])),
        (("xz",), lzma.compress(TEXT[:7]) + lzma.compress(TEXT[7:])),
        (("zstd",), SKIPPABLE + zstd(TEXT[:7]) + SKIPPABLE + zstd(b"") + zstd(TEXT[7:])),
        (("zstd", "gzip"), zstd(packed(TEXT))),
        (("utf-16",), TEXT.decode().encode("utf-16-le")),
        (("utf-16",), TEXT.decode().encode("utf-16-be")),
        (("gzip", "utf-16"), packed(TEXT.decode().encode("utf-16-le"))),
    ],
)
def test_what_is_compressed_is_opened_to_its_end(layers: tuple[str, ...], data: bytes) -> None:
    content = opened(data)
    assert content.layers == layers
    assert content.peek(5) == TEXT[:5]
    assert content.read(3) == TEXT[:3]
    assert b"".join(content.chunks()) == TEXT[3:]
    assert not content.notes.damage


def test_the_mark_of_utf_16_is_no_text() -> None:
    content = opened(b"\xff\xfe" + TEXT.decode().encode("utf-16-le"))
    assert content.layers == ("utf-16",)
    assert content.read() == TEXT


def test_a_third_layer_is_left_as_it_is() -> None:
    content = opened(packed(packed(packed(TEXT))))
    assert content.layers == ("gzip", "gzip")
    assert content.read() == packed(TEXT)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("gzip", packed(TEXT)),
        ("zstd", zstd(TEXT[:9000]) + zstd(TEXT)),
        ("xz", lzma.compress(TEXT)),
    ],
)
def test_a_stream_that_ends_early_gives_what_was_readable(name: str, data: bytes) -> None:
    content = opened(data[:-10])
    found = content.read()
    assert len(found) >= 9000
    assert TEXT.startswith(found[:9000])
    assert [(damage.kind, damage.what) for damage in content.notes.damage] == [
        (DamageKind.CUT, f"the {name} ends early")
    ]


def test_damage_inside_a_stream_is_noted() -> None:
    data = bytearray(packed(TEXT))
    data[100:110] = bytes(10)
    content = opened(bytes(data))
    content.read()
    assert content.notes.damage_counts == {DamageKind.COMPRESSION: 1}


def test_something_else_behind_a_stream_is_noted() -> None:
    content = opened(packed(TEXT) + b"something else")
    assert content.read() == TEXT
    assert content.notes.damage_counts == {DamageKind.COMPRESSION: 1}


@pytest.mark.parametrize(
    ("limit", "damaged"), [(len(TEXT) - 1, 1), (len(TEXT), 0), (len(TEXT) + 1, 0)]
)
def test_what_unfolds_is_limited(limit: int, damaged: int) -> None:
    content = opened(packed(TEXT), limit)
    assert content.read() == TEXT[:limit]
    assert content.notes.damage_counts[DamageKind.TOO_LARGE] == damaged


def test_a_bomb_is_not_unfolded_whole() -> None:
    bomb = bz2.compress(bytes(20_000_000))
    assert len(bomb) < 1000
    content = opened(bomb, 1_000_000)
    assert len(content.read()) == 1_000_000
    assert "1,000,000 bytes" in content.notes.damage[0].what


def test_one_frame_is_unpacked_or_refused() -> None:
    assert unpack_frame(zstd(TEXT), limit_bytes=len(TEXT)) == TEXT
    assert unpack_frame(zstd(TEXT), limit_bytes=len(TEXT) - 1) is None
    assert unpack_frame(zstd(TEXT)[:-1], limit_bytes=len(TEXT)) is None
    assert unpack_frame(b"\x28\xb5\x2f\xfd\xff", limit_bytes=len(TEXT)) is None
