"""What counts as proven: by one look at the traces, or by as many looks as one likes.

Who analyses growing traces again and again until a rule is found needs more evidence than one look
does: ``anytime`` asks for it. Then a bound is the smallest rate against which the e-value of
``sequential`` has reached ``1 / delta``, and holds whenever one stops looking.
"""

from __future__ import annotations

from functools import cache

from visceral_cli.analysis import binomial
from visceral_cli.analysis.sequential import evidence_of_freshness

_STEPS = 60


def upper_bound(x: float, n: float, delta: float, *, anytime: bool) -> float:
    """Return the share that ``x`` stale of ``n`` observations do not exceed, at 1 - delta."""
    if not anytime:
        return binomial.upper(x, n, delta)
    if n <= 0 or x >= n:
        return 1.0
    low, high = binomial.upper(x, n, delta), 1.0  # one look asks for less
    if not _holds(x, n, 1 - 1e-9, delta):
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _holds(x, n, middle, delta) else (middle, high)
    return high


@cache
def observations_needed(x: float, rate: float, delta: float, *, anytime: bool) -> int:
    """Return the smallest whole number of observations that proves ``rate`` with ``x`` stale."""
    if not anytime or rate >= 1:
        return binomial.needed(x, rate, delta)
    below, enough = 0, binomial.needed(x, rate, delta)
    while not _holds(x, enough, rate, delta):
        below, enough = enough, enough * 2
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if _holds(x, middle, rate, delta) else (middle, enough)
    return enough


def _holds(x: float, n: float, rate: float, delta: float) -> bool:
    return rate >= 1 or evidence_of_freshness(x, n, rate) >= 1 / delta
