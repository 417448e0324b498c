"""The commands, and the exit code of every way out."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from visceral_cli import __version__
from visceral_cli.cli.environment import is_completing
from visceral_cli.cli.lazy_group import LazyGroup
from visceral_cli.cli.start import end
from visceral_cli.cli.terminal import say, say_error
from visceral_cli.errors import ExitCode, VisceralError

PROGRAM = "visceral"
_NAMES = {PROGRAM, "visceral-cli"}

_CLICK_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""What Typer raises for a wrong command line; where it lives depends on its version."""

_INTERRUPTED_QUERY = "Query interrupted"
"""What DuckDB makes of a Ctrl-C while it works."""

_FULL_DISK = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 a limit is broken, 2 usage, 3 input, 70 a bug, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"visceral {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _visceral(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Find the tool calls that LLM agents make twice, and which stored results may stand in."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; every way out of the program passes here."""
    given = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, end)
    sys.exit(_exit_code(given))


def _exit_code(arguments: list[str]) -> int:
    try:
        _run(arguments)
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        say("visceral: interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.DONE
    except VisceralError as error:
        say_error(str(error), error.hint)
        return error.exit_code
    except _CLICK_ERROR as error:
        _say_usage_error(error)
        return ExitCode.USAGE
    except Exception as error:
        if _is_interrupt(error):
            say("visceral: interrupted")
            return ExitCode.INTERRUPTED
        if isinstance(error, OSError) and error.errno in _FULL_DISK:
            _say_full_disk(error)
            return ExitCode.USAGE
        _say_bug(error, show_texts="--show-arguments" in arguments)
        return ExitCode.BUG
    return ExitCode.DONE


def _is_interrupt(error: Exception) -> bool:
    """Whether a Ctrl-C is behind it: queries, and classes being made, have their own errors."""
    if isinstance(error, RuntimeError) and str(error) == _INTERRUPTED_QUERY:
        return True
    return any(isinstance(one, KeyboardInterrupt) for one in _chain(error))


def _run(arguments: list[str]) -> None:
    """Parse and run, without Typer's own ways out: for them an uncaught error is exit 1."""
    command = typer.main.get_command(app)
    called = Path(sys.argv[0]).name
    name = called if called in _NAMES else PROGRAM
    if is_completing(name):
        command.main(arguments, prog_name=name)
    with command.make_context(name, list(arguments)) as context:
        command.invoke(context)


def _say_usage_error(error: Exception) -> None:
    message = getattr(error, "format_message", error.__str__)().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    say_error(f"{message[:1].lower()}{message[1:]}", f"{path} --help")


def _say_full_disk(error: OSError) -> None:
    """Speak of temporary files: what writes an answer or a store names its own place."""
    import tempfile

    reason = os.strerror(error.errno or errno.ENOSPC).lower()  # Arrow has words of its own for it
    say_error(
        f"{tempfile.gettempdir()}: temporary files cannot be written: {reason}",
        "the variable TMPDIR names another folder for them",
    )


def _say_bug(error: BaseException, *, show_texts: bool) -> None:
    """Show the stack without local variables, and without texts that may hold values of traces."""
    for one in _chain(error):
        for line in traceback.format_tb(one.__traceback__):
            say(line.rstrip("\n"))
        kind = f"{type(one).__module__}.{type(one).__qualname__}".removeprefix("builtins.")
        say(f"{kind}: {one}" if show_texts or isinstance(one, ImportError) else kind)
    say_error("this is a bug in visceral", "please report it with the lines above")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield what led to the error, then the error."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and cause is not error:
        yield from _chain(cause)
    yield error
