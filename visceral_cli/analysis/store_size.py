"""How many other identities a store has to hold for a result to still be there.

A store of N results that drops the one used longest ago holds an identity if fewer than N others
were used since its last use (Mattson et al. 1970): whether a call is served or runs, it is a use.
So one pass over the calls tells for all sizes at once where results are lost.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.history import Codes, Places, ToolCalls

NEVER_USED = -1


def others_since_last_use(identity: Codes) -> Places:
    """Return, per call in order of time, how many other identities came since its own did.

    `NEVER_USED` for the first call of an identity. Every identity must be known.
    """
    count = len(identity)
    order = np.argsort(identity, kind="stable")
    before = np.full(count, NEVER_USED, np.int64)
    same = identity[order[1:]] == identity[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    # Of the calls since then, those whose own last use was earlier are the first of another
    # identity. All calls up to ``before`` have an earlier last use, so the rest is what is wanted.
    firsts = _earlier_and_not_greater(before) - (before + 1)
    return np.where(before == NEVER_USED, NEVER_USED, firsts)


def _earlier_and_not_greater(values: Places) -> Places:
    """Return, for each element, how many elements before it are not greater.

    Neighbouring blocks of doubling length are merged, all of one length at once.
    """
    count = len(values)
    found = np.zeros(count, np.int64)
    place = np.arange(count)
    width = int(values.max(initial=0)) + 2
    length = 1
    while length < count:
        pair = place // (2 * length)
        left = (place // length) % 2 == 0
        keys = np.sort(pair[left] * width + values[left] + 1)
        starts = np.searchsorted(keys, pair[~left] * width)
        ends = np.searchsorted(keys, pair[~left] * width + values[~left] + 1, side="right")
        found[~left] += ends - starts
        length *= 2
    return found


def forgetting(calls: ToolCalls, others: Places, size: int) -> ToolCalls:
    """Return the calls with identities that begin anew wherever a store of ``size`` lost them."""
    lost = (others == NEVER_USED) | (others >= size)
    order = np.argsort(calls.identity, kind="stable")
    anew = np.cumsum(lost[order]) - 1  # the first call of an identity always begins one
    identity = np.empty(len(order), np.int32)
    identity[order] = anew
    return replace(calls, identity=identity)
