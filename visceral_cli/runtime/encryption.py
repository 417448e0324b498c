"""AES-256-GCM: sections of spans as the Visceral SDK writes them, and results at rest.

A section is ciphertext, IV and tag in standard base64, made with a 32-byte key, a random 12-byte
IV, a 16-byte tag and no associated data. A result at rest is bound to its key in the store as
associated data, so that it cannot be moved to another call.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass, field
from typing import Any

KEY_BYTES = 32
_IV_BYTES = 12
_TAG_BYTES = 16


class SealBroken(ValueError):
    """It was not encrypted with this key, or was changed since."""


@dataclass(frozen=True, slots=True)
class Section:
    """What one encrypted text looks like on a span."""

    ciphertext: str
    iv: str
    tag: str


@dataclass(frozen=True, slots=True)
class Key:
    """A capture key; its bytes are in no representation."""

    secret: bytes = field(repr=False)
    key_id: str | None = None
    """The version of the key that spans name; ``None``: they name none."""
    _cipher: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # cryptography costs 30 ms to load, which an agent without a key does not pay
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        if len(self.secret) != KEY_BYTES:
            raise ValueError("a key has 32 bytes")
        object.__setattr__(self, "_cipher", AESGCM(self.secret))

    def section(self, text: str, *, iv: bytes | None = None) -> Section:
        """Return the text encrypted for a span; ``iv`` only for test vectors."""
        iv = os.urandom(_IV_BYTES) if iv is None else iv
        sealed = self._cipher.encrypt(iv, text.encode("utf-8", "surrogatepass"), None)
        return Section(
            ciphertext=_base64(sealed[:-_TAG_BYTES]),
            iv=_base64(iv),
            tag=_base64(sealed[-_TAG_BYTES:]),
        )

    def seal(self, text: str, *, place: str) -> str:
        """Return the text encrypted for the place it is kept at."""
        iv = os.urandom(_IV_BYTES)
        return _base64(iv + self._cipher.encrypt(iv, text.encode("utf-8"), place.encode("utf-8")))

    def unseal(self, sealed: str, *, place: str) -> str:
        """Return the text; raises `SealBroken` for any other key, place or bytes."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        try:
            raw = base64.b64decode(sealed, validate=True)
            plain: bytes = self._cipher.decrypt(raw[:_IV_BYTES], raw[_IV_BYTES:], place.encode())
            return plain.decode("utf-8")
        except (InvalidTag, ValueError, binascii.Error):
            raise SealBroken("not encrypted with this key") from None


def parse_key(text: str) -> tuple[bytes, str | None] | None:
    """Return key and key id of ``BASE64`` or ``KEY_ID=BASE64``; ``None`` if it is neither."""
    bare = text.strip()
    whole = _key_of(bare)
    if whole is not None:  # first, since base64 text may itself end in "="
        return whole, None
    key_id, equals, rest = bare.partition("=")
    key = _key_of(rest.strip()) if equals else None
    return None if key is None else (key, key_id.strip() or None)


def _key_of(text: str) -> bytes | None:
    standard = text.replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
