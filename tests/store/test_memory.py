"""Freed memory goes back to the system, where the system can be asked for that."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from visceral_cli.store.memory import give_back_memory


def resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="this system's C library cannot be asked to give memory back",
)
def test_what_lies_freed_between_blocks_in_use_is_given_back() -> None:
    give_back_memory()
    # Small enough to come from the heap, with one block after another still in use.
    blocks = [np.ones(8_000) for _ in range(2_000)]
    kept = blocks[::50]
    del blocks
    before = resident_bytes()
    give_back_memory()
    assert resident_bytes() < before - 60_000_000
    assert all(block.sum() == 8_000 for block in kept)


def test_nothing_happens_where_the_library_has_no_such_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back_memory()
