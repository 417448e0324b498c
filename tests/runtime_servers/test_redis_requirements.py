"""The requirements of a cache of tool results, over a Redis server."""

from __future__ import annotations

import sys

import pytest

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
