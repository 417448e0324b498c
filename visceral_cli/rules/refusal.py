"""``Refusal``: why something that repeats got no rule, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

import msgspec


class RefusalKind(StrEnum):
    """Why there is no rule."""

    WRITER = "writer"
    NOT_DECLARED = "not-declared"
    NOT_REPLAY_SAFE = "not-replay-safe"
    DECLARED_NEVER = "declared-never"
    NO_REPEATS = "no-repeats"
    NEW_EVERY_TIME = "new-every-time"
    CHANGES_IN_SECONDS = "changes-in-seconds"
    TOO_FEW_RUNS = "too-few-runs"
    TOO_FEW_RESULTS = "too-few-results"
    TOO_SHORT = "too-short"
    TOO_FEW_OBSERVATIONS = "too-few-observations"
    TOO_OFTEN_STALE = "too-often-stale"
    SHARED_CONFIDENCE = "shared-confidence"
    VOLATILE = "volatile"
    NOT_COMPARED = "not-compared"
    EMPTY_RESULT = "empty-result"
    HASH_VERSION = "hash-version"
    UNKEYED_ARGUMENT = "unkeyed-argument"
    NAMESPACES_DIFFER = "namespaces-differ"


EXPLANATIONS: Mapping[RefusalKind, str] = MappingProxyType(
    {
        RefusalKind.WRITER: "the tool changes something, so every call must run",
        RefusalKind.NOT_DECLARED: "nobody declared that the tool only reads and may be answered "
        "from a stored result",
        RefusalKind.NOT_REPLAY_SAFE: "the author declares that a stored result may not stand in",
        RefusalKind.DECLARED_NEVER: "the declared freshness is zero or less: never serve",
        RefusalKind.NO_REPEATS: "no call could have been answered by an earlier one",
        RefusalKind.NEW_EVERY_TIME: "every result is new, as if it held a time or an id",
        RefusalKind.CHANGES_IN_SECONDS: "equal calls seconds apart give different results",
        RefusalKind.TOO_FEW_RUNS: "repeats came in too few runs to speak for others",
        RefusalKind.TOO_FEW_RESULTS: "too few stored results were compared near that age",
        RefusalKind.TOO_SHORT: "the traces span too little time for that age",
        RefusalKind.TOO_FEW_OBSERVATIONS: "too few results were compared to bound the stale share",
        RefusalKind.TOO_OFTEN_STALE: "more stored results were stale than is tolerated",
        RefusalKind.SHARED_CONFIDENCE: "proven alone, but not with the confidence that is shared "
        "over several tools",
        RefusalKind.VOLATILE: "results of this identity change more often than is tolerated",
        RefusalKind.NOT_COMPARED: "identities that never repeated within the proven freshness",
        RefusalKind.EMPTY_RESULT: "the result is empty, and what found nothing may soon find "
        "something",
        RefusalKind.HASH_VERSION: "the identity was hashed by rules that clients do not know",
        RefusalKind.UNKEYED_ARGUMENT: "the declared vary leaves out an argument on which the "
        "result depends",
        RefusalKind.NAMESPACES_DIFFER: "rules of several namespaces would answer the same call, "
        "and their results do not agree",
    }
)
"""What each kind means, in one line."""


class Refusal(msgspec.Struct, frozen=True):
    """One reason why a tool, or one identity of it, got no rule."""

    kind: RefusalKind
    namespace: str
    tool: str
    input_hash: str | None
    """``None``: the whole tool, or several identities that the message counts."""
    message: str
    """What was found, with the numbers that were compared."""
    next_step: str
    """What would change it; empty if nothing would."""
    repeats: int
    """Repeats that stay without a rule for this reason."""


def most_repeats_first(refusals: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Return the refusals in a fixed order."""
    return tuple(
        sorted(
            refusals,
            key=lambda one: (
                *(-one.repeats, one.namespace, one.tool),
                *(one.kind, one.message, one.input_hash or ""),
            ),
        )
    )


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def table_of(tool: str) -> str:
    """Return the header of the table in ``pyproject.toml`` that declares the tool."""
    return f"[tool.visceral.tools.{_toml_key(tool)}]"


def _toml_key(name: str) -> str:
    if _BARE_KEY.fullmatch(name):
        return name
    escaped = "".join(_toml_character(character) for character in name)
    return f'"{escaped}"'


def _toml_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
