from __future__ import annotations

from collections import Counter

import pytest

from visceral_cli.analysis.figures import FindingKind, Verdict
from visceral_cli.calls.tool_call import ContentMissing, IdentityMissing
from visceral_cli.errors import UsageError
from visceral_cli.gate.finding import CheckKind
from visceral_cli.ingest.span import DamageKind
from visceral_cli.report.explain.pages import contents, pages
from visceral_cli.report.explain.words import explain_words
from visceral_cli.rules.refusal import RefusalKind

PRINTED = [
    *RefusalKind,
    *Verdict,
    *FindingKind,
    *CheckKind,
    *IdentityMissing,
    *ContentMissing,
    *DamageKind,
]


@pytest.mark.parametrize("word", PRINTED, ids=lambda word: f"{type(word).__name__}.{word}")
def test_every_word_that_a_report_can_print_has_a_page(word: str) -> None:
    kinds = {
        RefusalKind: "refusal",
        Verdict: "verdict",
        FindingKind: "finding",
        CheckKind: "finding of a check",
        IdentityMissing: "missing arguments or result",
        ContentMissing: "missing arguments or result",
        DamageKind: "damage",
    }
    assert (kinds[type(word)], str(word)) in {(page.kind, page.name) for page in pages()}


def test_no_page_explains_a_word_that_nobody_prints() -> None:
    known = {str(word) for word in PRINTED}
    topics = {page.name for page in pages() if page.kind in ("topic", "step of the funnel")}
    assert {page.name for page in pages()} - topics <= known


def test_no_page_is_there_twice_or_empty() -> None:
    assert max(Counter((page.kind, page.name) for page in pages()).values()) == 1
    assert all(len(page.text) > 20 for page in pages())


def test_a_word_of_two_meanings_shows_both() -> None:
    headings = [one.heading for one in explain_words("writer", {})]
    assert "writer (verdict)" in headings
    assert "writer (missing arguments or result)" in headings


def test_the_topics_are_there() -> None:
    for topic in ("conventions", "exit-codes", "declarations", "freshness"):
        assert explain_words(topic, {})[0].heading == topic
        assert topic in contents()


def test_what_a_page_leaves_open_is_filled_in_only_where_it_is_needed() -> None:
    def insert() -> str:
        used.append(True)
        return "here they are"

    used: list[bool] = []
    assert "here they are" in explain_words("conventions", {"conventions": insert})[0].page
    assert len(used) == 1
    explain_words("retry", {"conventions": insert})
    assert len(used) == 1


def test_an_unknown_word_proposes_the_nearest() -> None:
    with pytest.raises(UsageError, match='nothing explains "reusabel"') as caught:
        explain_words("reusabel", {})
    assert caught.value.hint == 'did you mean "reusable"?'


def test_pages_fit_a_terminal() -> None:
    assert max(len(line) for page in pages() for line in page.text.splitlines()) <= 100
