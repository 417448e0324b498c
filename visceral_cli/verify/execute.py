"""Calls made again, because the user asked: does the tool still return what was recorded?

Only calls of tools that are declared read-only and replay-safe are made, never those of a writer,
one after the other, in a process of its own that is ended when a call takes too long. That process
writes nothing to the terminal, and of a result only its content hash comes back.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

import duckdb
import msgspec
import numpy as np

from visceral_cli.analysis.columns import NANO, CallColumns
from visceral_cli.analysis.history import Places
from visceral_cli.analysis.names import call_names
from visceral_cli.errors import UsageError
from visceral_cli.store.database import run_file
from visceral_cli.verify.judge import Case
from visceral_cli.verify.outcome import ExecutedCall, Execution
from visceral_cli.verify.rule_cover import reuses
from visceral_cli.verify.sample_draw import draw_number

_START_SECONDS = 60.0
"""How long importing the user's module may take."""


class ExecuteRequest(msgspec.Struct, frozen=True):
    """Which function makes the calls, and how many of them, how long."""

    function: str
    """``MODULE:FUNCTION``; called with the tool's name and a dict of its arguments."""
    limit: int = 20
    timeout_seconds: float = 30.0
    now_ns: Callable[[], int] = time.time_ns


class _Asked(msgspec.Struct, frozen=True):
    row: int
    decision_id: str
    tool: str
    trace_id: str
    span_id: str
    arguments: str
    """Canonical JSON."""
    content_hash: str


def execute_calls(
    store: duckdb.DuckDBPyConnection, case: Case, request: ExecuteRequest
) -> tuple[ExecutedCall, ...]:
    """Make the newest call of each of some rules again; which rules is drawn by hash.

    Raises:
        UsageError: the store holds no arguments as text, or the function cannot be imported.
    """
    asked = _chosen(store, case, request.limit)
    done = []
    with _Worker(request.function) as worker:
        for call in asked:
            execution = worker.call(
                call.tool, call.arguments, call.content_hash, seconds=request.timeout_seconds
            )
            age_ns = max(0, request.now_ns() - int(case.calls.start_ns[call.row]))
            place, tool = int(case.cover.rule[call.row]), int(case.calls.tool[call.row])
            done.append(
                ExecutedCall(
                    call_key=call.row,
                    decision_id=call.decision_id,
                    tool=call.tool,
                    trace_id=call.trace_id,
                    span_id=call.span_id,
                    execution=execution,
                    age_seconds=age_ns / NANO,
                    within_freshness=age_ns <= case.cover.freshness_ns(place, tool),
                )
            )
    return tuple(done)


def _chosen(store: duckdb.DuckDBPyConnection, case: Case, limit: int) -> list[_Asked]:
    rows = _newest_of_each_rule(case)
    names = call_names(store, rows)
    rules = case.cover.rules
    drawn = sorted(
        rows.tolist(),
        key=lambda row: draw_number(
            rules[case.cover.rule[row]].decision_id, names[row].trace_id, names[row].span_id
        ),
    )
    texts = _texts(store, rows)
    if len(rows) and not texts:
        raise UsageError(
            "--execute: the store holds no arguments as text",
            hint="read the span files themselves, or load them anew: visceral ingest",
        )
    return [
        _Asked(
            row,
            rules[case.cover.rule[row]].decision_id,
            names[row].tool,
            names[row].trace_id,
            names[row].span_id,
            *texts[row],
        )
        for row in drawn
        if row in texts
    ][:limit]


def _newest_of_each_rule(case: Case) -> Places:
    """Return the newest execution of each rule whose tool is declared harmless."""
    calls = case.calls
    may = _harmless(calls)[calls.tool] & (case.replay.outcome >= 0)
    may &= calls.timed & ~calls.failed & ~calls.writer & (calls.content >= 0)
    newest: dict[int, int] = {}
    for row in np.flatnonzero(may).tolist():
        if reuses(case.cover.rules[case.cover.rule[row]]):
            newest[int(case.cover.rule[row])] = row
    return np.array(sorted(newest.values()), np.int64)


def _harmless(calls: CallColumns) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array(
        [facts.may_be_served and not facts.writer for facts in calls.tools], dtype=np.bool_
    )


def _texts(store: duckdb.DuckDBPyConnection, rows: Places) -> dict[int, tuple[str, str]]:
    """Return arguments and content hash by row, where both are known."""
    run_file(store, "visceral_cli.verify", "execute.sql")
    found = store.execute("SELECT * FROM _call_text($rows)", {"rows": rows.tolist()}).fetchall()
    return {row: (arguments, content) for row, arguments, content in found}


class _Worker:
    """The process that makes the calls; started anew after a call that took too long."""

    def __init__(self, function: str) -> None:
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes] = queue.Queue()

    def __enter__(self) -> _Worker:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def call(self, tool: str, arguments: str, expected: str, *, seconds: float) -> Execution:
        """Return how the call came out."""
        if self._process is None:
            self._start()
        ask = {"tool": tool, "arguments": arguments, "content_hash": expected}
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(ask).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._stop()
            return Execution.FAILED
        answer = self._answer(seconds)
        if answer is None:
            self._stop()
            return Execution.TIMEOUT
        if not answer:
            self._stop()
            return Execution.FAILED
        return Execution(answer)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "visceral_cli.verify.execute_worker", self._function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._answers = queue.Queue()
        assert self._process.stdout is not None
        threading.Thread(
            target=_listen, args=(self._process.stdout, self._answers), daemon=True
        ).start()
        if self._answer(_START_SECONDS) != "ready":
            self._stop()
            raise UsageError(
                f"--execute: {self._function} cannot be imported",
                hint="write MODULE:FUNCTION; the folder you are in is searched for the module",
            )

    def _answer(self, seconds: float) -> str | None:
        """Return the next answer; empty when the process has ended, ``None`` when it is late."""
        try:
            return self._answers.get(timeout=seconds).decode("ascii", "replace").strip()
        except queue.Empty:
            return None

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    _close(stream)
        self._process = None


def _listen(stream: IO[bytes], answers: queue.Queue[bytes]) -> None:
    try:
        for line in stream:
            answers.put(line)
    except (OSError, ValueError):
        pass  # closed while it was read
    answers.put(b"")


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return  # what was not taken any more is lost with the process
