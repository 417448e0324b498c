from __future__ import annotations

import base64
from pathlib import Path

import pytest

from visceral_cli.cli.key_file import parse_keys, read_key_file
from visceral_cli.cli.wrong_value import WrongValue
from visceral_cli.errors import UsageError

KEY = bytes(range(32))
TEXT = base64.b64encode(KEY).decode()


def test_a_bare_key_has_no_id_though_its_text_ends_in_an_equals_sign() -> None:
    assert TEXT.endswith("=")
    assert parse_keys(TEXT) == {"": KEY}


def test_a_key_may_have_an_id() -> None:
    assert parse_keys(f"2024-05 = {TEXT}") == {"2024-05": KEY}


def test_url_safe_base64_without_padding_is_read() -> None:
    key = b"\xff" * 32
    assert parse_keys(base64.urlsafe_b64encode(key).decode().rstrip("=")) == {"": key}


@pytest.mark.parametrize("text", ["", "secret", "a=secret", base64.b64encode(b"short").decode()])
def test_a_wrong_key_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(WrongValue) as caught:
        parse_keys(text)
    assert str(caught.value) == "not the base64 text of 32 bytes"


def test_a_file_has_a_key_a_line_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# of the staging workspace\n\na={TEXT}\n{TEXT}\n")
    assert read_key_file(path) == {"a": KEY, "": KEY}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# nothing\n", "no key in this file"),
        (b"\n\nsecret\n", r"keys:3: not the base64 text"),
        (b"\xff\xfe", "not UTF-8 text"),
        (None, "no such file"),
    ],
    ids=["empty", "wrong line", "not text", "missing"],
)
def test_a_key_file_is_refused_with_the_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=f"(?i){message}") as caught:
        read_key_file(path)
    assert "secret" not in str(caught.value)
