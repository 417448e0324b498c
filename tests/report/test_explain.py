from __future__ import annotations

from collections import Counter

import pytest

from visceral_cli.analysis.figures import FindingKind, Verdict
from visceral_cli.calls.tool_call import ContentMissing, IdentityMissing
from visceral_cli.errors import UsageError
from visceral_cli.ingest.span import DamageKind
from visceral_cli.report.explain import contents, explain, pages
from visceral_cli.rules.refusal import RefusalKind

PRINTED = [*RefusalKind, *Verdict, *FindingKind, *IdentityMissing, *ContentMissing, *DamageKind]


@pytest.mark.parametrize("word", PRINTED, ids=lambda word: f"{type(word).__name__}.{word}")
def test_every_word_that_a_report_can_print_has_a_page(word: str) -> None:
    kinds = {
        RefusalKind: "refusal",
        Verdict: "verdict",
        FindingKind: "finding",
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
    text = explain("writer", inserts={})
    assert "writer (verdict)" in text
    assert "writer (missing arguments or result)" in text


def test_the_topics_are_there() -> None:
    for topic in ("conventions", "exit-codes", "declarations", "freshness"):
        assert explain(topic, inserts={}).startswith(f"{topic}\n")
        assert topic in contents()


def test_an_unknown_word_proposes_the_nearest() -> None:
    with pytest.raises(UsageError, match='nothing explains "reusabel"') as caught:
        explain("reusabel", inserts={})
    assert caught.value.hint == 'did you mean "reusable"?'


def test_pages_fit_a_terminal() -> None:
    assert max(len(line) for page in pages() for line in page.text.splitlines()) <= 100
