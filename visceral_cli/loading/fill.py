"""Inputs of any kind into an open, settled store."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from visceral_cli.errors import InputError, UsageError
from visceral_cli.ingest.files import find_files
from visceral_cli.loading import fork_server
from visceral_cli.loading.claim import claim_settings
from visceral_cli.loading.load import LoadSummary, load_files
from visceral_cli.progress import Progress
from visceral_cli.settings import Settings
from visceral_cli.store.database import (
    MEMORY_LIMIT_BESIDE_COLUMNS,
    MEMORY_LIMIT_BESIDE_TREE,
    is_store,
    leave_room,
    open_store,
    temporary_store,
)


@dataclass(frozen=True, slots=True)
class FilledStore:
    """A store that holds the inputs, and what loading them did."""

    store: duckdb.DuckDBPyConnection
    loaded: LoadSummary
    orphan_spans: int
    """Spans whose parent is in none of the inputs."""


def _nothing() -> None: ...


@contextmanager
def filled_store(
    inputs: Sequence[str],
    settings: Settings,
    progress: Progress,
    *,
    meanwhile: Callable[[], None] = _nothing,
) -> Iterator[FilledStore]:
    """Open the store that ``inputs`` are, or load them into one: the settings', or a temporary one.

    ``meanwhile`` is called once before the store is there: while other processes begin to read, if
    there is so much to be read.

    Raises:
        InputError: an input is not there, nothing usable was found, or damage when strict.
        UsageError: the store cannot be used, or stands among other inputs.
    """
    with ExitStack() as stack:
        given = _given_store(inputs)
        if given is not None:
            store = stack.enter_context(open_store(given))
            claim_settings(store, settings.extract)
            loaded = LoadSummary()
            meanwhile()
        else:
            spool = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="visceral-")))
            files = find_files(
                inputs, exclude=settings.exclude, stdin=sys.stdin.buffer, spool=spool
            )
            store = stack.enter_context(
                temporary_store() if settings.store is None else open_store(settings.store)
            )
            kept = settings.store is not None
            loaded = load_files(store, files, settings, progress, meanwhile, kept=kept)
        # It imports NumPy and more, and other processes are to begin reading before.
        with fork_server.interrupts_later():
            from visceral_cli.loading.requests import read_needed_requests  # noqa: PLC0415
            from visceral_cli.loading.settle import settle  # noqa: PLC0415

        read_needed_requests(store, loaded.unread, settings)
        leave_room(store, MEMORY_LIMIT_BESIDE_TREE)
        progress.stage("joining spans of one call")
        with ThreadPoolExecutor(1) as beside:
            stopped = beside.submit(fork_server.stop)  # a large process takes its time to go
            tree = settle(store, settings.extract)
            stopped.result()
        leave_room(store, MEMORY_LIMIT_BESIDE_COLUMNS)
        _refuse_damage(store, settings)
        _refuse_nothing(store, inputs)
        yield FilledStore(store, loaded, int(tree.orphan.sum()))


def _given_store(inputs: Sequence[str]) -> Path | None:
    stores = [name for name in inputs if is_store(Path(name))]
    if not stores:
        return None
    if len(inputs) > 1:
        raise UsageError(
            f"{stores[0]}: a store cannot be read together with other inputs",
            hint="add the other inputs to it: visceral ingest INPUT --store FILE",
        )
    return Path(stores[0])


def _refuse_damage(store: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    if not settings.strict:
        return
    first = store.execute(
        """
        SELECT path, line, what, sum(places) OVER () AS places
        FROM damage
        JOIN input_file USING (file_id)
        ORDER BY file_id, line NULLS LAST, byte, what
        LIMIT 1
        """
    ).fetchone()
    if first is not None:
        path, line, what, places = first
        place = path if line is None else f"{path}:{line}"
        more = f" (and {places - 1:,} more)" if places > 1 else ""
        raise InputError(
            f"{place}: {what}{more}",
            hint="without --strict damaged places are skipped and counted",
        )


def _refuse_nothing(store: duckdb.DuckDBPyConnection, inputs: Sequence[str]) -> None:
    """Refuse inputs without a tool call, and say what they hold instead."""
    calls, files, spans, logs, skipped, asked, damaged = store.execute(
        """
        SELECT
            (SELECT count(*) FROM _call_key),
            (SELECT count(*) FROM input_file),
            (SELECT count(*) FROM span),
            (SELECT coalesce(sum(log_records), 0) FROM input_file),
            (SELECT coalesce(sum(skipped), 0) FROM input_file),
            (SELECT count(DISTINCT (trace_id, call_id)) FROM _mention WHERE what = 'arguments'),
            (SELECT coalesce(sum(places), 0) FROM damage)
        """
    ).fetchall()[0]
    if calls:
        return
    held = [
        f"{files:,} file{'' if files == 1 else 's'}",
        f"{spans:,} span{'' if spans == 1 else 's'}",
    ]
    held += [f"{logs:,} log records"] if logs else []
    held += [f"{skipped:,} records of other signals"] if skipped else []
    held += [f"{damaged:,} damaged places"] if damaged else []
    first = store.execute(
        "SELECT path, line, what FROM damage JOIN input_file USING (file_id)"
        " ORDER BY file_id, line NULLS LAST, byte, what LIMIT 1"
    ).fetchone()
    hint = "none of the known conventions matched; visceral explain conventions"
    if asked:
        hint = (
            f"model spans ask for {asked:,} tool calls, but no span tells of their execution: "
            "let the framework's instrumentation record tool spans"
        )
    elif first is not None and not spans:
        path, line, what = first
        hint = f"{path}{'' if line is None else f':{line}'}: {what}"
    raise InputError(f"no tool calls in {' '.join(inputs)} ({', '.join(held)})", hint=hint)
