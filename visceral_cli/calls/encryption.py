"""Sections that the Visceral SDK encrypted: ``visceral.input.*`` and ``visceral.output.*``.

AES-256-GCM with a 12-byte nonce and a 16-byte tag, no associated data; ciphertext, nonce (``iv``)
and tag are three standard-base64 texts beside an optional ``key_id``, which is not authenticated.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from visceral_cli.contract import attributes as names
from visceral_cli.errors import UsageError


class Section(NamedTuple):
    """One encrypted section of a span, decoded but not opened."""

    ciphertext: bytes
    """As long as the plaintext: the mode adds no padding."""
    nonce: bytes
    tag: bytes
    key_id: str | None


@cache
def section_keys(prefix: str) -> tuple[str, str, str]:
    """Return under which attributes ciphertext, nonce and tag of a section stand."""
    ciphertext, nonce, tag = (
        f"{prefix}.{part}"
        for part in (names.SECTION_CIPHERTEXT, names.SECTION_IV, names.SECTION_TAG)
    )
    return ciphertext, nonce, tag


def section_of(attributes: Mapping[str, object], prefix: str) -> Section | None:
    """Return the section under ``prefix`` (``visceral.input``), or ``None`` if it is not whole."""
    texts = [attributes.get(key) for key in section_keys(prefix)]
    try:
        ciphertext, nonce, tag = (
            base64.b64decode(text, validate=True) for text in texts if isinstance(text, str)
        )
    except (ValueError, binascii.Error):  # also for fewer than three texts
        return None
    if len(nonce) != 12 or len(tag) != 16:
        return None
    key_id = attributes.get(f"{prefix}.{names.SECTION_KEY_ID}")
    return Section(ciphertext, nonce, tag, key_id if isinstance(key_id, str) and key_id else None)


def sealed_length(ciphertext: object, nonce: object, tag: object) -> int | None:
    """Return how long the plaintext of a section is, without decoding its three texts.

    ``None`` where the section is not whole, as far as their lengths tell.
    """
    if not isinstance(ciphertext, str) or not isinstance(nonce, str) or not isinstance(tag, str):
        return None
    if len(ciphertext) % 4 or _decoded_length(nonce) != 12 or _decoded_length(tag) != 16:
        return None
    return _decoded_length(ciphertext)


def _decoded_length(base64_text: str) -> int:
    padding = 2 if base64_text.endswith("==") else base64_text.endswith("=")
    return len(base64_text) // 4 * 3 - padding


class SectionOpener:
    """Opens sections with the workspace keys of the user."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """``keys`` are 32 bytes by key id; the one under ``""`` is for sections without an id.

        If it is the only one, it is for all. Raises `UsageError` for a key of another length.
        """
        for key_id, key in keys.items():
            if len(key) != 32:
                raise UsageError(f"workspace key {key_id!r}: {len(key)} bytes, must be 32")
        self._keys = keys
        self._proven: set[bytes] = set()  # keys that have opened a section: right ones

    @property
    def has_keys(self) -> bool:
        """Whether any key was given."""
        return bool(self._keys)

    def open(self, section: Section) -> str | None:
        """Return the plaintext of a section, or ``None`` if the section is damaged.

        Raises `UsageError` if no key was given for its key id, or if the key is wrong. A key that
        has opened a section before is right, so that a later failure is the section's.
        """
        key = self._key_for(section)
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - slow to import, seldom needed
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        try:
            plain = AESGCM(key).decrypt(section.nonce, section.ciphertext + section.tag, None)
            text = plain.decode("utf-8")
        except InvalidTag:
            if key in self._proven:
                return None
            shown = section.key_id or "without id"
            raise UsageError(
                f"the workspace key does not open the captured sections of key {shown}",
                hint="give the key of the workspace that recorded these spans",
            ) from None
        except UnicodeDecodeError:
            return None
        self._proven.add(key)
        return text

    def _key_for(self, section: Section) -> bytes:
        name = section.key_id or ""
        if name not in self._keys and set(self._keys) == {""}:
            name = ""
        if name not in self._keys and not section.key_id and len(self._keys) == 1:
            name = next(iter(self._keys))
        if name not in self._keys:
            wanted = f"key id {section.key_id!r}" if section.key_id else "a key without id"
            given = ", ".join(sorted(repr(key_id) for key_id in self._keys))
            raise UsageError(
                f"captured sections need the workspace key of {wanted}, given: {given}",
                hint="give each key with its id",
            )
        return self._keys[name]
