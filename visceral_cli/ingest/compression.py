"""Compressed input opened as a stream of what it holds.

gzip of several members, zstd of several frames, bz2 and xz of several streams, one inside another
at most once, and UTF-16 as UTF-8; told by content, never by name. A stream that ends early or is
damaged gives what was readable, and what it may unfold to is limited.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from visceral_cli.ingest.framing import ZSTD_MAGIC
from visceral_cli.ingest.span import DamageKind, Reading

_MAX_LAYERS = 2
_MAX_PART = 1 << 20
_HEAD = 8

_Part = tuple[bytes, bool]
"""Some of what a stream holds, and whether the stream wants more input before it gives more."""


class _Stream:
    """One compressed stream: a gzip member, a zstd frame, a bz2 or xz stream."""

    def __init__(self, stream: object, unpack: Callable[[bytes], _Part]) -> None:
        self._stream = stream
        self.unpack = unpack

    @property
    def ended(self) -> bool:
        """Whether the end of the stream was reached."""
        return bool(getattr(self._stream, "eof", False))

    @property
    def rest(self) -> bytes:
        """What was given behind the end of the stream."""
        return bytes(getattr(self._stream, "unused_data", b""))


def _whole(stream: zlib._Decompress | zstandard.ZstdDecompressionObj) -> _Stream:
    return _Stream(stream, lambda data: (stream.decompress(data), True))


def _bounded(stream: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> _Stream:
    def unpack(data: bytes) -> _Part:
        part = stream.decompress(data, _MAX_PART)
        return part, stream.needs_input

    return _Stream(stream, unpack)


@dataclass(frozen=True, slots=True)
class _Compression:
    """One way of compression: its name, its first bytes, and how a stream of it is unpacked."""

    name: str
    magics: tuple[bytes, ...]
    new_stream: Callable[[], _Stream]
    read_bytes: int
    """How much is read at once: little where little can unfold to much and not in part."""


_SKIPPABLE = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))

_COMPRESSIONS = (
    _Compression(
        "gzip", (b"\x1f\x8b\x08",), lambda: _whole(zlib.decompressobj(wbits=31)), 16 << 10
    ),
    _Compression(
        "zstd",
        (ZSTD_MAGIC, *_SKIPPABLE),
        lambda: _whole(zstandard.ZstdDecompressor().decompressobj()),
        4 << 10,
    ),
    _Compression("bz2", (b"BZh",), lambda: _bounded(bz2.BZ2Decompressor()), 64 << 10),
    _Compression("xz", (b"\xfd7zXZ\0",), lambda: _bounded(lzma.LZMADecompressor()), 64 << 10),
)
_ERRORS = (zlib.error, OSError, EOFError, lzma.LZMAError, zstandard.ZstdError, ValueError)


class Content:
    """What an input holds once it is unpacked, to be read from front to back."""

    def __init__(self, chunks: Iterator[bytes], layers: tuple[str, ...], notes: Reading) -> None:
        self._chunks = chunks
        self._buffer = b""
        self.layers = layers
        """What was unpacked, from the outside in: ``gzip``, ``utf-16``; empty for plain bytes."""
        self.notes = notes
        """Damage of the layers; complete once all is read."""

    def peek(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end, without moving."""
        if len(self._buffer) < size:
            parts = [self._buffer]
            held = len(self._buffer)
            for chunk in self._chunks:
                parts.append(chunk)
                held += len(chunk)
                if held >= size:
                    break
            self._buffer = b"".join(parts)
        return self._buffer[:size]

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes, fewer only at the end; all that is left if negative."""
        if size < 0:
            data = self._buffer + b"".join(self._chunks)
            self._buffer = b""
            return data
        data = self.peek(size)
        self._buffer = self._buffer[len(data) :]
        return data

    def chunks(self) -> Iterator[bytes]:
        """Yield all that is left, as it comes."""
        if self._buffer:
            yield self._buffer
            self._buffer = b""
        yield from self._chunks


def open_content(source: BinaryIO, *, limit_bytes: int) -> Content:
    """Return what ``source`` holds under at most two layers of compression.

    Where a layer unfolds to more than ``limit_bytes`` the content ends there, and this is noted.
    """
    notes = Reading()
    content = Content(iter(lambda: source.read(64 << 10), b""), (), notes)
    for _ in range(_MAX_LAYERS):
        compression = _compression_of(content.peek(_HEAD))
        if compression is None:
            break
        unpacked = _limited(_unpack(content, compression, notes), limit_bytes, notes)
        content = Content(unpacked, (*content.layers, compression.name), notes)
    encoding = _utf_16(content.peek(_HEAD))
    if encoding:
        decoded = _transcoded(content.chunks(), encoding)
        content = Content(decoded, (*content.layers, "utf-16"), notes)
    return content


def _compression_of(head: bytes) -> _Compression | None:
    return next((one for one in _COMPRESSIONS if head.startswith(one.magics)), None)


def _unpack(source: Content, compression: _Compression, notes: Reading) -> Iterator[bytes]:
    stream = compression.new_stream()
    data = source.read(compression.read_bytes)
    while True:
        try:
            part, wants_input = stream.unpack(data)
        except _ERRORS:
            notes.add_damage(
                DamageKind.COMPRESSION, f"damaged {compression.name}; what follows is left out"
            )
            return
        if part:
            yield part
        if stream.ended:
            data = _after_stream(stream.rest, source, compression)
            if not data:
                return
            if not data.startswith(compression.magics):
                notes.add_damage(
                    DamageKind.COMPRESSION,
                    f"something else follows the {compression.name}; left out",
                )
                return
            stream = compression.new_stream()
            continue
        data = source.read(compression.read_bytes) if wants_input else b""
        if wants_input and not data:
            notes.add_damage(DamageKind.CUT, f"the {compression.name} ends early")
            return


def _after_stream(rest: bytes, source: Content, compression: _Compression) -> bytes:
    """Return what follows the end of a stream, without the zeros that pad some files."""
    while True:
        rest = rest.lstrip(b"\0")
        if len(rest) >= _HEAD:
            return rest
        more = source.read(compression.read_bytes)
        if not more:
            return rest
        rest += more


def _limited(chunks: Iterator[bytes], limit_bytes: int, notes: Reading) -> Iterator[bytes]:
    left = limit_bytes
    for chunk in chunks:
        if len(chunk) > left:
            yield chunk[:left]
            notes.add_damage(
                DamageKind.TOO_LARGE,
                f"unfolds to more than the limit of {limit_bytes:,} bytes; the rest is left out",
            )
            return
        left -= len(chunk)
        yield chunk


def _utf_16(head: bytes) -> str | None:
    """Return the name of the UTF-16 that ``head`` is in; ``None`` if it is in none."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:1] in (b"{", b"[") and head[1:2] == head[3:4] == head[5:6] == b"\0":
        return "utf-16-le"
    if head[1:2] in (b"{", b"[") and head[:1] == head[2:3] == head[4:5] == b"\0":
        return "utf-16-be"
    return None


def _transcoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


def unpack_frame(frame: bytes, *, limit_bytes: int) -> bytes | None:
    """Return what one zstd frame holds; ``None`` if it is damaged, cut or holds too much."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    parts = []
    held = 0
    for at in range(0, len(frame), 4 << 10):
        try:
            part = stream.decompress(frame[at : at + (4 << 10)])
        except (zstandard.ZstdError, ValueError):
            return None
        parts.append(part)
        held += len(part)
        if held > limit_bytes:
            return None
        if stream.eof:
            break
    return b"".join(parts) if stream.eof else None
