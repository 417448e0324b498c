"""Counts, times, shares and money as people read them; no locale, the same on every machine."""

from __future__ import annotations

import math

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))
_SHORT_DURATION = 4
"""Characters up to which an exact duration reads well, such as ``1.5s`` or ``120m``."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 call`` or ``1,284 calls``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def seconds_text(seconds: float) -> str:
    """Return a time with three digits or so: ``340 ms``, ``81.9 s``, ``12.4 min``, ``3.1 h``."""
    if not math.isfinite(seconds):
        return "-"
    if seconds < 0.0005:
        return "0 s"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    if seconds < 599.5:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    if seconds < 172800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:,.1f} days"


def duration_text(seconds: float) -> str:
    """Return a duration as an option takes it: ``10m``, ``90s``, ``1.5s``; exact."""
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.10g}s"


def freshness_text(seconds: float) -> str:
    """Return a freshness for reading: ``10m`` where it is round, else rounded down: ``29.8s``.

    What is shown is never longer than what is meant, and an option takes it.
    """
    exact = duration_text(seconds)
    if len(exact) <= _SHORT_DURATION or seconds <= 0:
        return exact
    size, unit = next(((s, u) for s, u in _UNITS if seconds >= 2 * s), (1, "s"))
    step = 10.0 ** (math.floor(math.log10(seconds / size)) - 2)
    return f"{math.floor(seconds / size / step + 1e-9) * step:.10g}{unit}"


def age_text(seconds: float) -> str:
    """Return an age with its two largest units: ``4m 12s``, ``2h 5m``, ``3d 1h``."""
    if seconds < 60:
        return seconds_text(seconds)
    whole = round(seconds)
    parts: list[str] = []
    for size, unit in (*_UNITS, (1, "s")):
        count, whole = divmod(whole, size)
        if count or parts:
            parts.append(f"{count}{unit}")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not part.startswith("0"))


def share_text(part: float, whole: float, *, digits: int = 1) -> str:
    """Return ``22.8%``; what is neither nothing nor everything never looks like it."""
    if whole <= 0:
        return "0%"
    percent, step = 100 * part / whole, 10.0**-digits
    if 0 < percent < step / 2:
        return f"<{step:.{digits}f}%"
    if 100 - step / 2 <= percent < 100:
        return f">{100 - step:.{digits}f}%"
    return f"{percent:.{digits}f}".removesuffix(".0") + "%"


def rate_text(rate: float) -> str:
    """Return a rate as an option takes it, rounded up to three digits: ``1%``, ``3.38%``."""
    percent = 100 * rate
    digits = 1 if percent >= 10 else 2
    step = 10.0**-digits
    rounded = round(percent, digits)
    if rounded < percent - 1e-9:
        rounded += step
    text = f"{rounded:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def money_text(usd: float) -> str:
    """Return ``$0.42``, or ``$0.0042`` where cents would say nothing."""
    if 0 < usd < 0.1:
        return f"${usd:.2g}" if usd >= 0.0001 else "<$0.0001"
    return f"${usd:,.2f}"


def bytes_text(count: int) -> str:
    """Return ``812 B``, ``1.4 MB``: thousands, as disks count."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"
    return f"{size / 1000:,.1f} TB"


def listed(counts: dict[str, int], *, most: int | None = None) -> str:
    """Return ``jsonl 3, proto 1``: most first, then by name; ``most`` of them at most."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{name} {count:,}" for name, count in ordered[:most]]
    if len(shown) < len(ordered):
        shown.append(f"{len(ordered) - len(shown)} more")
    return ", ".join(shown)
