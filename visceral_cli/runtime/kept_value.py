"""A result as it is kept: JSON text in insertion order, beside the hash of its canonical text.

Reading gives an equal value that renders the same, a fresh one each time; or it refuses.
"""

from __future__ import annotations

import json
from json.decoder import JSONDecoder
from typing import Any, NamedTuple

from visceral_cli.contract.identity import ContentHash, content_hash, faithful_json
from visceral_cli.runtime.encryption import Key, SealBroken
from visceral_cli.runtime.stores.result_store import Entry, checksum

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = JSONDecoder().raw_decode  # without the search for white space, which we never write


class Unreadable(ValueError):
    """What is kept is not what was stored: changed, cut, or of another key."""


class Written(NamedTuple):
    """A result in its two texts."""

    canonical: str
    content: ContentHash
    value: Any

    def kept_text(self, key: Key | None, *, place: str) -> str:
        """Return what the store keeps: JSON in insertion order, encrypted where there is a key."""
        text = _encode(self.value)
        return text if key is None else key.seal(text, place=place)


def write_value(value: object) -> Written:
    """Return the texts of a result; raises `NotCanonical` if JSON would not give it back."""
    canonical = faithful_json(value)
    return Written(canonical, content_hash(canonical), value)


def read_text(text: str) -> Any:
    """Return a fresh value of what `Written.kept_text` wrote in clear."""
    return json.loads(text)


def read_entry(entry: Entry, key: Key | None) -> Any:
    """Return the value of a kept result, a fresh one each time.

    Raises `Unreadable` unless value, content hash and key of the entry are those that were put
    together. With a capture key, results in clear text are refused as well: not from this program.
    """
    check = checksum(key=entry.key, value=entry.value, content_hash=entry.content_hash)
    if check != entry.check:
        raise Unreadable("another content hash")
    try:
        text = entry.value if key is None else key.unseal(entry.value, place=entry.key)
        value, end = _decode(text)
    except SealBroken:
        raise Unreadable("not of this key") from None
    except (ValueError, RecursionError):
        raise Unreadable("not JSON") from None
    if end != len(text):
        raise Unreadable("not JSON")
    return value
