"""A bounded memory of texts that were read before: agents repeat themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

MOST_CHARACTERS = 2 << 20
"""How much text is remembered before everything is forgotten: what is repeated mostly is soon, and
of more the search takes longer than reading anew."""

_CHARACTERS_BESIDE = 400
"""What one entry costs beside its text, roughly."""


class Remembered(Generic[Value]):
    """Values by text, apart for each way of reading; forgets all when the texts are too many."""

    __slots__ = ("_characters", "_ways")

    def __init__(self) -> None:
        self._ways: dict[Hashable, dict[str, Value]] = {}
        self._characters = 0

    def known(self, way: Hashable) -> Mapping[str, Value]:
        """Return the values of texts that were read in this way."""
        return self._ways.get(way, _NONE)

    def keep(
        self, way: Hashable, texts: Sequence[str], values: Iterable[Value]
    ) -> Mapping[str, Value]:
        """Keep the values of texts that were read in this way, and return these and more."""
        characters = _CHARACTERS_BESIDE * (len(texts) + 1) + sum(map(len, texts))
        self._characters += characters
        if self._characters > MOST_CHARACTERS:
            self._ways.clear()
            self._characters = characters
        known = self._ways.setdefault(way, {})
        known.update(zip(texts, values, strict=True))
        return known


_NONE: Mapping[str, Any] = {}
