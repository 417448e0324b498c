"""What a reading process does, by name: the process that asks for it needs none of what it takes.

What rows are made with is imported where they are made. The fork server has it already.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import shutil
import signal
import threading
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visceral_cli.calls.extract import Extractor
    from visceral_cli.ingest.pieces import Piece
    from visceral_cli.loading.piece_rows import SentRows
    from visceral_cli.settings import Settings


def begin_reading_process(folder: str) -> None:
    """Prepare a process that does nothing but :func:`read_all_rows`, and sends through ``folder``.

    Spans come and go by the thousand and hold no cycles: looking for some after every few hundred
    takes a fifth of the time, so it is done once in a few pieces. Ctrl-C reaches the whole process
    group; only the parent shall answer it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.disable()
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()


def _end_with_parent(folder: str) -> None:
    """End this process, and what it has sent, when the parent was killed.

    It would wait for its next piece forever: reading processes hold both ends of their queue.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)


def read_all_rows(
    piece: Piece, pickled_settings: bytes, folder: str, *, lazily: bool = False
) -> SentRows:
    """Send the rows of one piece to the process that asked for them, through ``folder``.

    The settings come pickled so that a process can tell that they are those it knows: its extractor
    remembers the texts that it has read.
    """
    from visceral_cli.loading.piece_rows import send  # noqa: PLC0415 - see the top
    from visceral_cli.loading.worker import read_rows  # noqa: PLC0415

    settings, extractor = _prepared(pickled_settings)
    sent = send(list(read_rows(piece, settings, extractor, lazily=lazily)), folder)
    if next(_pieces_read) % _PIECES_A_COLLECTION == 0:
        gc.collect()
    return sent


_PIECES_A_COLLECTION = 16
_pieces_read = count(1)


@lru_cache(maxsize=1)
def _prepared(pickled_settings: bytes) -> tuple[Settings, Extractor]:
    from visceral_cli.calls.extract import Extractor  # noqa: PLC0415 - see the top

    settings: Settings = pickle.loads(pickled_settings)
    return settings, Extractor(settings.extract)
