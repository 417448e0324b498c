"""What runs first: it starts what reads large inputs, before the command line is imported.

The script that imports this module is imported by each reading process too, as its main module. So
nothing but the standard library is imported at the top.
"""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress

_INTERRUPTED = 130
"""As `errors.ExitCode` has it."""

_READING = {"analyze", "check", "rules", "curve", "verify", "diff", "ingest", "explain"}
"""The commands that read span files."""


def main() -> None:
    """Run the program."""
    signal.signal(signal.SIGTERM, end)
    gc.disable()  # imports leave no garbage; the pipeline enables it once they are done
    try:
        _start_reading(sys.argv[1:])
        from visceral_cli.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("visceral: interrupted\n")
        sys.exit(_INTERRUPTED)
    try:
        run()
    finally:
        gc.freeze()  # nothing of it is searched for garbage once more when the process ends


def end(number: int, frame: object) -> None:
    """End as a shell reports it, but orderly: temporary files are removed on the way."""
    sys.exit(128 + number)


def _start_reading(arguments: list[str]) -> None:
    """Start the fork server if an argument is the name of something large.

    What cannot be started here is started, or told of, where it is needed.
    """
    if not arguments or arguments[0] not in _READING:
        return
    from visceral_cli.loading.fork_server import start_for

    with suppress(OSError):
        start_for(arguments[1:])
