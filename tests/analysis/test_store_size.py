"""What a store of limited size forgets, against a store that is really kept."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.analysis.history import ToolCalls
from visceral_cli.analysis.store_size import forgetting, others_since_last_use


def others(*identities: int) -> list[int]:
    return others_since_last_use(np.array(identities, np.int32)).tolist()


@pytest.mark.parametrize(
    ("identities", "expected"),
    [
        ((), []),
        ((7,), [-1]),
        ((7, 7, 7), [-1, 0, 0]),
        ((1, 2, 1), [-1, -1, 1]),
        ((1, 2, 2, 1), [-1, -1, 0, 1]),
        ((1, 2, 3, 2, 1, 1), [-1, -1, -1, 1, 2, 0]),
    ],
)
def test_others_are_counted_once_each(identities, expected):
    assert others(*identities) == expected


def kept(identities: list[int], size: int) -> list[bool]:
    """Whether a store that drops the one used longest ago still holds each call's identity."""
    store: OrderedDict[int, None] = OrderedDict()
    held = []
    for identity in identities:
        held.append(identity in store)
        store[identity] = None
        store.move_to_end(identity)
        if len(store) > size:
            store.popitem(last=False)
    return held


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(1, 8))
def test_a_result_is_there_when_fewer_others_came_than_the_store_holds(identities, size):
    found = others_since_last_use(np.array(identities, np.int32))
    assert [0 <= each < size for each in found.tolist()] == kept(identities, size)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(1, 8))
def test_what_was_lost_begins_anew(identities, size):
    place = np.arange(len(identities), dtype=np.int64)
    codes = np.array(identities, np.int32)
    calls = ToolCalls(place, place, codes, np.zeros_like(codes), codes)
    split = forgetting(calls, others_since_last_use(codes), size).identity.tolist()
    last: dict[int, int] = {}
    for identity, anew, held in zip(identities, split, kept(identities, size), strict=True):
        assert (last.get(identity) == anew) is held
        last[identity] = anew
    assert len(set(split)) == kept(identities, size).count(False)
