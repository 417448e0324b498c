"""stdout, stderr, colour, size and the progress bar.

stdout carries the result and nothing else; notes, errors and progress go to stderr.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from visceral_cli.progress import Progress

NARROWEST = 40
"""Columns that are assumed at least."""


class Color(StrEnum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Terminal:
    """How to speak in one run of the program."""

    color_out: bool = False
    color_err: bool = False
    quiet: bool = False
    verbose: bool = False

    def note(self, text: str) -> None:
        """Say on stderr what was left out or assumed; not when quiet."""
        if not self.quiet:
            say(f"visceral: note: {text}")

    def detail(self, text: str) -> None:
        """Say a line on stderr, only when verbose."""
        if self.verbose and not self.quiet:
            say(f"  {text}")

    def progress(self) -> Progress:
        """Return a bar on stderr; silence in a pipe, and when quiet."""
        from visceral_cli.progress import Silent

        if self.quiet or sys.stderr is None or not sys.stderr.isatty():
            return Silent()
        from visceral_cli.cli.progress_bar import ProgressBar

        return ProgressBar(sys.stderr, color=self.color_err)


def make_terminal(
    color: Color, environment: Mapping[str, str], *, quiet: bool, verbose: bool
) -> Terminal:
    """Return how to speak: with which streams, as ``--color`` and the environment say."""
    return Terminal(
        color_out=uses_color(color, sys.stdout, environment),
        color_err=uses_color(color, sys.stderr, environment),
        quiet=quiet,
        verbose=verbose,
    )


def uses_color(wanted: Color, stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Return whether to colour: ``--color`` beats ``NO_COLOR`` beats ``FORCE_COLOR`` beats
    whether the stream is a terminal."""
    if wanted is not Color.AUTO:
        return wanted is Color.ALWAYS
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "") not in ("", "0"):
        return True
    return stream is not None and stream.isatty() and environment.get("TERM") != "dumb"


def size_of(stream: TextIO | None) -> tuple[int | None, int | None]:
    """Return columns and lines of a terminal; ``None`` in a pipe, where nothing is cut."""
    if stream is None or not stream.isatty():
        return None, None
    size = shutil.get_terminal_size((100, 24))
    return max(size.columns, NARROWEST), size.lines


def say_error(message: str, hint: str | None = None) -> None:
    """Write an error and what to do next to stderr."""
    say(f"visceral: error: {message}")
    if hint:
        say(f"  hint: {hint}")


def say(line: str) -> None:
    """Write a line to stderr, with nothing in it that could move the cursor."""
    from visceral_cli.report.plain_text import harmless

    try:
        print(harmless(line), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return  # nobody listens on stderr; the exit code still tells
