"""Sections of the Visceral SDK open with the right key and say clearly when it is the wrong one."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from visceral_cli.calls.encryption import SectionOpener, sealed_length, section_keys, section_of
from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.tool_call import ToolCall
from visceral_cli.contract.identity import input_hash
from visceral_cli.errors import UsageError
from visceral_cli.ingest.span import Span
from visceral_cli.settings import ExtractSettings

KEY = bytes(range(32))
VECTOR = {
    "visceral.input.ciphertext": "PCC/f+ff4HigcLWnk59aV7L4t0k=",
    "visceral.input.iv": "AAECAwQFBgcICQoL",
    "visceral.input.tag": "ot6m3DLZDVnHad19xfQkuA==",
}


def sealed(
    prefix: str, text: str, key: bytes = KEY, key_id: str | None = "k-1"
) -> dict[str, object]:
    nonce = b"0123456789ab"
    whole = AESGCM(key).encrypt(nonce, text.encode(), None)
    parts = {"ciphertext": whole[:-16], "iv": nonce, "tag": whole[-16:]}
    found: dict[str, object] = {
        f"{prefix}.{name}": base64.b64encode(part).decode() for name, part in parts.items()
    }
    return found | ({f"{prefix}.key_id": key_id} if key_id else {})


def test_the_published_test_vector_opens() -> None:
    section = section_of(VECTOR, "visceral.input")
    assert section is not None
    assert SectionOpener({"": KEY}).open(section) == '{"id":"c-1","v":1.0}'
    assert len(section.ciphertext) == len('{"id":"c-1","v":1.0}')


@pytest.mark.parametrize(
    ("keys", "key_id"),
    [
        ({"k-1": KEY}, "k-1"),
        ({"k-1": KEY, "k-2": bytes(32)}, "k-1"),
        ({"": KEY}, "k-1"),
        ({"": KEY}, None),
        ({"k-1": KEY}, None),
    ],
)
def test_a_key_is_found_by_its_id_or_by_being_the_only_one(
    keys: dict[str, bytes], key_id: str | None
) -> None:
    section = section_of(sealed("visceral.output", "{}", key_id=key_id), "visceral.output")
    assert section is not None
    assert SectionOpener(keys).open(section) == "{}"


@pytest.mark.parametrize(
    ("keys", "key_id", "says"),
    [
        ({"k-2": KEY}, "k-1", "key id 'k-1', given: 'k-2'"),
        ({"": KEY, "k-2": KEY}, "k-1", "key id 'k-1'"),
        ({"k-2": KEY, "k-3": KEY}, None, "a key without id"),
        ({"k-1": bytes(32)}, "k-1", "does not open"),
    ],
)
def test_the_wrong_key_is_refused(keys: dict[str, bytes], key_id: str | None, says: str) -> None:
    section = section_of(sealed("visceral.output", "{}", key_id=key_id), "visceral.output")
    assert section is not None
    with pytest.raises(UsageError, match=says):
        SectionOpener(keys).open(section)


@pytest.mark.parametrize("length", [31, 33])
def test_a_key_has_32_bytes(length: int) -> None:
    with pytest.raises(UsageError, match=f"{length} bytes"):
        SectionOpener({"k-1": bytes(length)})


def test_a_damaged_section_is_only_itself_once_the_key_is_known_to_be_right() -> None:
    opener = SectionOpener({"k-1": KEY})
    good = section_of(sealed("visceral.input", "{}"), "visceral.input")
    assert good is not None
    broken = good._replace(ciphertext=good.ciphertext[:-1])
    assert opener.open(good) == "{}"
    assert opener.open(broken) is None


@pytest.mark.parametrize(
    "change",
    [
        {"visceral.input.iv": None},
        {"visceral.input.tag": "AAAA"},
        {"visceral.input.ciphertext": "not base64!"},
    ],
)
def test_a_section_that_is_not_whole_is_none(change: dict[str, object]) -> None:
    assert section_of(VECTOR | change, "visceral.input") is None


def length_told(attributes: Mapping[str, object], prefix: str) -> int | None:
    return sealed_length(*map(attributes.get, section_keys(prefix)))


@pytest.mark.parametrize("text", ["", "1", "12", "123", "1234", "\u00fc" * 50, "x" * 10_000])
def test_the_length_of_the_plaintext_is_told_without_a_key(text: str) -> None:
    assert length_told(sealed("visceral.output", text), "visceral.output") == len(text.encode())


@pytest.mark.parametrize(
    "change",
    [
        {"visceral.input.iv": None},
        {"visceral.input.iv": "AAECAwQFBgcICQo="},  # 11 bytes
        {"visceral.input.iv": "AAECAwQFBgcICQoLDA=="},  # 13
        {"visceral.input.tag": "AAAA"},
        {"visceral.input.ciphertext": 7},
        {"visceral.input.ciphertext": "not base64!"},
    ],
)
def test_a_section_that_is_not_whole_has_no_length(change: dict[str, object]) -> None:
    assert length_told(VECTOR | change, "visceral.input") is None


def test_a_key_proven_by_one_opener_is_not_proven_for_another() -> None:
    good = section_of(sealed("visceral.input", "{}"), "visceral.input")
    assert good is not None
    assert SectionOpener({"k-1": KEY}).open(good) == "{}"
    broken = good._replace(ciphertext=good.ciphertext[:-1])
    with pytest.raises(UsageError, match="does not open"):
        SectionOpener({"k-1": KEY}).open(broken)


def test_without_a_key_a_call_says_so_and_keeps_its_hash_and_the_length(
    span_of: Callable[..., Span],
) -> None:
    attributes: dict[str, object] = {
        "visceral.tool.name": "f",
        "visceral.tool.readonly": True,
        "visceral.tool.input_hash": input_hash("f", {"id": "c-1"}),
        "visceral.tool.hash_v": 1,
        **sealed("visceral.input", '{"id":"c-1"}'),
        **sealed("visceral.output", '{"n":12345}'),
    }
    (call,) = Extractor(ExtractSettings()).calls(span_of(attributes, scope="visceral"))
    assert (call.recorded_hash, call.arguments, call.content_missing) == (True, None, "encrypted")
    assert call.content_bytes == len('{"n":12345}')

    keys = ExtractSettings(workspace_keys={"k-1": KEY})
    (opened,) = Extractor(keys).calls(span_of(attributes, scope="visceral"))
    assert (opened.arguments, opened.result) == ('{"id":"c-1"}', '{"n":12345}')
    assert opened.input_hash == call.input_hash
    assert not opened.hash_disagrees


@pytest.mark.parametrize(
    ("plaintext", "mime", "arguments"),
    [
        ("Berlin", None, '{"input":"Berlin"}'),
        ('{"city": "Berlin", "days": 2}', "application/json", '{"city":"Berlin","days":2}'),
    ],
)
def test_an_undeclared_framework_tool_keeps_the_frameworks_own_rendering(
    call_of: Callable[..., ToolCall], plaintext: str, mime: str | None, arguments: str
) -> None:
    attributes = {
        "openinference.span.kind": "TOOL",
        "tool.name": "get_weather",
        "input.mime_type": mime,
        **sealed("visceral.input", plaintext),
    }
    call = call_of(
        attributes,
        ExtractSettings(workspace_keys={"k-1": KEY}),
        scope="openinference.instrumentation.langchain",
    )
    assert call.arguments == arguments
    assert not call.recorded_hash
