"""The runtime's environment variables; nothing else of the runtime reads the environment."""

from __future__ import annotations

import math
import os
from pathlib import Path

SERVE_TIMEOUT_SECONDS = 0.15

_OFF = frozenset({"0", "false", "no", "off"})


def serving_is_on() -> bool:
    """Whether ``VISCERAL_TOOL_APPLY`` allows serving; read at every call, so it acts at once."""
    value = os.environ.get("VISCERAL_TOOL_APPLY")
    return value is None or value.strip().lower() not in _OFF


def serve_timeout_seconds() -> float:
    """Return ``VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS``; 0.15 unless it is a number above zero."""
    value = os.environ.get("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS")
    if value is None:
        return SERVE_TIMEOUT_SECONDS
    try:
        seconds = float(value)
    except ValueError:
        return SERVE_TIMEOUT_SECONDS
    return seconds if seconds > 0 and math.isfinite(seconds) else SERVE_TIMEOUT_SECONDS


def rules_file() -> Path | None:
    """Return ``VISCERAL_RULES_FILE``."""
    return _path("VISCERAL_RULES_FILE")


def trace_file() -> Path | None:
    """Return ``VISCERAL_TRACE_FILE``."""
    return _path("VISCERAL_TRACE_FILE")


def results_store() -> str | None:
    """Return ``VISCERAL_RESULTS_STORE``: a file, ``redis://...`` or ``postgresql://...``."""
    return os.environ.get("VISCERAL_RESULTS_STORE") or None


def capture_key() -> str | None:
    """Return ``VISCERAL_CAPTURE_KEY``: ``KEY_ID=BASE64`` or base64 of 32 bytes."""
    return os.environ.get("VISCERAL_CAPTURE_KEY")


def default_store_path() -> Path:
    """Return where results are kept when nobody says: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return folder / "visceral" / "results.sqlite3"


def _path(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value) if value else None
