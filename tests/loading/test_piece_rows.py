"""Rows come from a reading process as they were, and leave nothing behind."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.calls.extract import Extractor
from visceral_cli.errors import InputError
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.pieces import Piece
from visceral_cli.ingest.plan import plan_file
from visceral_cli.loading.piece_rows import PieceRows, received, send
from visceral_cli.loading.pool import reading_processes
from visceral_cli.loading.worker import read_rows
from visceral_cli.settings import ExtractSettings, Settings

Json = dict[str, Any]
KEEP_TEXT = Settings(extract=ExtractSettings(keep_text=True))
BATCHES = ("spans", "calls", "mentions", "arguments", "results")


@pytest.fixture
def piece(tmp_path: Path, span: Callable[..., Json], export: Callable[..., str]) -> Piece:
    """One with two calls and a damaged line."""
    calls = [span(n, arguments={"q": n}, result={"n": n}) for n in (1, 2)]
    path = tmp_path / "spans.jsonl"
    path.write_text(f"{export(calls)}\n{{damaged\n")
    (only,) = plan_file(InputFile(path, str(path), path.stat().st_size), KEEP_TEXT).pieces
    return only


@pytest.fixture
def rows(piece: Piece) -> PieceRows:
    (only,) = read_rows(piece, KEEP_TEXT, Extractor(KEEP_TEXT.extract))
    return only


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "on-the-way"
    path.mkdir()
    return path


def assert_same(arrived: PieceRows, rows: PieceRows) -> None:
    for name in BATCHES:
        batch = getattr(arrived, name)
        assert batch.equals(getattr(rows, name)), name
        assert batch.schema == getattr(rows, name).schema, name
    told = arrived.damage, arrived.damage_counts, arrived.lines, arrived.skipped
    assert told == (rows.damage, rows.damage_counts, rows.lines, rows.skipped)
    assert (arrived.log_records, arrived.input_bytes) == (rows.log_records, rows.input_bytes)


def test_rows_travel_between_processes_unchanged(rows: PieceRows, folder: Path) -> None:
    assert (rows.arguments.num_rows, rows.results.num_rows, len(rows.damage)) == (2, 2, 1)
    assert rows.mentions.num_rows == 0
    sent = pickle.loads(pickle.dumps(send([rows], str(folder))))
    (arrived,) = received(sent)
    assert_same(arrived, rows)


def test_several_results_of_one_piece_arrive_in_their_order(rows: PieceRows, folder: Path) -> None:
    other = replace(rows, damage=[])
    arrived = received(send([rows, other, rows], str(folder)))
    assert [len(each.damage) for each in arrived] == [1, 0, 1]
    for each, expected in zip(arrived, [rows, other, rows], strict=True):
        assert_same(each, expected)
    assert received(send([], str(folder))) == []


def test_the_file_is_gone_once_its_rows_are_received(rows: PieceRows, folder: Path) -> None:
    first, second = send([rows], str(folder)), send([rows], str(folder))
    assert len(list(folder.iterdir())) == 2
    (arrived,) = received(first)
    received(second)
    assert list(folder.iterdir()) == []
    assert_same(arrived, rows)


def test_a_full_disk_is_told_as_that(rows: PieceRows, folder: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match="writing") as full:
            send([rows], str(folder))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.strerror(full.value.errno or 0) == "File too large"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which temporary folders are made."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(path))
    return path


def test_rows_on_their_way_are_for_their_owner_only_and_leave_nothing(
    piece: Piece, rows: PieceRows, temporary: Path
) -> None:
    with reading_processes(1, KEEP_TEXT) as read:
        (folder,) = temporary.glob("visceral-*")
        assert folder.stat().st_mode & 0o077 == 0
        for _, results in read([(0, piece)] * 5):
            (arrived,) = results
            assert_same(arrived, rows)
    assert list(temporary.glob("visceral-*")) == []


def test_a_killed_reading_process_leaves_nothing(piece: Piece, temporary: Path) -> None:
    def pieces() -> Iterator[tuple[int, Piece]]:
        yield 0, piece
        for child in multiprocessing.active_children():
            child.kill()
            child.join()
        yield 0, piece

    with (
        pytest.raises(InputError, match="ended from outside"),
        reading_processes(1, KEEP_TEXT) as read,
    ):
        list(read(pieces()))
    assert list(temporary.glob("visceral-*")) == []


LOAD = """
import os, sys
from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.plan import plan_file
from visceral_cli.loading.pool import reading_processes
from visceral_cli.settings import Settings
from pathlib import Path

path = Path(sys.argv[1])
(piece,) = plan_file(InputFile(path, str(path), path.stat().st_size), Settings()).pieces
with reading_processes(1, Settings()) as read:
    rows = read([(0, piece)] * 5)
    next(rows)
    print("reading", flush=True)
    sys.stdin.read()
"""


def test_nothing_outlives_a_process_that_was_killed(piece: Piece, temporary: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOAD, piece.path],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the standard library tells what it cleans up
        text=True,
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "reading\n"
        assert list(temporary.glob("visceral-*"))
        killed.kill()
        killed.communicate(timeout=10)  # its output ends with the last process that may write it
    assert list(temporary.glob("visceral-*")) == []
