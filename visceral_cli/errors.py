"""The errors a user can meet, and the exit code of each."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of the command line; they never depend on the output format."""

    DONE = 0
    BROKEN = 1
    USAGE = 2
    INPUT = 3
    BUG = 70
    INTERRUPTED = 130


class VisceralError(Exception):
    """An error that is told in one line: the place, then what is wrong; never an argument value."""

    exit_code = ExitCode.BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(VisceralError):
    """A wrong option, setting, key or rules file."""

    exit_code = ExitCode.USAGE


class InputError(VisceralError):
    """Nothing usable was read, or ``--strict`` met something damaged."""

    exit_code = ExitCode.INPUT
