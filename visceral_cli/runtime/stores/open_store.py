"""A path or URL → the store it names."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, cast

from visceral_cli.runtime.stores.result_store import ResultStore
from visceral_cli.runtime.stores.sqlite import SqliteStore

_BY_SCHEME = {
    "redis": ("redis_store", "RedisStore"),
    "rediss": ("redis_store", "RedisStore"),
    "valkey": ("redis_store", "RedisStore"),
    "unix": ("redis_store", "RedisStore"),
    "postgresql": ("postgres_store", "PostgresStore"),
    "postgres": ("postgres_store", "PostgresStore"),
}


def open_store(place: Path | str, **options: Any) -> ResultStore:
    """Return the store of a path, ``redis://...`` or ``postgresql://...``; connects to nothing yet.

    Raises ``ImportError`` if the client of a database is not installed: the extras ``redis`` and
    ``postgres`` bring them.
    """
    scheme, separator, _ = str(place).partition("://")
    if not separator or isinstance(place, Path):
        return SqliteStore(place, **options)
    if scheme not in _BY_SCHEME:
        raise ValueError(f"{scheme}:// names no store")
    module, name = _BY_SCHEME[scheme]
    store = getattr(importlib.import_module(f"visceral_cli.runtime.stores.{module}"), name)
    return cast(ResultStore, store(str(place), **options))
