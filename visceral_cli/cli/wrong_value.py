"""What is wrong with a value that a user gave, before it is known where they gave it."""

from __future__ import annotations

from datetime import date, time

_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    ((list, tuple), "a list"),
    (dict, "a table"),
    ((date, time), "a date or time"),
)


class WrongValue(ValueError):
    """A value that cannot be meant; the hint says what to write instead."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def kind_of(value: object) -> str:
    """Return what a value of a TOML file is called in an error."""
    for kinds, name in _KINDS:
        if isinstance(value, kinds):
            return name
    return "something else"
