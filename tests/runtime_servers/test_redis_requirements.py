"""The requirements of a cache of tool results, over a Redis server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli.runtime.stores.open_store import open_store as open_any

pytest.importorskip("redis", reason="redis client not installed")

_REQUIREMENTS = sys.modules["runtime_servers_conftest"].load("cache_requirements")
globals().update(
    (name, value)
    for name, value in vars(_REQUIREMENTS).items()
    if name.startswith("test_") or name in ("cache", "new_cache")
)


@pytest.fixture
def place(redis_url: str) -> str:
    return redis_url


@pytest.fixture
def open_store(place: str) -> Callable[..., Any]:
    def open_it(**options: Any) -> Any:
        return open_any(place, **options)

    store = open_any(place)
    store.discard()
    store.close()
    return open_it
