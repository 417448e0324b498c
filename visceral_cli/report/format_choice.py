"""Which format an answer gets, and what a format cannot carry: told before any work is done."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from visceral_cli.errors import UsageError
from visceral_cli.report.view import Format, Rows

SUFFIXES: Mapping[str, Format] = {
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".xml": Format.JUNIT,
    ".sarif": Format.SARIF,
}

FOR_FINDINGS = (Format.GITHUB, Format.JUNIT, Format.SARIF)
"""Formats that tell of findings alone."""

REPORT_FORMATS = tuple(each for each in Format if each not in FOR_FINDINGS)
CHECK_FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN, *FOR_FINDINGS)
DIFF_FORMATS = (Format.TABLE, Format.JSON, Format.MARKDOWN)

_DRAWS_PAGES = ("jinja2", "vl_convert")
HTML_EXTRA = "pip install 'visceral-cli[html]'"
"""What installs them."""

TABULAR = frozenset({Format.CSV, Format.PARQUET, Format.JSONL})
"""Formats of rows, which carry calls too."""


def format_of(name: str | None, place: Path | None, carried: Sequence[Format]) -> Format:
    """Return the format that is asked for by name, else by the suffix of the file, else the first.

    Raises:
        UsageError: the command does not carry the format.
    """
    if name is not None:
        wanted = name.lower()
        if wanted not in [str(one) for one in carried]:
            raise UsageError(f'no output format "{name}" here', hint=f"known: {', '.join(carried)}")
        return Format(wanted)
    by_suffix = _by_suffix(place)
    if by_suffix is not None and by_suffix not in carried:
        raise UsageError(
            f"{place}: this command does not write {by_suffix}",
            hint=f"known: {', '.join(carried)}; -f says which, whatever the suffix",
        )
    return by_suffix or carried[0]


def _by_suffix(place: Path | None) -> Format | None:
    if place is None or not place.suffix or not (place.is_file() or not place.exists()):
        return None  # a device or a pipe may have any name
    if place.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{place}: no format has the suffix {place.suffix}",
            hint=f"known: {', '.join(SUFFIXES)}; or say the format with -f",
        )
    return SUFFIXES[place.suffix.lower()]


def check_rows(chosen: Format, place: Path | None, rows: Rows | None) -> None:
    """Refuse, before any work, what could not be written afterwards.

    Raises:
        UsageError: the format does not carry these rows, or is not for a terminal.
    """
    if rows is not None and chosen is Format.JSON:
        raise UsageError(
            "--rows: json always holds everything",
            hint="rows are for table, markdown, csv, parquet and jsonl",
        )
    if rows is Rows.CALLS and chosen not in TABULAR:
        raise UsageError(
            f"--rows calls: there may be millions of them, too many for {chosen}",
            hint="write them as csv, parquet or jsonl: -f csv, or -o calls.parquet",
        )
    if chosen in (Format.PARQUET, Format.HTML) and is_terminal(place):
        raise UsageError(f"{chosen} is not for a terminal", hint="give -o FILE, or pipe it")
    if chosen is Format.HTML:
        _check_html(rows)


def _check_html(rows: Rows | None) -> None:
    if rows is not None:
        raise UsageError(
            "--rows: the page shows every kind of rows",
            hint="rows are for table, markdown, csv, parquet and jsonl",
        )
    if not all(find_spec(package) for package in _DRAWS_PAGES):
        raise UsageError("html needs packages that are not installed", hint=HTML_EXTRA)


def is_terminal(place: Path | None) -> bool:
    """Return whether the answer goes to a terminal."""
    to_stdout = place is None or place == Path("-")
    return to_stdout and sys.stdout is not None and sys.stdout.isatty()
