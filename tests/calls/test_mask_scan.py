"""Searching many results at once tells of the same words as searching each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.calls import mask_scan, placeholders

WORDS = ("redacted", "truncated", "masked", "scrubbed")
pieces = st.sampled_from(
    [*WORDS, "REDACTED", "Masked", "acted", "uncated", "ed", "ED", "mask", "skEd", "@D", "\n", "{"]
) | st.text(st.characters(max_codepoint=127), max_size=5)


@given(st.lists(pieces, max_size=8).map("".join))
def test_it_gives_what_the_search_for_each_word_gives(text: str) -> None:
    assert mask_scan.may_be_altered(text) is placeholders.may_be_altered(text)


@pytest.mark.parametrize("before", range(9))
@pytest.mark.parametrize("after", range(3))
@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_at_every_place(word: str, before: int, after: int) -> None:
    text = "." * before + word + "." * after
    assert mask_scan.may_be_altered(text)
    assert mask_scan.may_be_altered(text.upper())
    assert not mask_scan.may_be_altered(text.replace("ed", "e d"))
