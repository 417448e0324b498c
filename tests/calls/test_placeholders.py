"""What stands where content was is known for what it is, and content is not taken for it."""

from __future__ import annotations

import pytest

from visceral_cli.calls import placeholders


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("__REDACTED__", True),
        ("[REDACTED]", True),
        ("<redacted>", True),
        ("REDACTED", True),
        ("***", True),
        ("********", True),
        ('[Scrubbed due to "password"]', True),
        ("[Filtered]", True),
        ("**", False),
        ("secret", False),
        ("removed", False),
        ("the redacted text", False),
        ("{}", False),
    ],
)
def test_a_whole_text_is_a_placeholder_or_not(text: str, redacted: bool) -> None:
    assert placeholders.is_redacted(text) is redacted


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"token": "sk-***"}', True),
        ('{"token": "[REDACTED]"}', True),
        ('{"token": "REDACTED"}', True),
        ('{"card": "<masked>", "n": 1}', True),
        ('{"p": "[Scrubbed due to \'password\']"}', True),
        ('{"glob": "**/*.py"}', False),
        ('{"q": "who masked the singer?"}', False),
        ('{"q": "hidden figures (omitted scenes)"}', False),
        ('{"q": "refund policy"}', False),
    ],
)
def test_a_masked_part_of_arguments_is_found(text: str, masked: bool) -> None:
    assert placeholders.has_mask(text) is masked


def test_stars_in_a_result_are_the_tools_own() -> None:
    assert not placeholders.has_result_mask('{"card": "**** **** 1234"}')
    assert placeholders.has_result_mask('{"card": "[redacted]"}')
    assert not placeholders.has_result_mask("(filtered by date)")


@pytest.mark.parametrize("text", ["", "null", "None", " N/A ", "<not serializable>"])
def test_texts_that_say_that_nothing_was_captured(text: str) -> None:
    assert placeholders.is_not_captured(text)
    assert not placeholders.is_not_captured("{}")


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("abc… [truncated, 9000 chars total]", True),
        ("[TRUNCATED - content exceeds 60KB limit]", True),
        ("abc (truncated)", True),
        ("... truncated", True),
        ("the list was truncated by hand", False),
        ("abc", False),
    ],
)
def test_a_mark_of_a_cut_is_found(text: str, cut: bool) -> None:
    assert placeholders.has_cut_marker(text) is cut


@pytest.mark.parametrize(
    ("length", "cut"),
    [
        *((127, False), (128, True), (129, False)),
        *((999, False), (1000, True), (1001, False)),
        *((1199, False), (1200, True), (1201, False)),
        *((4095, False), (4096, True), (4097, False)),
    ],
)
def test_lengths_that_limits_are_set_to_are_suspicious(length: int, cut: bool) -> None:
    assert placeholders.ends_cut("x" * length) is cut
    assert placeholders.result_ends_cut("x" * length) is cut


def test_dots_end_a_cut_text_but_also_a_snippet() -> None:
    assert placeholders.ends_cut("refund pol...")
    assert not placeholders.result_ends_cut("Loading...")
    assert placeholders.result_ends_cut("a" * 101 + "...")
    assert not placeholders.result_ends_cut("word " * 21 + "...")
    assert not placeholders.ends_cut("refund policy.")
