"""Python source with names from traces in it, which may hold anything.

Names appear as literals in ASCII only, so that no quote, line break or invisible character of
theirs is taken for code or layout.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

_WIDTH = 99


def literal(text: str | None) -> str:
    """Return the literal of a text, in double quotes, or ``None``."""
    if text is None:
        return "None"
    escaped = text.encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace('"', '\\"') + '"'


def literals(texts: Iterable[str]) -> str:
    """Return the literal of a list of texts."""
    return f"[{', '.join(map(literal, texts))}]"


def comment(text: str, *, indent: int = 0) -> str:
    """Return the text as lines of comment; ``indent``: columns before it, two more from the second.

    What is not printable ASCII in it is escaped.
    """
    shown = "".join(c if c.isascii() and c.isprintable() else literal(c)[1:-1] for c in text)
    first = "# " + " " * indent
    return "\n".join(
        line.rstrip()
        for line in textwrap.wrap(
            shown,
            _WIDTH,
            initial_indent=first,
            subsequent_indent=first + "  " if indent else first,
            break_on_hyphens=False,
            break_long_words=False,
        )
    )
