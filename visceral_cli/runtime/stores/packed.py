"""Entries and scopes as plain ASCII, for stores whose text cannot hold every character."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from visceral_cli.runtime.stores.result_store import Entry


def pack(entry: Entry) -> str:
    """Return the entry as a JSON list."""
    return json.dumps(entry, separators=(",", ":"))


def unpack(text: str | bytes) -> Entry | None:
    """Return the entry; ``None`` for a text that `pack` does not write."""
    try:
        *columns, scopes, generations = json.loads(text)
        return Entry._make((*columns, tuple(scopes), tuple(generations)))
    except (ValueError, TypeError, RecursionError):
        return None


def names_of(scopes: Sequence[str]) -> list[str]:
    """Return a name of hex digits for each scope."""
    return [name_of(scope) for scope in scopes]


def name_of(text: str) -> str:
    """Return 32 hex digits for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def as_list(values: Sequence[Any]) -> str:
    """Return a JSON list without spaces."""
    return json.dumps(list(values), separators=(",", ":"))
