"""Which serves become verify samples, and how many of them are enough."""

from __future__ import annotations

import hashlib
import math


def is_drawn(rate: float, decision_id: str, trace_id: str, span_id: str, position: int = 0) -> bool:
    """Return whether a serve is among the share ``rate`` of all.

    Drawn by hash, so that the same serve is drawn every time, at every order of the input, and a
    larger rate only adds serves.
    """
    if rate >= 1:
        return True
    return draw_number(decision_id, trace_id, span_id, position) < rate * 2**64


def draw_number(decision_id: str, trace_id: str, span_id: str, position: int = 0) -> int:
    """Return the number below 2**64 that a serve is drawn by."""
    text = "\x1f".join((decision_id, trace_id, span_id, str(position)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])


def samples_to_notice(true_rate: float, promised_rate: float, delta: float) -> int:
    """Return about how many verify samples it takes to find a rule broken, on average.

    ``ln(1 / delta) / KL(true, promised)``: by Wald (1945) no test that wrongly rejects with a
    chance of at most ``delta`` needs fewer.

    Raises `ValueError` unless ``0 < promised_rate < true_rate <= 1``.
    """
    if not 0 < promised_rate < true_rate <= 1:
        raise ValueError("the true rate must be above the promised one")
    divergence = true_rate * math.log(true_rate / promised_rate)
    if true_rate < 1:
        divergence += (1 - true_rate) * (math.log1p(-true_rate) - math.log1p(-promised_rate))
    return max(1, round(math.log(1 / delta) / divergence))


def verify_rate(samples: int, serves_per_day: float, days: float) -> float:
    """Return the share of serves to verify for so many samples within ``days``: 1 % to 100 %."""
    if serves_per_day <= 0 or days <= 0:
        return 1.0
    return min(1.0, max(0.01, samples / (serves_per_day * days)))
