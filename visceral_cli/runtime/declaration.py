"""What ``@tool`` declares about a function, checked when it is declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from visceral_cli.contract import attributes as names
from visceral_cli.runtime.attribute_json import Attributes


@dataclass(frozen=True, slots=True)
class Declaration:
    """One decorated tool."""

    name: str
    readonly: bool = False
    replay_safe: bool = False
    vary: tuple[str, ...] | None = None
    version: str | None = None
    freshness_seconds: float | None = None
    invalidates: tuple[str, ...] | None = None
    """The tools whose results a writer voids; ``None``: all."""
    attributes: Attributes = field(init=False, compare=False)
    """What every span of the tool carries."""

    def __post_init__(self) -> None:
        values: dict[str, object] = {
            names.SPAN_KIND: names.SPAN_KIND_TOOL,
            names.TOOL_NAME: self.name,
            names.TOOL_NAME_OPENINFERENCE: self.name,
            names.READONLY: self.readonly,
            names.REPLAY_SAFE: self.replay_safe,
        }
        if self.vary is not None:
            values[names.VARY] = ",".join(self.vary)
        if self.version is not None:
            values[names.VERSION] = self.version
        if self.freshness_seconds is not None:
            values[names.FRESHNESS_OVERRIDE] = float(self.freshness_seconds)
        if self.invalidates is not None:
            values[names.INVALIDATES] = ",".join(self.invalidates)
        object.__setattr__(self, "attributes", Attributes(values))


def declare(
    name: str,
    *,
    readonly: bool = False,
    replay_safe: bool = False,
    vary: Sequence[str] | None = None,
    version: str | None = None,
    freshness_seconds: float | None = None,
    invalidates: Sequence[str] | None = None,
) -> Declaration:
    """Return the declaration; raises ``ValueError`` for one that means nothing."""
    if not is_text(name):
        raise ValueError("the name of a tool is a text that is not empty")
    if vary is not None and not (_is_names(vary) and len(vary) > 0):
        raise ValueError("vary is a list of argument names, none of them empty, at least one")
    if freshness_seconds is not None and not _is_positive(freshness_seconds):
        raise ValueError("freshness_seconds is a number above zero")
    if invalidates is not None and not _is_names(invalidates):
        raise ValueError("invalidates is a list of tool names, none of them empty")
    if invalidates is not None and readonly:
        raise ValueError("a read-only tool invalidates nothing")
    return Declaration(
        name=name,
        readonly=readonly,
        replay_safe=replay_safe,
        vary=None if vary is None else tuple(vary),
        version=version,
        freshness_seconds=freshness_seconds,
        invalidates=None if invalidates is None else tuple(invalidates),
    )


def is_text(value: object) -> bool:
    """Whether it is a text that is not empty; callers need not be typed."""
    return isinstance(value, str) and bool(value)


def _is_names(value: object) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return all(is_text(name) for name in value)


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value > 0 and not math.isnan(value)
