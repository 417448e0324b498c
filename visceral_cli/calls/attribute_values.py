"""What the value of an attribute says, also where a backend made a text of it."""

from __future__ import annotations


def flag(value: object) -> bool | None:
    """Return a boolean, also where a backend made a text of it."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def text(value: object) -> str | None:
    """Return a text that is not empty."""
    return value if isinstance(value, str) and value else None


def declared_text(value: object) -> str | None:
    """Return a text, the empty one as well: it declares that there is nothing."""
    return value if isinstance(value, str) else None


def nanoseconds(value: object) -> int | None:
    """Return a time after the epoch, also where a backend made a text of it."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 < value < 2**63 else None


def number(value: object) -> float | None:
    """Return a finite number, also where a backend made a text of it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if found - found == 0 else None
