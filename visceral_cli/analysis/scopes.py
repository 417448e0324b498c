"""Between which calls a stored result passes in each scope: calls in, a number for each out.

The scopes lie within each other: a run within its session, a session within its user, a user
within a service, a service within all of the namespace. A call of which a scope asks what is not
known shares with its own run only.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.columns import NONE, CallColumns, Numbers, ranked
from visceral_cli.analysis.history import Codes, Flags, Places
from visceral_cli.contract.rule import Sharing

_TABLE_PER_NUMBER = 4
"""Up to so many entries for each number a table is filled sooner than the numbers are sorted."""


class Who(msgspec.Struct, frozen=True):
    """For whom and where each call was made, by row; `NONE` where a user or session is not known.

    What is known of the service is always known: calls without one are one service.
    """

    user: Codes
    session: Codes
    service: Codes
    run: Codes

    def of(self, rows: Places) -> Who:
        """Return the same for some of the calls."""
        return Who(self.user[rows], self.session[rows], self.service[rows], self.run[rows])

    def known(self, scope: Sharing) -> Flags:
        """Return where that is known which the scope asks for beside the wider ones."""
        if scope is Sharing.USER:
            return self.user >= 0
        if scope is Sharing.SESSION:
            return self.session >= 0
        return np.ones(len(self.run), np.bool_)

    def within(self, scope: Sharing) -> Numbers:
        """Return numbers from 0: equal for two calls exactly if a result may pass between them."""
        if scope is Sharing.ALL:
            return np.zeros(len(self.run), np.int64)
        service = self.service.astype(np.int64)
        if scope is Sharing.SERVICE:
            return service
        user = _paired(service, self.user)
        run = _paired(user, self.run)
        if scope is Sharing.RUN:
            return run
        wider = user if scope is Sharing.USER else _paired(user, self.session)
        return _compact(np.where(self.known(scope), 2 * wider, 2 * run + 1))


def who_of(calls: CallColumns) -> Who:
    """Return what the spans say of the users, sessions and services of all calls."""
    run = _paired(calls.run.astype(np.int64), calls.declared_run).astype(np.int32)
    return Who(calls.user, calls.session, calls.service, run)


def split_identities(calls: CallColumns, within: Numbers) -> CallColumns:
    """Return the calls with identities that are equal only where ``within`` is equal too."""
    if not within.any():
        return calls
    width = int(within.max()) + 1
    known = np.flatnonzero(calls.identity >= 0)
    key = calls.identity[known].astype(np.int64)
    key *= width
    key += within[known]
    codes, split = ranked(key)
    identity = np.full(len(calls), NONE, np.int32)
    identity[known] = codes
    starts = np.searchsorted(split // width, calls.identity_starts).astype(np.int64)
    return replace(calls, identity=identity, identity_starts=starts)


def _paired(wider: Numbers, narrower: Codes) -> Numbers:
    """Return one number for each pair, from 0; -1, not known, is a value like the others."""
    if len(narrower) == 0 or (narrower == narrower[0]).all():
        return wider
    if (wider == wider[0]).all():
        return narrower.astype(np.int64) + 1
    width = int(narrower.max()) + 2
    return _compact(wider * width + narrower + 1)


def _compact(numbers: Numbers) -> Numbers:
    """Return the rank of each number, none of them below 0, among the different ones."""
    most = int(numbers.max(initial=0))
    if most >= _TABLE_PER_NUMBER * len(numbers):
        return ranked(numbers)[0].astype(np.int64)
    is_there = np.zeros(most + 1, np.bool_)
    is_there[numbers] = True
    rank = np.cumsum(is_there, dtype=np.int32) - np.int32(1)
    return rank[numbers].astype(np.int64)
