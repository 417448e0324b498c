"""A TOML value or the text of an option or a variable, read as what a setting needs.

Each reader raises ``WrongValue`` and never guesses: a number is no text, ``"yes"`` no truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from visceral_cli.calls.ignored import NoPath
from visceral_cli.calls.ignored import parse_path as parse_path_of_result
from visceral_cli.cli.shares import parse_share
from visceral_cli.cli.wrong_value import WrongValue, kind_of


def parse_text(given: object) -> str:
    """Return a text as it is."""
    if not isinstance(given, str):
        raise WrongValue(f"{kind_of(given)} where text is expected")
    return given


def parse_text_or_none(given: object) -> str | None:
    """Return a text, or ``None`` for the word ``none``."""
    text = parse_text(given)
    if not text:
        raise WrongValue("an empty name", hint="write none for none")
    return None if text == "none" else text


def parse_texts(given: object) -> tuple[str, ...]:
    """Return a list of texts."""
    if not isinstance(given, list | tuple):
        raise WrongValue(f"{kind_of(given)} where a list is expected", hint='write ["…", "…"]')
    for item in given:
        if not isinstance(item, str):
            raise WrongValue(f"{kind_of(item)} in a list of texts")
    return tuple(given)


def parse_json_paths(given: object) -> tuple[str, ...]:
    """Return a list of JSON paths."""
    paths = parse_texts(given)
    for path in paths:
        try:
            parse_path_of_result(path)
        except NoPath:
            raise WrongValue(
                f'"{path}" is no JSON path', hint="such as $.observed_at or $.items[*].id"
            ) from None
    return paths


def parse_path(given: object) -> Path:
    """Return a path."""
    if isinstance(given, Path):
        return given
    text = parse_text(given)
    if not text:
        raise WrongValue("an empty path")
    return Path(text)


def parse_flag(given: object) -> bool:
    """Return true or false."""
    if not isinstance(given, bool):
        raise WrongValue(f"{kind_of(given)} where true or false is expected")
    return given


def at_least(least: int) -> Callable[[object], int]:
    """Return a reader of whole numbers from ``least``."""

    def parse(given: object) -> int:
        if isinstance(given, bool) or not isinstance(given, int):
            raise WrongValue(f"{kind_of(given)} where a whole number is expected")
        if given < least:
            raise WrongValue(f"{given} is below {least}")
        return given

    return parse


def one_of(*choices: str) -> Callable[[object], str]:
    """Return a reader of one of a few words."""

    def parse(given: object) -> str:
        if given not in choices:
            shown = f'"{given}"' if isinstance(given, str) else kind_of(given)
            raise WrongValue(f"{shown} is none of {', '.join(choices)}")
        return str(given)

    return parse


def inner_share(given: object) -> float:
    """Return a share between 0 and 1, which it must not reach: both would prove anything."""
    share = parse_share(given)
    if not 0 < share < 1:
        raise WrongValue(f"{given} is not between 0% and 100%")
    return share


def parse_factor(given: object) -> float:
    """Return a number of at least 1."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise WrongValue(f"{kind_of(given)} where a number is expected")
    if not math.isfinite(given) or given < 1:
        raise WrongValue(f"{given} is below 1")
    return float(given)


def parse_money(given: object) -> float:
    """Return an amount of USD."""
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            raise WrongValue(f'"{given}" is no amount of USD', hint="write 0.0075") from None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise WrongValue(f"{kind_of(given)} where an amount of USD is expected")
    if not math.isfinite(given) or given < 0:
        raise WrongValue(f"{given} is no amount of USD", hint="write 0.0075")
    return float(given)


def parse_prices(given: object) -> dict[str, float]:
    """Return the amount of each ``TOOL=USD``; a tool may have ``=`` in its name."""
    prices: dict[str, float] = {}
    for text in parse_texts(given):
        tool, equals, amount = text.rpartition("=")
        if not equals or not tool:
            raise WrongValue(f'"{text}" is no price', hint="write TOOL=USD, as search=0.0075")
        prices[tool] = parse_money(amount)
    return prices
