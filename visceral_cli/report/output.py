"""Bytes to a file, whole or not at all, or to stdout."""

from __future__ import annotations

import codecs
import io
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from visceral_cli.errors import UsageError
from visceral_cli.report.plain_text import harmless

if TYPE_CHECKING:
    from typing_extensions import Buffer

Write = Callable[[BinaryIO], object]
"""Writes an answer to an open stream."""


def write_output(place: Path | None, write: Write) -> None:
    """Let ``write`` fill the file ``place``; without a place, or for ``-``, stdout.

    What was in the file before stays until the new content is whole.

    Raises:
        UsageError: the place cannot be written to, for example because the disk is full.
    """
    if place is None or place == Path("-"):
        write_to_stdout(write)
        return
    try:
        with whole_file(place) as out:
            write(out)
    except BrokenPipeError:
        return  # the place is a pipe, and its reader has gone away
    except OSError as error:
        raise UsageError(f"{place}: cannot be written: {_reason(error)}") from None


@contextmanager
def whole_file(place: Path) -> Iterator[BinaryIO]:
    """Open a file beside ``place`` that takes its place when all went well, else is removed.

    A device or a pipe is written to directly; a link stays and its target is replaced.
    """
    if place.exists() and not place.is_file():
        with place.open("wb") as out:
            yield out
        return
    place = place.resolve()
    beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if place.exists():
            beside.chmod(place.stat().st_mode & 0o777)
        beside.replace(place)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_to_stdout(write: Write) -> None:
    """Let ``write`` fill stdout; a reader that has gone away, such as ``head``, is no error."""
    if sys.stdout is None:
        raise UsageError("stdout is closed", hint="give -o FILE")
    try:
        sys.stdout.flush()
        write(cast(BinaryIO, sys.stdout.buffer))
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_stdout()
    except OSError as error:
        _leave_stdout()
        raise UsageError(f"stdout cannot be written: {_reason(error)}") from None


def harmless_output(terminal: BinaryIO) -> BinaryIO:
    """Return a stream of UTF-8 text onto a terminal, where control characters arrive escaped."""
    return cast(BinaryIO, _HarmlessOutput(terminal))


class _HarmlessOutput(io.RawIOBase):
    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def writable(self) -> bool:
        """Return true: this stream is only written to."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Write the visible form of ``data``."""
        taken = bytes(data)
        self._terminal.write(harmless(self._decoder.decode(taken)).encode())
        return len(taken)


def _leave_stdout() -> None:
    """Send what is still buffered nowhere, so that the end of the program does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
