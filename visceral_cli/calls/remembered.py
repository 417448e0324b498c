"""A bounded memory of texts that were read before: agents repeat themselves."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")

MOST_CHARACTERS = 4 << 20
"""How much text is remembered before everything is forgotten."""

_CHARACTERS_BESIDE = 400
"""What one entry costs beside its text, roughly."""


class Remembered(Generic[Value]):
    """Values by key; forgets all when the keys' texts have become too many."""

    __slots__ = ("_characters", "_values", "get")

    def __init__(self) -> None:
        self._values: dict[Hashable, Value] = {}
        self._characters = 0
        self.get = self._values.get
        """Return the value of a key, or ``None``."""

    def put(self, key: Hashable, value: Value, characters: int) -> None:
        """Keep a value whose key has so many characters."""
        self._characters += characters + _CHARACTERS_BESIDE
        if self._characters > MOST_CHARACTERS:
            self._values.clear()
            self._characters = characters
        self._values[key] = value
