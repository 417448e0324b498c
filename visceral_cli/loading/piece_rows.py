"""The rows of one piece, and their way from the process that read it.

A pipe takes 64 kB at a time, and what goes through it is copied at each step: batches go through a
file in a private folder instead, and are used where they lie in it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from visceral_cli.ingest.pieces import Piece
from visceral_cli.ingest.span import Damage, DamageKind


class UnreadRequests(NamedTuple):
    """Model spans of which it was not read what they ask for: see ``loading.requests``."""

    piece: Piece
    traces: list[str]


@dataclass(frozen=True, slots=True)
class PieceRows:
    """The rows of one piece; ``record`` counts from 0 within it."""

    spans: pa.RecordBatch
    calls: pa.RecordBatch
    """Without the columns that every call has from its span."""
    mentions: pa.RecordBatch
    arguments: pa.RecordBatch
    """Distinct (hash, text) of those that are kept."""
    results: pa.RecordBatch
    damage: list[Damage]
    damage_counts: Counter[DamageKind]
    lines: int
    log_records: int
    skipped: Counter[str]
    input_bytes: int
    """Length of what was read, for the progress bar."""
    unread: UnreadRequests | None = None


_BATCHES = ("spans", "calls", "mentions", "arguments", "results")
_OTHERS = tuple(field.name for field in fields(PieceRows) if field.name not in _BATCHES)
_BUFFER_BYTES = 256 << 10
_files = count()


class SentRows(NamedTuple):
    """Results of one piece: a file with their batches, and what they hold beside these."""

    path: str
    others: list[tuple[Any, ...]]


def send(results: Sequence[PieceRows], folder: str) -> SentRows:
    """Write the batches of ``results`` into a new file: Arrow IPC streams one after another."""
    path = str(Path(folder, f"{os.getpid()}-{next(_files)}"))
    with pa.BufferedOutputStream(pa.OSFile(path, "wb"), _BUFFER_BYTES) as file:
        for rows in results:
            for name in _BATCHES:
                batch = getattr(rows, name)
                with pa.ipc.new_stream(file, batch.schema) as stream:
                    stream.write_batch(batch)
    return SentRows(path, [tuple(getattr(rows, name) for name in _OTHERS) for rows in results])


def received(sent: SentRows) -> list[PieceRows]:
    """Return what was sent; its file is gone as soon as the batches are."""
    file = pa.memory_map(sent.path)
    with suppress(OSError):  # not every system removes a file in use: its folder is removed later
        Path(sent.path).unlink()
    return [PieceRows(*(_next_batch(file) for _ in _BATCHES), *others) for others in sent.others]


def _next_batch(file: pa.NativeFile) -> pa.RecordBatch:
    (batch,) = pa.ipc.open_stream(file)  # to the end of the stream: the next one begins there
    return batch
