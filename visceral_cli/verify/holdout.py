"""The later part of the calls, held out from what rules are derived from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import duckdb

from visceral_cli.errors import InputError
from visceral_cli.loading.narrow import narrow
from visceral_cli.settings import Settings


def holdout_start_ns(store: duckdb.DuckDBPyConnection, settings: Settings, share: float) -> int:
    """Return when the later ``share`` of the chosen calls begins.

    Calls that begin at one moment stay together, in the later part.

    Raises:
        InputError: one of the two parts would be empty.
    """
    narrow(store, settings)
    starts = [
        start
        for (start,) in store.execute(
            "SELECT start_ns FROM tool_call WHERE start_ns IS NOT NULL ORDER BY call_key"
        ).fetchall()
    ]
    _widen(store)
    earlier = len(starts) - round(share * len(starts))
    if not 0 < earlier < len(starts) or starts[0] == starts[earlier]:
        raise InputError(
            f"--holdout: {len(starts):,} calls cannot be parted in an earlier and a later part",
            hint="hold out another share, or give more traces",
        )
    return int(starts[earlier])


def no_rule_derived(share: float) -> InputError:
    """Return the error that the calls before the later ``share`` prove no rule."""
    return InputError(
        f"--holdout: the calls before the last {share:.0%} prove no rule",
        hint="visceral analyze says what is missing; hold out less, or give more traces",
    )


@contextmanager
def earlier_part(
    store: duckdb.DuckDBPyConnection, settings: Settings, until_ns: int
) -> Iterator[None]:
    """Let ``tool_call`` be the chosen calls that began before ``until_ns``, for a while."""
    narrow(store, replace(settings, until_ns=until_ns))
    try:
        yield
    finally:
        _widen(store)


def _widen(store: duckdb.DuckDBPyConnection) -> None:
    """Let ``tool_call`` be all calls again."""
    store.execute("DROP TABLE IF EXISTS temp.tool_call")
