"""Pages of prose laid out anew for a screen that is narrower than they are."""

from __future__ import annotations

import re
import textwrap

_TERM = re.compile(r" +(?:\*|\S.*?  ) *(?=\S)")
"""What a list hangs below: its star, or its term and the gap behind it."""


def page_text(page: str, width: int | None) -> str:
    """Return a page whose lines fit; a page that fits as it is stays so, as in a pipe."""
    lines = page.split("\n")
    if width is None or max(map(len, lines)) <= width:
        return page
    return "\n".join(_folded(paragraph, width) for paragraph in _paragraphs(lines))


def _paragraphs(lines: list[str]) -> list[str]:
    """Return each paragraph of prose and each item of a list as one line."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        of_prose = before[:1].strip() and line[:1].strip()
        of_item = before.startswith("  * ") and line.startswith("    ")
        if of_prose or of_item:
            found[-1] = f"{before} {line.strip()}"
        else:
            found.append(line)
    return found


def _folded(paragraph: str, width: int) -> str:
    term = _TERM.match(paragraph)
    hanging = " " * min(term.end() if term else 0, width // 2)
    return "\n".join(
        textwrap.wrap(
            paragraph,
            width,
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
