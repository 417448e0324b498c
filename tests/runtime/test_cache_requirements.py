"""The requirements of a cache of tool results, over a results file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.runtime.stores.sqlite import SqliteStore

pytest.register_assert_rewrite("cache_requirements")
_PLACE = Path(__file__).with_name("cache_requirements.py")
_SPEC = importlib.util.spec_from_file_location("cache_requirements", _PLACE)
assert _SPEC is not None
assert _SPEC.loader is not None
_REQUIREMENTS = importlib.util.module_from_spec(_SPEC)
sys.modules["cache_requirements"] = _REQUIREMENTS
_SPEC.loader.exec_module(_REQUIREMENTS)
globals().update(
    (name, value)
    for name, value in vars(_REQUIREMENTS).items()
    if name.startswith("test_") or name in ("cache", "new_cache")
)


@pytest.fixture
def place(folder: Path) -> str:
    return str(folder / "results" / "results.sqlite3")


@pytest.fixture
def open_store(place: str) -> Callable[..., SqliteStore]:
    def open_it(**options: Any) -> SqliteStore:
        return SqliteStore(place, **options)

    return open_it
