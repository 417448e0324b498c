"""The process that reading processes are forked from, started before it is needed.

It imports what they need while this process still imports its own part. Only the standard library
is imported here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from pathlib import Path

SMALL_INPUT_BYTES = 8 << 20
"""Below this, starting processes costs more than they save."""

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""Forking this process itself could deadlock: it may already hold threads (DuckDB's)."""


def reading_context() -> BaseContext:
    """Return how reading processes are started."""
    context = multiprocessing.get_context(METHOD)
    if METHOD == "forkserver":
        context.set_forkserver_preload(["visceral_cli.loading.worker"])
    # NumPy's linear algebra, of no use there, would start threads that wait by spinning.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    resource_tracker.ensure_running()  # else it would undo what `interrupts_later` blocks
    return context


def start_for(inputs: Iterable[str], workers: int | None) -> None:
    """Start the fork server now if ``inputs`` look as if reading processes will read them.

    A guess by the sizes of files: a wrong one costs some time and changes nothing else.
    """
    if METHOD != "forkserver" or workers == 1 or not _are_large(inputs):
        return
    reading_context()
    from multiprocessing.forkserver import ensure_running  # noqa: PLC0415 - not on every system

    with interrupts_later():
        ensure_running()


def stop() -> None:
    """End the fork server: what it holds would lie beside all that is held after reading.

    The standard library has no public way; one that is gone leaves the server until the end.
    """
    if METHOD == "forkserver":
        from multiprocessing import forkserver  # noqa: PLC0415 - not on every system

        end = getattr(getattr(forkserver, "_forkserver", None), "_stop", None)
        if end is not None:
            end()


def _are_large(inputs: Iterable[str]) -> bool:
    total = 0
    try:
        for name in inputs:
            for path in _files(Path(name)):
                total += path.stat().st_size
                if total > SMALL_INPUT_BYTES:
                    return True
    except OSError:  # whoever reads it says what is wrong
        return False
    return False


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    return (path,) if path.is_file() else ()


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Answer a Ctrl-C only afterwards, and let processes that start meanwhile never see one.

    Of processes that were left half started, each would write a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    answer = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    blocked = _block_interrupts()
    try:
        yield
    finally:
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, answer)
    if came:
        raise KeyboardInterrupt


def _block_interrupts() -> set[int | signal.Signals] | None:
    """Block SIGINT in this thread and return what was blocked; ``None`` where there is no mask."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
