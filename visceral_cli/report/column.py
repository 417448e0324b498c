"""``Column``: one column of a table of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading and the text of a row's cell."""

    heading: str
    cell: Callable[[Any], str]
    is_number: bool = False
    gives_way: bool = False
    """Whether it stands below its row before others do where a terminal is too narrow."""
    wraps: bool = False
    """Whether it is a sentence, folded between words where a terminal is too narrow."""
