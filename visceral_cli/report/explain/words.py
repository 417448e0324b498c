"""The words of a report: a name in, its pages out; no traces are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from visceral_cli.errors import UsageError
from visceral_cli.report.explain.explanation import Explanation
from visceral_cli.report.explain.pages import Page, pages, pages_of
from visceral_cli.report.plain_text import plain

Inserts = Mapping[str, Callable[[], str]]
"""What pages leave open as ``{key}``, by key."""


_MORE = "visceral explain lists all words; for a call or a tool, name the traces as well"


def explain_words(what: str, inserts: Inserts) -> list[Explanation]:
    """Return the pages of a word, for which no traces are needed.

    Raises:
        UsageError: no page has the name.
    """
    found = pages_of(what)
    if not found:
        raise unknown(what, [page.name for page in pages()], hint=_MORE)
    return [explain_page(page, inserts) for page in found]


def unknown(what: str, names: Sequence[str], *, hint: str) -> UsageError:
    """Return the error for what nothing explains; it names the nearest of ``names``, or a hint."""
    near = get_close_matches(what, sorted(set(names)), n=1)
    proposed = f'did you mean "{plain(near[0])}"?' if near else hint
    return UsageError(f'nothing explains "{plain(what)}"', hint=proposed)


def explain_page(page: Page, inserts: Inserts) -> Explanation:
    """Return a page alone."""
    text = page.filled(inserts)
    return Explanation(page.kind, page.heading, text, facts={"name": page.name})
