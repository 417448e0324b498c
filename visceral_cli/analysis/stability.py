"""Tools whose results differ although hardly any time has passed: no freshness will do for them."""

from __future__ import annotations

from enum import StrEnum

import msgspec
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.history import Places
from visceral_cli.analysis.lanes import Lanes
from visceral_cli.analysis.stale_curve import allowed_error
from visceral_cli.settings import FreshnessSettings

_NEAR_NS = 60 * 1_000_000_000
_MIN_PAIRS = 5


class InstabilityKind(StrEnum):
    """How the results of a tool differ."""

    ALWAYS_NEW = "always-new"
    """The output is new every time: a time, an id or a model's words are in it."""
    CHANGES_AT_ONCE = "changes-at-once"
    """The output differs even seconds apart."""


class Instability(msgspec.Struct, frozen=True):
    """How often two executions of one identity at most a minute apart differed."""

    kind: InstabilityKind
    pairs: int
    differing: int
    differing_rate_at_least: float
    """With the user's confidence, at least this share of such pairs differs."""


def find_instability(lanes: Lanes, settings: FreshnessSettings) -> Instability | None:
    """Compare consecutive executions with known results; ``None`` if they are stable enough.

    Pairs that a writer of the later call's run came between say nothing and are left out.
    """
    earlier, later = near_pairs(lanes)
    pairs = len(later)
    differing = int(np.count_nonzero(lanes.content[earlier] != lanes.content[later]))
    share = binomial.lower(differing, pairs, allowed_error(settings))
    if pairs < _MIN_PAIRS or share <= settings.max_stale_rate:
        return None
    kind = InstabilityKind.CHANGES_AT_ONCE
    if share > 0.5 and _all_distinct(lanes, np.union1d(earlier, later)):
        kind = InstabilityKind.ALWAYS_NEW
    return Instability(kind, pairs, differing, share)


def near_pairs(lanes: Lanes) -> tuple[Places, Places]:
    """Return consecutive executions with known results, at most a minute apart."""
    known = np.flatnonzero(lanes.content >= 0)
    earlier, later = known[:-1], known[1:]
    near = (lanes.lane[earlier] == lanes.lane[later]) & (lanes.voided[later] < earlier)
    near &= lanes.start_ns[later] - lanes.start_ns[earlier] <= _NEAR_NS
    return earlier[near], later[near]


def _all_distinct(lanes: Lanes, place: np.ndarray) -> bool:
    """Return whether no lane gave one result twice."""
    width = int(lanes.content[place].max()) + 1
    outputs = lanes.lane[place].astype(np.int64) * width + lanes.content[place]
    return len(np.unique(outputs)) == len(place)
