"""Who may share a result of a tool: the widest scope in which equal identities are proven equal.

Whether an answer depends on who asks cannot be seen where the spans name nobody: then a result is
shared within a session or a run only. Where they do, sharing across users is proven like a
freshness, by the serves whose stored and real call were made for different users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from visceral_cli.analysis import binomial
from visceral_cli.analysis.candidates import SECOND_NS, measure_curve
from visceral_cli.analysis.columns import NONE, CallColumns
from visceral_cli.analysis.figures import SharingFigures
from visceral_cli.analysis.histories import ToolHistory, histories
from visceral_cli.analysis.history import Codes, Flags, Places, ToolCalls, Writers
from visceral_cli.analysis.missing import what_is_missing
from visceral_cli.analysis.stale_curve import allowed_error, climb
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import FreshnessSettings, Settings
from visceral_cli.store.database import run_file

_NEAR_NS = 3600 * SECOND_NS
_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Who:
    """For whom each call was made, by row; `NONE` where it is not known."""

    user: Codes
    session: Codes


@dataclass(frozen=True, slots=True)
class ToolSharing:
    """Who may share the results of one tool."""

    scope: Sharing
    figures: SharingFigures
    longest_seconds: float | None = None
    """The greatest age at which sharing this widely is proven; ``None``: nothing limits it."""


def read_who(store: duckdb.DuckDBPyConnection, calls: int) -> Who:
    """Return what the spans say of the users and sessions of all calls."""
    run_file(store, "visceral_cli.analysis", "sharing.sql")
    user, session = np.zeros(calls, np.uint64), np.zeros(calls, np.uint64)
    for batch in store.sql("SELECT * FROM _call_who").to_arrow_reader(_BATCH_ROWS):
        rows = batch.column("call_key").to_numpy()
        user[rows] = batch.column("user_key").to_numpy()
        session[rows] = batch.column("session_key").to_numpy()
    return Who(_codes(user), _codes(session))


def _codes(keys: np.ndarray) -> Codes:
    known, codes = np.unique(keys, return_inverse=True)
    first = 1 if len(known) and known[0] == 0 else 0
    return (codes - first).astype(np.int32)


def judge_sharing(
    calls: CallColumns, who: Who, writers: Writers, settings: Settings
) -> dict[int, ToolSharing]:
    """Return who may share the results of each tool that is no writer, by tool code."""
    return {tool.code: _judge(tool, who, writers, settings) for tool in histories(calls)}


def _judge(tool: ToolHistory, who: Who, writers: Writers, settings: Settings) -> ToolSharing:
    if settings.scope == "trace":
        return _sharing(tool, Sharing.RUN, judged=True, why="asked for: --scope trace")
    if not settings.answers_depend_on_who:
        why = "said by the user: answers do not depend on who asks"
        return _sharing(tool, Sharing.ALL, judged=True, why=why)
    user, session = who.user[tool.rows], who.session[tool.rows]
    if not (user >= 0).any():
        scope = Sharing.SESSION if len(session) and (session >= 0).all() else Sharing.RUN
        why = "no span names a user, so whether users may share a result could not be judged"
        return _sharing(tool, scope, judged=False, why=why)
    return _across_users(tool, user, writers, settings.freshness)


def _across_users(
    tool: ToolHistory, user: Codes, writers: Writers, settings: FreshnessSettings
) -> ToolSharing:
    known = np.flatnonzero(user >= 0)
    calls, user = _only(tool.calls, known), user[known]
    users = len(np.unique(user))
    across = _pairs(calls, calls.identity.astype(np.int64), user, same=False)
    width = int(user.max()) + 1
    within = _pairs(calls, calls.identity.astype(np.int64) * width + user, user, same=True)
    counts = (users, *across, *within)
    delta = allowed_error(settings)
    depends = binomial.lower(*across[::-1], delta) > settings.max_stale_rate
    if depends:
        said = (
            f"answers depend on who asks: {across[1]:,} of {across[0]:,} pairs of calls of "
            f"different users differ, {within[1]:,} of {within[0]:,} of the same user"
        )
        if binomial.upper(*within[::-1], delta) <= settings.max_stale_rate:
            return _sharing(tool, Sharing.USER, judged=True, why=said, counts=counts)
    curve = measure_curve(calls, writers, settings, unlike=user)
    accepted = climb(curve, delta, settings).accepted
    if accepted is None:
        lack = what_is_missing(curve, delta, settings).missing[0].message
        why = f"sharing between users is not proven: {lack}"
        return _sharing(tool, Sharing.USER, judged=True, why=why, counts=counts)
    why = (
        f"{accepted.counted_serves:,} results of other users compared, "
        f"{accepted.counted_stale:,} stale"
    )
    found = _sharing(tool, Sharing.ALL, judged=True, why=why, counts=counts)
    return replace(found, longest_seconds=accepted.freshness_seconds)


def _only(calls: ToolCalls, rows: Places) -> ToolCalls:
    return replace(
        calls,
        start_ns=calls.start_ns[rows],
        end_ns=calls.end_ns[rows],
        identity=calls.identity[rows],
        run=calls.run[rows],
        content=calls.content[rows],
        host=None if calls.host is None else calls.host[rows],
    )


def _pairs(calls: ToolCalls, key: Places, user: Codes, *, same: bool) -> tuple[int, int]:
    """Return how many consecutive calls of a key, at most an hour apart, differ in the result.

    The number of pairs of the same user, or of different ones, and of those that differ.
    """
    known = np.flatnonzero((calls.identity >= 0) & (calls.content >= 0))
    order = known[np.argsort(key[known], kind="stable")]
    earlier, later = order[:-1], order[1:]
    fit: Flags = (key[earlier] == key[later]) & ((user[earlier] == user[later]) == same)
    fit &= calls.start_ns[later] - calls.start_ns[earlier] <= _NEAR_NS
    differs = calls.content[earlier] != calls.content[later]
    return int(np.count_nonzero(fit)), int(np.count_nonzero(fit & differs))


def _sharing(
    tool: ToolHistory,
    scope: Sharing,
    *,
    judged: bool,
    why: str,
    counts: Sequence[int] = (0, 0, 0, 0, 0),
) -> ToolSharing:
    users, pairs, differing, own_pairs, own_differing = counts
    name = tool.facts.name
    return ToolSharing(
        scope,
        SharingFigures(
            namespace=name.namespace,
            tool=name.tool,
            kind=name.kind,
            scope=scope.value,
            judged=judged,
            why=why,
            users=users,
            pairs_of_users=pairs,
            differing_of_users=differing,
            pairs_of_one_user=own_pairs,
            differing_of_one_user=own_differing,
        ),
    )


def split_by_scope(calls: CallColumns, who: Who, sharing: dict[int, ToolSharing]) -> CallColumns:
    """Return the calls with identities that are equal only within the scope of their tool.

    A call whose user or session is not known shares with its own run only.
    """
    runs = calls.run.astype(np.int64)
    within = np.zeros(len(calls), np.int64)  # 0: shared by all
    width = int(max(who.user.max(initial=0), who.session.max(initial=0))) + 2
    for scope, of in (
        (Sharing.USER, who.user),
        (Sharing.SESSION, who.session),
        (Sharing.RUN, None),
    ):
        tools = [code for code, found in sharing.items() if found.scope is scope]
        chosen = np.isin(calls.tool, tools)
        by_run = width + runs
        place = by_run if of is None else np.where(of >= 0, 1 + of.astype(np.int64), by_run)
        within[chosen] = place[chosen]
    if not within.any():
        return calls
    width += calls.runs + 1
    known = np.flatnonzero(calls.identity >= 0)
    split, codes = np.unique(
        calls.identity[known].astype(np.int64) * width + within[known], return_inverse=True
    )
    identity = np.full(len(calls), NONE, np.int32)
    identity[known] = codes
    starts = np.searchsorted(split // width, calls.identity_starts).astype(np.int64)
    return replace(calls, identity=identity, identity_starts=starts)


def scoped_histories(
    calls: CallColumns, split: CallColumns, sharing: dict[int, ToolSharing]
) -> list[ToolHistory]:
    """Return the history of every tool within its scope.

    ``split`` are ``calls`` with the identities of `split_by_scope`.
    """
    return [_limited(calls, tool, sharing[tool.code]) for tool in histories(split)]


def _limited(calls: CallColumns, tool: ToolHistory, sharing: ToolSharing) -> ToolHistory:
    cap = tool.calls.declared_freshness_seconds
    if sharing.longest_seconds is not None:
        cap = min(sharing.longest_seconds, cap) if cap is not None else sharing.longest_seconds
    question = None if sharing.scope is Sharing.ALL else calls.identity[tool.rows]
    limited = replace(tool.calls, declared_freshness_seconds=cap, question=question)
    return replace(tool, calls=limited)
