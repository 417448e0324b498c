"""``Explanation``: what is said of one thing, as lines and rows for people, and as facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EXPLANATION_FORMAT = 1
"""The number of the JSON format of explanations; within one number keys are only added."""


@dataclass(frozen=True, slots=True)
class Line:
    """A label and what is said under it; without a label it goes on under the line before."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of text under headings."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    """How many rows there are beyond those that are shown."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is said of one thing."""

    kind: str
    """``call``, ``identity``, ``rule``, ``tool``, or the kind of a page such as ``refusal``."""
    heading: str
    page: str = ""
    """Lines of prose, laid out already."""
    lines: tuple[Line, ...] = ()
    rows: Rows | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs: JSON values by name."""
