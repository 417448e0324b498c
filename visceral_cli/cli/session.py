"""One run of a command: its settings, its inputs, how it speaks and where its result goes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from visceral_cli.cli import setting_keys as keys
from visceral_cli.cli.config import Configuration, load_configuration
from visceral_cli.cli.environment import process_environment
from visceral_cli.cli.readers import one_of
from visceral_cli.cli.terminal import Color, Terminal, make_terminal, size_of
from visceral_cli.cli.wrong_value import WrongValue
from visceral_cli.errors import UsageError
from visceral_cli.progress import Progress
from visceral_cli.report.view import Format, Rows, View


@dataclass(frozen=True, slots=True)
class Session:
    """What a command needs beside the stages it calls."""

    options: Mapping[str, object]
    """Its parameters by name, as typed."""
    configuration: Configuration
    terminal: Terminal

    def inputs(self) -> tuple[str, ...]:
        """Return the inputs, of the command line or the settings.

        Raises:
            UsageError: there are none.
        """
        inputs = self.configuration.get(keys.INPUTS)
        if not inputs:
            raise UsageError(
                "no input is given", hint="name span files, a folder of them, - or a store"
            )
        return inputs

    def place(self) -> Path | None:
        """Return the file to write; ``None`` for stdout."""
        place = self.configuration.get(keys.OUTPUT)
        return None if place == Path("-") else place

    def format_name(self) -> str | None:
        """Return the format that is asked for by name."""
        named = self.configuration.get(keys.OUTPUT_FORMAT)
        if not self.options.get("json"):
            return named
        if self.options.get("output_format") not in (None, Format.JSON):
            raise UsageError(f"--json and -f {named} exclude each other")
        return Format.JSON

    def rows(self) -> Rows | None:
        """Return what a row shall be; ``None`` when nobody said so."""
        given = self.options.get("rows")
        return None if given is None else Rows(choice("--rows", given, tuple(Rows)))

    def view(self) -> View:
        """Return how the answer is shown."""
        to_stdout = self.place() is None
        width, height = size_of(sys.stdout) if to_stdout else (None, None)
        return View(
            rows=self.rows(),
            top=self.configuration.get(keys.TOP),
            show_arguments=self.options.get("show_arguments") is True,
            width=width,
            height=height,
            color=self.terminal.color_out if to_stdout else False,
            encoding=getattr(sys.stdout, "encoding", None) or "utf-8" if to_stdout else "utf-8",
            command=(*self.configuration.get(keys.INPUTS), *self._typed_options()),
        )

    @contextmanager
    def working(self) -> Iterator[Progress]:
        """Show progress while something long runs."""
        progress = self.terminal.progress()
        try:
            yield progress
        finally:
            progress.done()

    def _typed_options(self) -> Iterator[str]:
        """Yield the options of this run that decide what is analysed, as typed."""
        for setting in _SAME_ANALYSIS:
            given = self.options.get(setting.parameter)
            if isinstance(given, bool):
                yield f"--{'' if given else 'no-'}{setting.name}"
            for value in given if isinstance(given, list | tuple) else [given]:
                if isinstance(value, str):
                    yield f"--{setting.name}"
                    yield value
        if isinstance(self.options.get("config"), str):
            yield from ("--config", str(self.options["config"]))
        if self.options.get("no_config"):
            yield "--no-config"


_NOT_OF_THE_ANALYSIS = (
    keys.OUTPUT,
    keys.OUTPUT_FORMAT,
    keys.TOP,
    keys.WORKERS,
    *keys.VERIFY_SETTINGS,
)
_SAME_ANALYSIS = tuple(
    setting
    for setting in keys.SETTINGS
    if setting.option and setting.key not in {other.key for other in _NOT_OF_THE_ANALYSIS}
)


def open_session(context: typer.Context) -> Session:
    """Return the session of a command, from its parameters, the environment and the settings.

    Raises:
        UsageError: something of these cannot be meant.
    """
    options = context.params
    environment = process_environment()
    color = Color(choice("--color", options.get("color", Color.AUTO), tuple(Color)))
    quiet, verbose = options.get("quiet") is True, options.get("verbose") is True
    return Session(
        options=options,
        configuration=load_configuration(options, environment=environment),
        terminal=make_terminal(color, environment, quiet=quiet, verbose=verbose),
    )


def choice(option: str, given: object, choices: Sequence[str]) -> str:
    """Return one of a few words.

    Raises:
        UsageError: it is none of them.
    """
    try:
        return one_of(*choices)(given)
    except WrongValue as wrong:
        raise UsageError(f"{option}: {wrong}", hint=wrong.hint) from None
