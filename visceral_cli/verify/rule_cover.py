"""Which rule each call falls under, and how old a result may be that answers it.

As at run time the first rule of the document counts that names the tool and the identity, and the
namespace of the call or none. A rule's word that its tool only reads and may be replayed is taken
unless the traces or the settings say otherwise. Where a rule has a scope, a result passes only
between calls of one run, session, user or service.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from visceral_cli.analysis.barriers import REACHES
from visceral_cli.analysis.columns import NONE, CallColumns, Numbers
from visceral_cli.analysis.history import Codes, Places, Times
from visceral_cli.analysis.scopes import split_identities, who_of
from visceral_cli.analysis.tools import ToolFacts
from visceral_cli.contract.rule import Operation, Rule, Sharing
from visceral_cli.settings import Settings
from visceral_cli.store.database import run_file
from visceral_cli.verify.outcome import Outcome

OUTCOMES = tuple(Outcome)
"""Outcomes by the code that stands for them in columns."""

CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}

_SCOPES = tuple(Sharing)
_ALL = _SCOPES.index(Sharing.ALL)

LONGEST_NS = 30 * 86_400 * 1_000_000_000
"""Thirty days: the runtime keeps nothing longer."""


class Cover(msgspec.Struct, frozen=True):
    """Every call under the rules; position i of a column is ``call_key`` i."""

    rules: tuple[Rule, ...]
    rule: Codes
    """The place of the rule that matches the call by its identity; `NONE` without one."""
    decided_by: Codes
    """The place of the rule that answered the call when it was recorded; `NONE` if not known."""
    allowed: dict[tuple[int, int], int | Outcome]
    """By place of the rule and tool code: the freshness in nanoseconds, or why there is none."""
    within: Numbers
    """Calls of one question share results only where this is equal: who asked, as far as the scope
    of the rule minds; 0 where it does not."""
    question: Codes
    """The identity, whoever asks."""

    def freshness_ns(self, place: int, tool: int) -> int:
        """Return how old a result may be; 0 where none may be served."""
        allowed = self.allowed.get((place, tool))
        return allowed if isinstance(allowed, int) else 0

    def reach(self, rows: Places) -> Codes:
        """Return how far writes of other runs reach each call, as a place in `REACHES`.

        By the rule that answered it when it was recorded, else by the one that matches.
        """
        of_rule = np.array([*map(_reach, self.rules), REACHES.index(Sharing.ALL)], np.int32)
        place = np.where(self.decided_by[rows] >= 0, self.decided_by[rows], self.rule[rows])
        return of_rule[place]


def cover_calls(
    store: duckdb.DuckDBPyConnection,
    calls: CallColumns,
    rules: Sequence[Rule],
    settings: Settings,
) -> Cover:
    """Return the calls under the rules, which must be usable by clients."""
    store.register("_rule", _table(rules))
    run_file(store, "visceral_cli.verify", "rule_cover.sql")
    rule = _filled(store, "_rule_of_call", len(calls))
    decided_by = _filled(store, "_rule_of_serve", len(calls))
    store.unregister("_rule")
    decided_by = np.where((decided_by < 0) & calls.verified, rule, decided_by).astype(np.int32)
    pairs = set()
    for column in (rule, decided_by):
        rows = np.flatnonzero(column >= 0)
        pairs |= set(zip(column[rows].tolist(), calls.tool[rows].tolist(), strict=True))
    cap = settings.freshness.max_freshness_seconds
    allowed = {
        (place, tool): allowed_freshness(rules[place], calls.tools[tool], cap)
        for place, tool in pairs
    }
    within = _within(calls, rules, np.where(decided_by >= 0, decided_by, rule))
    return Cover(tuple(rules), rule, decided_by, allowed, within, calls.identity)


def split_by_cover(calls: CallColumns, cover: Cover) -> CallColumns:
    """Return the calls with identities that are equal only within the scope of their rule."""
    return split_identities(calls, cover.within)


def _within(calls: CallColumns, rules: Sequence[Rule], place: Codes) -> Numbers:
    """Return who asked; a call whose user or session is not known shares with its run only."""
    within = np.zeros(len(calls), np.int64)
    scopes = np.array(
        [_SCOPES.index(rule.match.scope or Sharing.ALL) for rule in rules] + [_ALL], np.int64
    )[place]
    if (scopes == _ALL).all():
        return within
    who = who_of(calls)
    for nth, scope in enumerate(_SCOPES):
        rows = np.flatnonzero(scopes == nth)
        if scope is not Sharing.ALL and len(rows):
            within[rows] = who.of(rows).within(scope) + 1
    return within


def allowed_freshness(rule: Rule, facts: ToolFacts, cap_seconds: float | None) -> int | Outcome:
    """Return the freshness in nanoseconds, or why nothing may be served.

    ``cap_seconds`` also stands in for a rule that names no freshness.
    """
    if facts.writer:
        return Outcome.NOT_READ_ONLY
    if facts.replay_safe is False:
        return Outcome.NOT_REPLAY_SAFE
    named = rule.action.freshness_seconds
    if named is None and cap_seconds is None:
        return Outcome.NO_FRESHNESS
    seconds = min(
        limit for limit in (named, cap_seconds, facts.freshness_cap_seconds) if limit is not None
    )
    return max(0, min(int(min(seconds, 1e9) * 1e9), LONGEST_NS))


def _reach(rule: Rule) -> int:
    return REACHES.index(rule.action.writers or rule.match.scope or Sharing.ALL)


def reuses(rule: Rule) -> bool:
    """Return whether the rule matches by identity; others match by a system prompt."""
    return rule.action.op == Operation.REUSE_CACHED_RESULT


def allowed_column(cover: Cover, calls: CallColumns) -> tuple[Times, NDArray[np.int16]]:
    """Return by call the greatest age that may answer it, and why no age may.

    The second is the place in `Outcome` of the reason; either is `NONE` where it does not apply.
    """
    freshness = np.full(len(calls), NONE, np.int64)
    reason = np.full(len(calls), NONE, np.int16)
    rows = np.flatnonzero(cover.rule >= 0)
    pairs, place = np.unique(
        cover.rule[rows].astype(np.int64) * len(calls.tools) + calls.tool[rows],
        return_inverse=True,
    )
    allowed = [cover.allowed[divmod(pair, len(calls.tools))] for pair in pairs.tolist()]
    ages = np.array([a if not isinstance(a, Outcome) else NONE for a in allowed], np.int64)
    reasons = np.array([CODE[a] if isinstance(a, Outcome) else NONE for a in allowed], np.int16)
    freshness[rows], reason[rows] = ages[place], reasons[place]
    return freshness, reason


def _table(rules: Sequence[Rule]) -> pa.Table:
    """Return one row for each rule and namespace that it was proven in."""
    rows = [
        (place, rule, namespace)
        for place, rule in enumerate(rules)
        for namespace in rule.match.proven_in
    ]
    return pa.table(
        {
            "place": pa.array([place for place, _, _ in rows], pa.int32()),
            "decision_id": pa.array([rule.decision_id for _, rule, _ in rows], pa.string()),
            "namespace": pa.array([namespace for _, _, namespace in rows], pa.string()),
            "tool": pa.array([rule.match.tool_name for _, rule, _ in rows], pa.string()),
            "input_hash": pa.array(
                [rule.match.input_hash if reuses(rule) else None for _, rule, _ in rows],
                pa.string(),
            ),
            "hash_v": pa.array([rule.match.hash_v for _, rule, _ in rows], pa.int32()),
        }
    )


def _filled(store: duckdb.DuckDBPyConnection, view: str, count: int) -> Codes:
    found = store.table(view).to_arrow_table()
    column = np.full(count, NONE, np.int32)
    column[found.column("call_key").to_numpy()] = found.column("place").to_numpy()
    return column
