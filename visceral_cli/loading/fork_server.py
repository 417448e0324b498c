"""The process that reading processes are forked from, started before it is needed.

It imports what they need while this process still imports its own part. It is started by what runs
first, so only the standard library is imported here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from pathlib import Path

SMALL_INPUT_BYTES = 8 << 20
"""Below this, starting processes costs more than they save."""

_LONGEST_FOLDER = 104 - len("/pymp-12345678/listener-12345678")
"""The address of a fork server is a path below the temporary folder; systems take no longer one."""


def has_fork_server() -> bool:
    """Whether there can be one here.

    Else each process starts from nothing: forking this process itself could deadlock, since it may
    already hold threads (DuckDB's).
    """
    return (
        "forkserver" in multiprocessing.get_all_start_methods()
        and len(os.fsencode(tempfile.gettempdir())) < _LONGEST_FOLDER
    )


def reading_context() -> BaseContext:
    """Return how reading processes are started."""
    context = multiprocessing.get_context("forkserver" if has_fork_server() else "spawn")
    if has_fork_server():
        context.set_forkserver_preload(["visceral_cli.loading.preload"])
    # NumPy's linear algebra, of no use there, would start threads that wait by spinning.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    resource_tracker.ensure_running()  # else it would undo what `interrupts_later` blocks
    return context


def start_for(names: Iterable[str]) -> None:
    """Start the fork server now if files of such names are so large that processes will read them.

    A guess by the sizes of files: a wrong one costs some time and changes nothing else.
    """
    if not has_fork_server() or not _are_large(names):
        return
    reading_context()
    from multiprocessing.forkserver import ensure_running  # noqa: PLC0415 - not on every system

    with interrupts_later():
        ensure_running()


def stop() -> None:
    """End the fork server: what it holds would lie beside all that is held after reading.

    The standard library has no public way; one that is gone leaves the server until the end.
    """
    if has_fork_server():
        from multiprocessing import forkserver  # noqa: PLC0415 - not on every system

        end = getattr(getattr(forkserver, "_forkserver", None), "_stop", None)
        if end is not None:
            end()


def _are_large(names: Iterable[str]) -> bool:
    total = 0
    try:
        for name in names:
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
    """Answer a Ctrl-C or a request to end only afterwards; processes begun meanwhile see no Ctrl-C.

    Of processes that were left half started, each would write a traceback, or stay for ever. And
    Python dies at its end of an interrupt that met a dataclass being made, whoever answered it: so
    imports of many are kept from it too.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    answers = {
        number: signal.signal(number, lambda number, frame: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    blocked = _block_interrupts()
    try:
        yield
    finally:
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for answered, answer in answers.items():
            signal.signal(answered, answer)
    for number in came:
        signal.raise_signal(number)


def _block_interrupts() -> set[int | signal.Signals] | None:
    """Block SIGINT in this thread and return what was blocked; ``None`` where there is no mask."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
