"""Between which calls a result passes in each scope."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from visceral_cli.analysis.columns import NONE
from visceral_cli.analysis.scopes import Who
from visceral_cli.contract.rule import Sharing

CALLS = (
    # service, user, session, run
    (0, 0, 0, 0),
    (0, 0, 0, 0),
    (0, 0, 0, 1),  # another run of the session
    (0, 0, 1, 2),  # another session of the user
    (0, 1, 2, 3),  # another user
    (1, 1, 2, 4),  # the same user and session, of another service
    (0, 1, 0, 0),  # a run and session of two users
    (0, NONE, NONE, 5),
    (0, NONE, NONE, 5),
    (0, NONE, NONE, 6),
)


def who() -> Who:
    service, user, session, run = (
        np.array(column, np.int32) for column in zip(*CALLS, strict=True)
    )
    return Who(user=user, session=session, service=service, run=run)


@pytest.mark.parametrize(
    ("scope", "groups"),
    [
        (Sharing.RUN, [[0, 1], [2], [3], [4], [5], [6], [7, 8], [9]]),
        (Sharing.SESSION, [[0, 1, 2], [3], [4], [5], [6], [7, 8], [9]]),
        (Sharing.USER, [[0, 1, 2, 3], [4, 6], [5], [7, 8], [9]]),
        (Sharing.SERVICE, [[0, 1, 2, 3, 4, 6, 7, 8, 9], [5]]),
        (Sharing.ALL, [list(range(10))]),
    ],
)
def test_a_result_passes_between_calls_that_are_equal_in_all_the_scope_asks_for(scope, groups):
    within = who().within(scope)
    assert within.min() >= 0
    found = [np.flatnonzero(within == code).tolist() for code in np.unique(within)]
    assert sorted(found) == groups


def test_each_scope_lies_within_the_next_one():
    for narrower, wider in pairwise(Sharing):
        inner, outer = who().within(narrower), who().within(wider)
        for code in np.unique(inner):
            assert len(np.unique(outer[inner == code])) == 1


def test_some_of_the_calls_are_grouped_as_all_of_them_are():
    rows = np.array([0, 2, 3, 7, 9])
    for scope in Sharing:
        some, every = who().of(rows).within(scope), who().within(scope)[rows]
        assert np.array_equal(some[:, None] == some, every[:, None] == every)


def test_nobody_to_ask_is_no_error():
    nothing = np.zeros(0, np.int32)
    for scope in Sharing:
        assert len(Who(nothing, nothing, nothing, nothing).within(scope)) == 0


@pytest.mark.parametrize("apart", [1, 1000])
@pytest.mark.parametrize("scope", [Sharing.RUN, Sharing.SESSION, Sharing.USER])
def test_near_numbers_and_distant_ones_tell_the_same_calls_apart(scope, apart):
    calls = who()
    distant = Who(
        user=calls.user * np.int32(apart),
        session=np.where(calls.session < 0, NONE, calls.session * apart).astype(np.int32),
        service=calls.service,
        run=calls.run * np.int32(apart),
    )
    distant = replace(distant, user=np.where(calls.user < 0, NONE, distant.user))
    assert distant.within(scope).tolist() == calls.within(scope).tolist()
