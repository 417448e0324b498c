"""Pieces read in several processes, their rows in the order of the pieces.

Until the first of them have begun nothing is imported here but what asks for them.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol

from visceral_cli.errors import InputError
from visceral_cli.ingest.json_window import WINDOW
from visceral_cli.ingest.pieces import Piece
from visceral_cli.loading.fork_server import (
    SMALL_INPUT_BYTES,
    interrupts_later,
    reading_context,
)
from visceral_cli.loading.reading_process import begin_reading_process, read_all_rows
from visceral_cli.settings import Settings

if TYPE_CHECKING:
    from visceral_cli.loading.piece_rows import PieceRows, SentRows

Owned = tuple[int, Piece]
"""A piece, and the number of the file that it is from."""

OwnedRows = tuple[int, Iterable["PieceRows"]]


class ReadPieces(Protocol):
    """Reads pieces into rows, in the order of the pieces, holding few of them at a time."""

    def __call__(self, pieces: Iterable[Owned]) -> Iterator[OwnedRows]:
        """Yield the number of the file and the rows of each piece."""


@contextmanager
def reading(
    input_bytes: int,
    settings: Settings,
    meanwhile: Callable[[], None] = lambda: None,
    *,
    lazily: bool = False,
) -> Iterator[ReadPieces]:
    """Read in other processes if there are ``input_bytes`` worth of it and cores for them.

    ``meanwhile`` is called once, when they have begun. ``lazily``: see `worker.read_rows`.
    """
    workers = settings.workers or available_cores()
    if workers > 1 and input_bytes > SMALL_INPUT_BYTES:
        with reading_processes(workers, settings, meanwhile, lazily=lazily) as read:
            yield read
    else:
        read = reading_here(settings, lazily=lazily)
        meanwhile()
        yield read


def reading_here(settings: Settings, *, lazily: bool = False) -> ReadPieces:
    """Read in this process: for small inputs. ``lazily``: see `worker.read_rows`."""
    with interrupts_later():
        from visceral_cli.calls.extract import Extractor  # noqa: PLC0415 - see the top
        from visceral_cli.loading.worker import read_rows  # noqa: PLC0415

    extractor = Extractor(settings.extract)

    def read(pieces: Iterable[Owned]) -> Iterator[OwnedRows]:
        for file, piece in pieces:
            yield file, read_rows(piece, settings, extractor, lazily=lazily)

    return read


@contextmanager
def reading_processes(
    count: int,
    settings: Settings,
    meanwhile: Callable[[], None] = lambda: None,
    *,
    lazily: bool = False,
) -> Iterator[ReadPieces]:
    """Read in ``count`` processes; ``meanwhile`` is called once, when all of them have begun.

    They come from a fork server. Pieces are taken ahead by one a process, so that none waits while
    rows are inserted, and a piece that is read as a stream is read here, so memory stays bounded.
    ``lazily``: see `worker.read_rows`.
    """
    here = cache(lambda: reading_here(settings, lazily=lazily))
    folder = tempfile.TemporaryDirectory(prefix="visceral-", ignore_cleanup_errors=True)
    pool = ProcessPoolExecutor(
        count,
        mp_context=reading_context(),
        initializer=begin_reading_process,
        initargs=(folder.name,),
    )
    do = partial(
        read_all_rows, pickled_settings=pickle.dumps(settings), folder=folder.name, lazily=lazily
    )
    once = cache(meanwhile)

    def read(pieces: Iterable[Owned]) -> Iterator[OwnedRows]:
        waiting: deque[tuple[int, Future[SentRows]]] = deque()
        for file, piece in pieces:
            if piece.is_packed or piece.length > WINDOW:
                yield from _results(waiting, 0)
                once()
                yield from here()([(file, piece)])
            else:
                with interrupts_later():  # the first one starts the processes
                    waiting.append((file, pool.submit(do, piece)))
                if len(waiting) > 2 * count:
                    once()
                    yield from _results(waiting, 2 * count)
        once()
        yield from _results(waiting, 0)

    try:
        yield read
    except BrokenProcessPool as error:
        raise InputError(
            "a reading process was ended from outside, probably for lack of memory",
            hint="read in one process: --workers 1",
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        folder.cleanup()


def available_cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _results(waiting: deque[tuple[int, Future[SentRows]]], leave: int) -> Iterator[OwnedRows]:
    from visceral_cli.loading.piece_rows import received  # noqa: PLC0415 - see the top

    while len(waiting) > leave:
        file, future = waiting.popleft()
        yield file, received(future.result())
