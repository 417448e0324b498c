"""Which files to read: files, folders, globs and ``-``, each file once, in a fixed order."""

from __future__ import annotations

import fnmatch
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from visceral_cli.errors import InputError

STDIN = "-"

OTHER_FILE = "other"
"""The format of a file that lay in a folder and is neither JSON nor OTLP: a README, a picture. It
is counted, and no damage."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to be read."""

    path: Path
    """Where its bytes are."""
    name: str
    """What to call it: as given, or as found below a given folder; ``-`` for standard input."""
    size: int
    """Bytes as they lie on the disk."""
    found_in_folder: bool = False
    """Nobody named it: it may be anything."""


def find_files(
    inputs: Sequence[str],
    *,
    exclude: Sequence[str] = (),
    stdin: BinaryIO | None = None,
    spool: Path | None = None,
) -> list[InputFile]:
    """Return the files that ``inputs`` name, in the order given, those of a folder sorted.

    Folders are searched to the bottom without hidden files; a link in them counts only where it
    leads to something inside the given inputs. A path that does not exist may be a glob. A file
    that is named twice is returned once. ``exclude`` holds globs over names. Standard input (``-``)
    and pipes are copied into the folder ``spool``, since they can be read only once.
    :class:`~visceral_cli.errors.InputError`: a path that does not exist or may not be read.
    """
    search = _Search(exclude, stdin, spool, [path for path in map(_given, inputs) if path])
    for name in inputs:
        search.add(name)
    return search.files


def _given(name: str) -> Path | None:
    return Path(os.path.realpath(name)) if name != STDIN and os.path.lexists(name) else None


class _Search:
    """What was found so far."""

    def __init__(
        self,
        exclude: Sequence[str],
        stdin: BinaryIO | None,
        spool: Path | None,
        roots: Sequence[Path],
    ) -> None:
        self.files: list[InputFile] = []
        self._exclude = exclude
        self._stdin = stdin
        self._spool = spool
        self._roots = roots
        self._seen: set[tuple[int, int]] = set()

    def add(self, name: str) -> None:
        """Add what one input names."""
        if name == STDIN:
            if self._stdin is None:
                raise InputError("-: there is no standard input")
            self._add_stream(self._stdin, STDIN)
            return
        path = Path(name)
        if _exists(path):
            self._add_path(path)
            return
        matches = _matches_of(name) if glob.has_magic(name) else []
        if not matches:
            raise InputError(f"{printable(name)}: no such file or folder")
        for match in matches:
            self._add_path(Path(match))

    def _add_path(self, path: Path) -> None:
        with one_line_error(path):
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                for found in _files_below(path):
                    self._add_found(found)
            elif stat.S_ISREG(mode):
                self._add_file(path)
            else:
                with path.open("rb") as stream:
                    self._add_stream(stream, printable(str(path)))

    def _add_found(self, path: Path) -> None:
        """Add a file found below a folder, unless it is a link to somewhere else."""
        with one_line_error(path):
            if path.is_symlink():
                target = Path(os.path.realpath(path))
                if not any(target.is_relative_to(root) for root in self._roots):
                    return
            if path.is_file():
                self._add_file(path, found_in_folder=True)

    def _add_file(self, path: Path, *, found_in_folder: bool = False) -> None:
        name = printable(str(path))
        if any(_matches(name, pattern) for pattern in self._exclude):
            return
        about = path.stat()
        key = about.st_dev, about.st_ino
        if key not in self._seen:
            self._seen.add(key)
            self.files.append(InputFile(path, name, about.st_size, found_in_folder))

    def _add_stream(self, stream: BinaryIO, name: str) -> None:
        if any(file.name == name for file in self.files):
            return
        with tempfile.NamedTemporaryFile(dir=self._spool, prefix="input-", delete=False) as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
            self.files.append(InputFile(Path(copy.name), name, copy.tell()))


def _matches_of(pattern: str) -> list[str]:
    """Return the paths that a glob matches, absolute globs too."""
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path takes no absolute ones


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below ``folder``, sorted by path, without hidden ones and caches."""
    with os.scandir(folder) as entries:
        visible = sorted(
            (entry for entry in entries if not _is_hidden(entry.name)),
            key=lambda entry: entry.name,
        )
    for entry in visible:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            with one_line_error(path):
                yield from _files_below(path)
        else:
            yield path


def _is_hidden(name: str) -> bool:
    """Return whether nobody would look for spans there: Python leaves its caches beside scripts."""
    return name.startswith(".") or name == "__pycache__"


def _matches(name: str, pattern: str) -> bool:
    """Return whether a glob matches a path; ``*`` reaches over slashes, as ``**`` does."""
    if "/" not in pattern:
        return fnmatch.fnmatchcase(name.rsplit("/", 1)[-1], pattern)
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase("/" + name, pattern)


def _exists(path: Path) -> bool:
    with one_line_error(path):
        return os.path.lexists(path)


def printable(name: str) -> str:
    """Return a path as text that any terminal can take."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextmanager
def one_line_error(path: Path) -> Iterator[None]:
    """Tell an error of the file system in one line that names ``path``."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        if isinstance(error, PermissionError):
            reason = "no permission to read it"
        raise InputError(f"{printable(str(path))}: {reason}") from error
