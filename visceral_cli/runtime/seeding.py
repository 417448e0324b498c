"""Recorded results into a store of results, as the runtime would have kept them itself.

Nothing is revived: a result that a writer has overtaken in the store stays out, and so does one
that the store has as new or newer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from visceral_cli.contract.key_order import is_order_told, put_in_order
from visceral_cli.contract.seed import NotSeeded, Seed
from visceral_cli.runtime.encryption import Key
from visceral_cli.runtime.errors_in_results import is_error_result
from visceral_cli.runtime.kept_value import Written, write_value
from visceral_cli.runtime.serve import MAX_FRESHNESS_NS, make_entry, store_key
from visceral_cli.runtime.sharing import acting_for, partition_of
from visceral_cli.runtime.stores.result_store import (
    FORGOTTEN,
    Kept,
    ResultStore,
    new_token,
    written_ns,
)
from visceral_cli.runtime.writer_log import entry_scopes


@dataclass(slots=True)
class Seeding:
    """What became of the seeds; counts by tool."""

    seeded: Counter[str] = field(default_factory=Counter)
    left_out: Counter[tuple[str, NotSeeded]] = field(default_factory=Counter)
    evicted: int = 0
    """Older results that made room."""


class _LeftOut(Exception):
    def __init__(self, reason: NotSeeded) -> None:
        super().__init__(reason.value)
        self.reason = reason


def seed_results(
    store: ResultStore, seeds: Iterable[Seed], *, key: Key | None, now_ns: int
) -> Seeding:
    """Put the seeds into the store, encrypted where there is a key; older ones first.

    Raises `StoreFailed`.
    """
    done = Seeding()
    for seed in sorted(seeds, key=lambda seed: seed.start_ns):
        try:
            done.evicted += _put(store, seed, key, now_ns)
            done.seeded[seed.tool] += 1
        except _LeftOut as left:
            done.left_out[seed.tool, left.reason] += 1
    return done


def _put(store: ResultStore, seed: Seed, key: Key | None, now_ns: int) -> int:
    freshness = min(seed.freshness_ns, MAX_FRESHNESS_NS)
    if max(seed.start_ns, seed.end_ns) > now_ns:
        raise _LeftOut(NotSeeded.FUTURE)
    if now_ns - seed.start_ns > freshness:
        raise _LeftOut(NotSeeded.EXPIRED)
    written = _written(seed)
    place = _place(seed)
    scopes = entry_scopes(seed.namespace, (seed.tool,))
    kept = store.lookup(place).entry
    if kept is not None and kept.started_ns >= seed.start_ns:
        raise _LeftOut(NotSeeded.NEWER)
    owner = new_token()
    claim = store.claim(place, (*scopes, FORGOTTEN), owner)
    if not claim.granted:
        raise _LeftOut(NotSeeded.BUSY)
    try:
        generations = _not_overtaken(claim.generations, seed.start_ns)[: len(scopes)]
        entry = make_entry(
            key=place,
            namespace=seed.namespace,
            tool=seed.tool,
            version=seed.version,
            kept_text=written.kept_text(key, place=place),
            content=written.content,
            started_ns=seed.start_ns,
            stored_ns=seed.end_ns,
            freshness_ns=freshness,
            scopes=scopes,
            generations=generations,
        )
        became, evicted = store.put(entry, owner)
    except BaseException:
        store.release(place, owner)
        raise
    if became is Kept.KEPT:
        return evicted
    raise _LeftOut(_REASONS[became])


_REASONS = {
    Kept.OVERTAKEN: NotSeeded.WRITER,
    Kept.TOO_LARGE: NotSeeded.TOO_LARGE,
    Kept.OLDER: NotSeeded.NEWER,
}


def _place(seed: Seed) -> str:
    """Return where the runtime looks for it when the agent acts for the same user or session."""
    with acting_for(user=seed.user, session=seed.session):
        partition = partition_of(seed.scope)
    if partition is None:
        raise _LeftOut(NotSeeded.NOBODY)
    return store_key(seed.namespace, seed.tool, seed.input_hash, partition)


def _not_overtaken(generations: tuple[str, ...] | None, start_ns: int) -> tuple[str, ...]:
    if generations is None:
        raise _LeftOut(NotSeeded.WRITER)  # one is running
    for generation in generations:
        at_ns = written_ns(generation)
        if at_ns is not None and at_ns >= start_ns:
            raise _LeftOut(NotSeeded.WRITER)
    return generations


def _written(seed: Seed) -> Written:
    """Return the value as the tool returned it, in its two texts."""
    try:
        value = json.loads(seed.canonical)
        if seed.order is not None:
            put_in_order(value, seed.order)
        elif not is_order_told(value):
            raise _LeftOut(NotSeeded.NO_ORDER)
        written = write_value(value)
    except (ValueError, RecursionError):
        raise _LeftOut(NotSeeded.NOT_EXACT) from None
    if (written.canonical, written.content) != (seed.canonical, seed.content):
        raise _LeftOut(NotSeeded.NOT_EXACT)
    if is_error_result(value):
        raise _LeftOut(NotSeeded.FAILED)
    return written
