"""Memory that was freed, back to the system."""

from __future__ import annotations

import ctypes
import sys

import pyarrow as pa


def give_back_memory() -> None:
    """Give back what was freed and is kept for later: it would lie beside what comes next.

    The C library keeps freed memory between blocks that are still in use, tens of megabytes after
    millions of spans. Where it cannot be asked (other systems than Linux with glibc), nothing is
    done.
    """
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
