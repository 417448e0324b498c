"""What the words in a report mean: the name of a verdict, finding or topic in, its page out.

The pages are ``explain_pages.md``: a heading of the first level names a kind of word, one of the
second level a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from textwrap import wrap

from visceral_cli.errors import UsageError

TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class Page:
    """One explanation."""

    kind: str
    """What the name is the name of: ``verdict``, ``finding``, ``topic`` and so on."""
    name: str
    text: str


@cache
def pages() -> tuple[Page, ...]:
    """Return all pages, in their order in the file."""
    source = (resources.files("visceral_cli.report") / "explain_pages.md").read_text("utf-8")
    found: list[Page] = []
    kind = ""
    for part in source.split("\n# "):
        kind, _, rest = part.removeprefix("# ").partition("\n")
        for section in rest.split("\n## ")[1:]:
            name, _, text = section.partition("\n")
            found.append(Page(kind, name, text.strip("\n")))
    return tuple(found)


def explain(name: str, *, inserts: Mapping[str, str]) -> str:
    """Return the pages of a name; ``inserts`` replace ``{key}`` in their text.

    Raises:
        UsageError: no page has the name.
    """
    found = [page for page in pages() if page.name == name]
    if not found:
        names = sorted({page.name for page in pages()})
        near = get_close_matches(name, names, n=1)
        hint = f'did you mean "{near[0]}"?' if near else "visceral explain lists all pages"
        raise UsageError(f'nothing explains "{name}"', hint=hint)
    return "\n".join(_text(page, inserts) for page in found)


def contents() -> str:
    """Return the names of all pages by kind."""
    kinds: dict[str, list[str]] = {}
    for page in pages():
        kinds.setdefault(page.kind, []).append(page.name)
    parts = []
    for kind, names in kinds.items():
        lines = wrap(", ".join(names), 76, break_on_hyphens=False)
        listed = "\n".join(f"  {line}" for line in lines)
        parts.append(f"{kind}\n{listed}\n")
    return "\n".join(parts)


def _text(page: Page, inserts: Mapping[str, str]) -> str:
    text = page.text
    for key, value in inserts.items():
        text = text.replace(f"{{{key}}}", value)
    heading = page.name if page.kind == TOPIC else f"{page.name} ({page.kind})"
    return f"{heading}\n\n{text}\n"
