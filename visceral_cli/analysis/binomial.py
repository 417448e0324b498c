"""Exact bounds on a share from ``x`` bad outcomes among ``n``: Clopper and Pearson (1934).

``x`` and ``n`` may be fractions, since a count of unequal observations is an effective one
(``effective``). SciPy is imported at the first bound that has no closed form, so that input
without a single stale result never pays for it.
"""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import numpy.typing as npt


def upper(x: float, n: float, delta: float) -> float:
    """Return the share that ``x`` bad outcomes of ``n`` do not exceed, at confidence 1 - delta.

    The ``p`` with ``I_p(x + 1, n - x) = 1 - delta``; 1 where nothing was seen or all was bad.
    """
    if n <= 0 or x >= n:
        return 1.0
    if x <= 0:
        return -math.expm1(math.log(delta) / n)
    return float(_special().betaincinv(x + 1, n - x, 1 - delta))


def lower(x: float, n: float, delta: float) -> float:
    """Return the share that ``x`` bad outcomes of ``n`` do exceed, at confidence 1 - delta.

    The ``p`` with ``I_p(x, n - x + 1) = delta``; 0 where nothing was bad.
    """
    if n <= 0 or x <= 0:
        return 0.0
    if x >= n:
        return math.pow(delta, 1 / n)
    return float(_special().betaincinv(x, n - x + 1, delta))


def exceeds(
    x: npt.NDArray[np.int64], n: npt.NDArray[np.int64], rate: float, delta: float
) -> npt.NDArray[np.bool_]:
    """Return where ``lower(x, n, delta) > rate``, for whole ``x <= n`` of any shape."""
    found = np.zeros(x.shape, dtype=np.bool_)
    bad = np.nonzero(x > 0)
    if not bad[0].size:
        return found
    # Few pairs of counts are distinct, and the incomplete beta function is slow.
    side = int(n.max()) + 1
    pairs, place = np.unique(x[bad].astype(np.int64) * side + n[bad], return_inverse=True)
    share_below = _special().betainc(pairs // side, pairs % side - pairs // side + 1, rate)
    found[bad] = (share_below < delta)[place]
    return found


def needed(x: float, rate: float, delta: float) -> int:
    """Return the smallest whole ``n`` with ``upper(x, n, delta) <= rate``.

    Raises ``ValueError`` unless ``0 < rate``: no number of observations proves a share of zero.
    """
    if rate <= 0:
        raise ValueError("the rate must be above 0")
    if rate >= 1:
        return 0
    below, enough = 0, 1
    while not _proves(x, enough, rate, delta):
        below, enough = enough, enough * 2
    while enough - below > 1:
        middle = (below + enough) // 2
        if _proves(x, middle, rate, delta):
            enough = middle
        else:
            below = middle
    return enough


def _proves(x: float, n: int, rate: float, delta: float) -> bool:
    """Return whether ``upper(x, n, delta) <= rate``."""
    if x == 1:  # in closed form: none or one bad outcome of n has at most the chance delta
        return (1 - rate) ** n * (1 + n * rate / (1 - rate)) <= delta
    return upper(x, n, delta) <= rate


def effective(counts: npt.ArrayLike) -> float:
    """Return how many equal observations weigh as much as these: ``(sum c)^2 / sum c^2`` (Kish).

    0 if there are none. One result that served most of the calls is hardly more than one.
    """
    values = np.asarray(counts, dtype=np.int64)
    total, squares = int(values.sum()), int((values * values).sum())
    return total * total / squares if squares else 0.0


def _special() -> ModuleType:
    import scipy.special  # noqa: PLC0415 - a quarter of a second, and often not needed

    return scipy.special  # type: ignore[no-any-return]
