"""Texts that stand where content was: redacted, not captured, cut.

Two calls whose arguments were masked look equal and are not, so everything here errs towards
"unknown". The markers are those that instrumentations, backends and log scrubbers write.
"""

from __future__ import annotations

import re

_NOT_CAPTURED = frozenset(
    {
        "",
        "null",
        "None",
        "undefined",
        "N/A",
        "n/a",
        "<not serializable>",
        "<not specified>",
        "<unserializable>",
        "<non-serializable>",
    }
)
"""Whole texts that only say that there is nothing (Google ADK, OpenInference, ``str(None)``)."""

_WORDS = "redacted", "masked", "scrubbed", "sanitized", "filtered", "hidden", "omitted"
_ANY_WORD = "|".join(_WORDS)
_REDACTED = re.compile(
    rf"[\[<({{]\s*(?:{_ANY_WORD}|removed|secret)\s*[\])>}}]|_*redacted_*|_+(?:{_ANY_WORD})_+"
    r"|\*{3,}|[x█•]{6,}|\[Scrubbed due to [^\]]*\]",
    re.IGNORECASE,
)
_MASK = re.compile(
    r"[\[<({]\s*(?:redacted|masked|scrubbed|sanitized)\b"
    r"|[\[<({]\s*(?:filtered|hidden|omitted)\s*[\])>}]"
    rf"|__(?:{_ANY_WORD})__|[\"']redacted[\"']",
    re.IGNORECASE,
)
_RESULT_MASK = re.compile(
    r"[\[<({]\s*(?:redacted|masked|scrubbed)\b|__redacted__|[\"']redacted[\"']", re.IGNORECASE
)

_CUT_MARKER = re.compile(
    r"(?:[\[<({]|\.{3}|…)[^\[\]<>(){}]{0,40}truncated|truncated[^\[\]<>(){}]{0,40}[\])>}]",
    re.IGNORECASE,
)
_CUT_END = re.compile(r"(?:\.{3}|…)[\"'\]})]*\s*\Z")
_CUT_RESULT_END = re.compile(r"[^\s.](?:\.{3}|…)[\"'\]})]*\s*\Z")


def is_not_captured(text: str) -> bool:
    """Whether the whole text only says that nothing was captured."""
    return text.strip() in _NOT_CAPTURED


def is_redacted(text: str) -> bool:
    """Whether the whole text is a placeholder such as ``__REDACTED__``, ``[Redacted]``, ``***``."""
    return len(text) < 200 and _REDACTED.fullmatch(text.strip()) is not None


def may_lack_arguments(text: str) -> bool:
    """Whether arguments, or any of several, need a closer look for masks and cut parts."""
    if "***" in text:
        return True
    small = text.lower()
    return _tells_mask(small) or "truncated" in small


def has_mask(text: str) -> bool:
    """Whether arguments hold a masked part: two different secrets would look the same.

    Any run of three asterisks counts, though it may be meant (Markdown): such a call only goes
    without identity.
    """
    if "***" in text:
        return True
    return _tells_mask(text.lower()) and _MASK.search(text) is not None


def _tells_mask(small: str) -> bool:
    # Written out: this runs over every text, and a generator costs more than the searching.
    return (
        "redacted" in small
        or "masked" in small
        or "scrubbed" in small
        or "sanitized" in small
        or "filtered" in small
        or "hidden" in small
        or "omitted" in small
    )


def may_be_altered(text: str) -> bool:
    """Whether a longer look for masks and cut parts of a result is needed; fast if ASCII."""
    small = text.lower()
    return "redacted" in small or "truncated" in small or "masked" in small or "scrubbed" in small


def has_result_mask(text: str) -> bool:
    """Whether a result holds a masked part; stars are often the tool's own doing, words are not."""
    small = text.lower()
    return (
        "redacted" in small or "masked" in small or "scrubbed" in small
    ) and _RESULT_MASK.search(text) is not None


def has_cut_marker(text: str) -> bool:
    """Whether a text says that a part of it was cut: ``[truncated, 9000 chars total]``."""
    return ("runcated" in text or "RUNCATED" in text) and _CUT_MARKER.search(text) is not None


def ends_cut(text: str) -> bool:
    """Whether a text that is no JSON was probably cut: it ends in dots, or at a round length.

    Round are the lengths that limits are set to: powers of two from 128 on, and multiples of 100
    from 1000 on. One such text in a hundred is innocent, and only goes without a hash.
    """
    return _CUT_END.search(text[-12:]) is not None or _has_round_length(text)


def result_ends_cut(text: str) -> bool:
    """As `ends_cut`, but results may end in dots: short ones, and snippets after a space."""
    if len(text) >= 100 and _CUT_RESULT_END.search(text[-12:]) is not None:
        return True
    return _has_round_length(text)


def _has_round_length(text: str) -> bool:
    length = len(text)
    if length >= 1000 and length % 100 == 0:
        return True
    return length >= 128 and length & (length - 1) == 0
