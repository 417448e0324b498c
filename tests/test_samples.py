"""The sample traces are what their script writes, small, and made of the story they tell."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

MAX_BYTES = 1_500_000


def unpacked(data: bytes) -> bytes:
    """The content of a compressed file: another zlib or zstd may compress it into other bytes."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(zstandard.FRAME_HEADER):
        reader = zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(data), read_across_frames=True
        )
        return reader.read()
    if data[4:8] == zstandard.FRAME_HEADER:
        parts, at = [], 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 4], "big")
            parts.append(zstandard.ZstdDecompressor().decompress(data[at + 4 : at + 4 + length]))
            at += 4 + length
        return b"".join(parts)
    return data


@pytest.fixture(scope="module")
def made(sample_traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    script = sample_traces / "make_samples.py"
    subprocess.run([sys.executable, "-B", script, folder], check=True, timeout=120)
    return folder


def span_files(folder: Path) -> list[str]:
    return sorted(
        path.name
        for path in folder.iterdir()
        if path.is_file() and path.suffix not in (".md", ".py")
    )


def test_the_script_writes_exactly_the_files_that_lie_here(made: Path, sample_traces: Path) -> None:
    assert span_files(made) == span_files(sample_traces)
    for name in span_files(made):
        assert unpacked((made / name).read_bytes()) == unpacked(
            (sample_traces / name).read_bytes()
        ), name


def test_every_file_has_its_line_in_the_readme(sample_traces: Path) -> None:
    lines = (sample_traces / "README.md").read_text(encoding="utf-8").splitlines()
    named = sorted(line.split("`")[1] for line in lines if line.startswith("| `"))
    assert named == span_files(sample_traces)


def test_the_samples_are_small(sample_traces: Path) -> None:
    total = sum((sample_traces / name).stat().st_size for name in span_files(sample_traces))
    assert total < MAX_BYTES
