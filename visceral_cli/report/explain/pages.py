"""What the words in a report mean: the name of a verdict, finding or topic in, its page out.

The pages are ``explain_pages.md``: a heading of the first level names a kind of word, one of the
second level a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from textwrap import wrap

TOPIC = "topic"
STEP = "step of the funnel"
VERDICT = "verdict"
REFUSAL = "refusal"
FINDING = "finding"
MISSING = "missing arguments or result"
DAMAGE = "damage"


@dataclass(frozen=True, slots=True)
class Page:
    """One explanation."""

    kind: str
    """What the name is the name of: ``verdict``, ``finding``, ``topic`` and so on."""
    name: str
    text: str

    @property
    def heading(self) -> str:
        """The name, and what it is the name of."""
        return self.name if self.kind == TOPIC else f"{self.name} ({self.kind})"

    def filled(self, inserts: Mapping[str, Callable[[], str]]) -> str:
        """Return the text in which ``{key}`` is replaced by what ``inserts[key]`` returns."""
        text = self.text
        for key, insert in inserts.items():
            if f"{{{key}}}" in text:
                text = text.replace(f"{{{key}}}", insert())
        return text


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


def pages_of(name: str) -> tuple[Page, ...]:
    """Return the pages of a name: several where it has several meanings, none where it has none."""
    return tuple(page for page in pages() if page.name == name)


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
