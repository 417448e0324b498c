"""The recorded results that a store may begin with: of each rule the newest, if it may be served.

A result is left out on any doubt. All calls of the store count, also those that an analysis of
some tools or some time leaves out: they may be newer, or write.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import duckdb
import msgspec
import pyarrow as pa

from visceral_cli.contract.attributes import USER_ID
from visceral_cli.contract.identity import ContentHash, InputHash, content_hash
from visceral_cli.contract.narrowing import voids
from visceral_cli.contract.rule import Rule, Sharing
from visceral_cli.contract.seed import NotSeeded, Seed
from visceral_cli.loading.narrow import widen, writer_names
from visceral_cli.settings import Settings
from visceral_cli.store.database import run_file

_NANO = 1_000_000_000
_EXACT = "visceral"
"""The convention whose spans hold a result as the tool returned it."""

_OF_ONE_USER = frozenset({Sharing.USER, Sharing.SESSION})


class ChosenSeeds(msgspec.Struct):
    """What may go into a store of results, and what was left out, counted by tool and reason."""

    seeds: list[Seed] = msgspec.field(default_factory=list)
    left_out: Counter[tuple[str, NotSeeded]] = msgspec.field(default_factory=Counter)


class _Newest(NamedTuple):
    """A row of ``_seed_newest``."""

    place: int
    call_key: int
    agent_id: str | None
    namespace: str
    service: str | None
    trace_id: str
    declared_run: str | None
    for_user: str | None
    for_session: str | None
    user_id: str | None
    session: str | None
    version: str | None
    start_ns: int | None
    end_ns: int | None
    freshness_override: float | None
    content_hash: str | None
    text: str | None
    result_order: str | None
    convention: str
    is_as_recorded: bool


def choose_seeds(
    store: duckdb.DuckDBPyConnection, rules: Sequence[Rule], settings: Settings
) -> ChosenSeeds:
    """Return the newest result under each rule, one for each user or session where it says so.

    The store may be narrowed; afterwards it is not any more.
    """
    chosen = ChosenSeeds()
    asked: list[Rule] = []
    for rule in rules:
        refusal = _refuse_scope(rule, settings)
        if refusal is None:
            asked.append(rule)
        else:
            chosen.left_out[rule.match.tool_name, refusal] += 1
    if not asked:
        return chosen
    widen(store)
    _look(store, asked, settings)
    voided_by: defaultdict[tuple[int, int], list[str | None]] = defaultdict(list)
    for place, key, invalidates in store.execute("SELECT * FROM _seed_voided_by").fetchall():
        voided_by[place, key].append(invalidates)
    found: set[int] = set()
    for row in store.execute("SELECT * FROM _seed_newest ORDER BY place, call_key").fetchall():
        newest = _Newest(*row)
        rule = asked[newest.place]
        found.add(newest.place)
        seed = _seed(rule, newest, voided_by[newest.place, newest.call_key])
        if isinstance(seed, Seed):
            chosen.seeds.append(seed)
        else:
            chosen.left_out[rule.match.tool_name, seed] += 1
    for place, rule in enumerate(asked):
        if place not in found:
            chosen.left_out[rule.match.tool_name, NotSeeded.NO_CALL] += 1
    store.unregister("_seed_rule")
    store.unregister("_seed_writer")
    return chosen


def _refuse_scope(rule: Rule, settings: Settings) -> NotSeeded | None:
    if rule.match.scope is Sharing.RUN:
        return NotSeeded.ONE_RUN
    named = settings.extract.principal_attribute not in (None, USER_ID)
    if rule.match.scope in _OF_ONE_USER and named:
        return NotSeeded.OTHER_PRINCIPAL
    return None


def _look(store: duckdb.DuckDBPyConnection, rules: Sequence[Rule], settings: Settings) -> None:
    places = [
        (place, namespace or None, rule)
        for place, rule in enumerate(rules)
        for namespace in rule.match.proven_in
    ]
    matches = [rule.match for _, _, rule in places]
    columns = {
        "place": pa.array([place for place, _, _ in places], pa.int32()),
        "namespace": pa.array([namespace for _, namespace, _ in places], pa.string()),
        "tool": pa.array([match.tool_name for match in matches], pa.string()),
        "input_hash": pa.array([match.input_hash for match in matches], pa.string()),
        "hash_v": pa.array([match.hash_v for match in matches], pa.int32()),
        "by_user": pa.array([match.scope in _OF_ONE_USER for match in matches], pa.bool_()),
        "by_session": pa.array([match.scope is Sharing.SESSION for match in matches], pa.bool_()),
        "only_own_writers": pa.array(
            [rule.action.writers is Sharing.RUN for _, _, rule in places], pa.bool_()
        ),
    }
    store.register("_seed_rule", pa.table(columns))
    writers = pa.array(writer_names(store, settings), pa.string())
    store.register("_seed_writer", pa.table({"tool": writers}))
    run_file(store, "visceral_cli.rules", "seeds.sql")


def _seed(rule: Rule, newest: _Newest, voided_by: Sequence[str | None]) -> Seed | NotSeeded:
    tool, scope = rule.match.tool_name, rule.match.scope or Sharing.ALL
    if newest.start_ns is None or newest.end_ns is None:
        return NotSeeded.NO_TIME
    if newest.agent_id is None or not _is_for(newest, scope):
        return NotSeeded.NOBODY
    if any(voids(invalidates, tool) for invalidates in voided_by):
        return NotSeeded.WRITER
    if newest.text is None or newest.content_hash is None:
        return NotSeeded.NO_RESULT
    if not _is_exact(newest, newest.text):
        return NotSeeded.NOT_EXACT
    assert rule.match.input_hash is not None
    return Seed(
        tool=tool,
        namespace=newest.agent_id,
        version=newest.version,
        input_hash=InputHash(rule.match.input_hash),
        scope=scope,
        user=newest.user_id,
        session=newest.session,
        canonical=newest.text,
        content=ContentHash(newest.content_hash),
        order=newest.result_order,
        start_ns=newest.start_ns,
        end_ns=newest.end_ns,
        freshness_ns=_freshness_ns(rule, newest),
    )


def _is_for(newest: _Newest, scope: Sharing) -> bool:
    """Whether its own span says for whom it was made, as far as that matters."""
    if scope is Sharing.SERVICE:
        return newest.service == newest.agent_id
    if scope is Sharing.USER:
        return newest.for_user is not None and newest.user_id == newest.for_user
    if scope is Sharing.SESSION:
        ours, told = (newest.user_id, newest.session), (newest.for_user, newest.for_session)
        return newest.for_session is not None and ours == told
    return True


def _is_exact(newest: _Newest, text: str) -> bool:
    exact = newest.convention == _EXACT and newest.is_as_recorded
    # a text under the hash of another one: parts of it do not count when results are compared
    return exact and content_hash(text) == newest.content_hash


def _freshness_ns(rule: Rule, newest: _Newest) -> int:
    seconds = rule.action.freshness_seconds or 0.0
    if newest.freshness_override is not None:
        seconds = min(seconds, newest.freshness_override)
    return int(min(seconds, 1e9) * _NANO)
