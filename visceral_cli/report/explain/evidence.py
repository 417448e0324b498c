"""What explanations are made of: calls of the store with their verdicts and texts, and a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import msgspec
import pyarrow as pa

from visceral_cli.report.report import Report
from visceral_cli.settings import NO_DECLARATION, Settings, ToolDeclaration
from visceral_cli.store.database import is_store, run_file

MOST_IDENTITIES = 20_000
"""Identities of a tool that are compared with each other: those nearest in time."""

MOST_CALLS = 100_000
"""Calls of one identity that are looked at."""


class CallRow(msgspec.Struct, frozen=True):
    """One call: columns of ``tool_call``, and the verdict on it."""

    call_key: int
    namespace: str
    trace_id: str
    span_id: str
    position: int
    tool: str
    kind: str
    version: str | None
    convention: str
    input_hash: str | None
    hash_v: int | None
    recorded_hash: bool
    hash_disagrees: bool
    identity_missing: str | None
    arguments_hash: str | None
    content_hash: str | None
    content_missing: str | None
    failed: bool
    start_ns: int | None
    end_ns: int | None
    vary: str | None
    served_decision_id: str | None
    verify_match: bool | None
    verdict: str
    source_call_key: int | None
    age_ns: int | None

    @property
    def key(self) -> ToolKey:
        """Which tool it is a call of."""
        return ToolKey(self.namespace, self.tool, self.kind)

    @property
    def ran(self) -> bool:
        """Whether the tool was executed."""
        return self.served_decision_id is None or self.verify_match is not None

    @property
    def is_timed(self) -> bool:
        """Whether start and end are known, and in order."""
        return (
            self.start_ns is not None and self.end_ns is not None and self.end_ns >= self.start_ns
        )


class ToolKey(msgspec.Struct, frozen=True, order=True):
    """A tool of one namespace."""

    namespace: str
    tool: str
    kind: str


class IdentityRow(msgspec.Struct, frozen=True):
    """An identity of a tool, with the arguments of one of its calls as JSON."""

    input_hash: str
    version: str | None
    calls: int
    arguments: str
    vary: str | None


class ChangedPair(msgspec.Struct, frozen=True):
    """A call whose result was another one than the stored one; both results as JSON."""

    call_key: int
    source_call_key: int
    age_ns: int
    old_result: str
    new_result: str


class HashTally(msgspec.Struct, frozen=True):
    """How many calls came by their identity in one way."""

    convention: str
    hash_v: int
    """0: they have none."""
    recorded: bool
    disagrees: bool
    calls: int


class IdentityTally(msgspec.Struct, frozen=True):
    """How often an identity was called, and how often a stored result was the same or another."""

    input_hash: str
    calls: int
    same: int
    changed: int
    results: int


class WriterCall(msgspec.Struct, frozen=True):
    """One execution of a writer."""

    tool: str
    span_id: str


def with_texts(settings: Settings, inputs: Sequence[str]) -> Settings:
    """Return settings under which the store keeps arguments and results, to tell where they differ.

    Candidates are asked for too. What needs texts is looked for only if it would be without an
    explanation, so that what is explained are the figures of the report.
    """
    kept = settings.store is not None or any(is_store(Path(name)) for name in inputs)
    return replace(
        settings,
        extract=replace(settings.extract, keep_text=True),
        find_vary=settings.find_vary if kept else bool(settings.find_vary),
        include_candidates=True,
    )


class Evidence:
    """The calls behind a report. It works while the store is open."""

    def __init__(
        self,
        report: Report,
        store: duckdb.DuckDBPyConnection,
        declarations: Mapping[str, ToolDeclaration],
        *,
        show_arguments: bool,
        top: int,
    ) -> None:
        """``top``: rows of a list that are shown, 0 for all."""
        self.report = report
        self.show_arguments = show_arguments
        self.top = top
        self._store = store
        self._declarations = declarations
        writers = [tool for tool in report.tools if tool.writer]
        names = ("namespace", "tool", "kind")
        store.register(
            "_writer_row",
            pa.table(
                {
                    name: pa.array([getattr(tool, name) for tool in writers], pa.string())
                    for name in names
                }
            ),
        )
        store.execute("CREATE OR REPLACE TEMP TABLE _writer_tool AS SELECT * FROM _writer_row")
        store.unregister("_writer_row")
        run_file(store, "visceral_cli.report.explain", "evidence.sql")

    def declared(self, tool: str) -> ToolDeclaration:
        """Return what the settings declare of a tool."""
        return self._declarations.get(tool, NO_DECLARATION)

    def calls_of_span(self, span_id: str) -> list[CallRow]:
        """Return the calls that a span tells of."""
        return self._calls(
            "SELECT * FROM _explained_call WHERE span_id = $1 ORDER BY call_key", [span_id]
        )

    def call(self, call_key: int) -> CallRow:
        """Return one call."""
        return self._calls("SELECT * FROM _explained_call WHERE call_key = $1", [call_key])[0]

    def calls_of_identity(self, key: ToolKey, input_hash: str) -> list[CallRow]:
        """Return the calls of one identity in the order of time, the first `MOST_CALLS` of them."""
        return self._calls(
            "SELECT * FROM _explained_call WHERE namespace = $1 AND tool = $2 AND kind = $3"
            " AND input_hash = $4 ORDER BY call_key LIMIT $5",
            [*_of(key), input_hash, MOST_CALLS],
        )

    def calls_before(self, call: CallRow) -> list[CallRow]:
        """Return the last calls of the same identity before a call, the last one first.

        Where a repeat counts within a trace only, those of its trace.
        """
        if call.input_hash is None:
            return []
        return self._calls(
            "SELECT * FROM _explained_call WHERE namespace = $1 AND tool = $2 AND kind = $3"
            " AND input_hash = $4 AND call_key < $5 AND ($6 = 'all' OR trace_id = $7)"
            " ORDER BY call_key DESC LIMIT 1000",
            [*_of(call.key), call.input_hash, call.call_key, self.report.scope, call.trace_id],
        )

    def calls_with(self, column: str, word: str) -> list[tuple[ToolKey, int, list[str]]]:
        """Return tools with calls of which a word is said: how many, and a few of their spans.

        ``column``: ``verdict``, ``identity_missing`` or ``content_missing``.
        """
        rows = self._store.execute(
            "SELECT namespace, tool, kind, count(*) AS calls, list(span_id ORDER BY call_key)[:3]"
            " FROM _word_of_call WHERE which = $1 AND word = $2"
            " GROUP BY namespace, tool, kind ORDER BY calls DESC, namespace, tool, kind",
            [column, word],
        ).fetchall()
        return [(ToolKey(*row[:3]), row[3], row[4]) for row in rows]

    def identities_like(self, digits: str) -> list[tuple[ToolKey, str]]:
        """Return the identities whose input hash begins with ``digits``."""
        rows = self._store.execute(
            "SELECT namespace, tool, kind, input_hash FROM _known_identity"
            " WHERE starts_with(input_hash, $1) ORDER BY first_call_key",
            [digits],
        ).fetchall()
        return [(ToolKey(*row[:3]), row[3]) for row in rows]

    def identities(self) -> Iterator[tuple[ToolKey, int, str]]:
        """Yield every identity with its hash version."""
        found = self._store.sql("SELECT * FROM _known_identity ORDER BY first_call_key")
        for batch in found.to_arrow_reader(10_000):
            for row in batch.to_pylist():
                key = ToolKey(row["namespace"], row["tool"], row["kind"])
                yield key, row["hash_v"], row["input_hash"]

    def identities_of_tool(self, key: ToolKey, *, near_ns: int = 0) -> list[IdentityRow]:
        """Return identities whose arguments are known, those called nearest to a time first."""
        rows = self._store.execute(
            "SELECT * FROM _identity_of_tool($1, $2, $3, $4, $5)",
            [*_of(key), near_ns, MOST_IDENTITIES],
        ).fetchall()
        return [IdentityRow(*row) for row in rows]

    def namespaces_of(self, input_hash: str) -> list[tuple[str, int]]:
        """Return the namespaces in which an identity is called, and how often in each."""
        rows: list[tuple[str, int]] = self._store.execute(
            "SELECT namespace, count(*) FROM tool_call WHERE input_hash = $1"
            " GROUP BY namespace ORDER BY namespace",
            [input_hash],
        ).fetchall()
        return rows

    def texts(self, call_key: int) -> tuple[str | None, str | None]:
        """Return arguments and result of a call as JSON; ``None`` for what is not known."""
        row = self._store.execute(
            "SELECT arguments, result FROM _call_text WHERE call_key = $1", [call_key]
        ).fetchone()
        return (None, None) if row is None else (row[0], row[1])

    def changed_pairs(
        self, key: ToolKey, input_hash: str | None, *, most: int
    ) -> list[ChangedPair]:
        """Return calls with other results than the stored ones, of one identity or all."""
        rows = self._store.execute(
            "SELECT * FROM _changed_pair($1, $2, $3, $4, $5)",
            [*_of(key), input_hash, most],
        ).fetchall()
        return [ChangedPair(*row) for row in rows]

    def writers_between(self, trace_id: str, from_ns: int, until_ns: int) -> list[WriterCall]:
        """Return what wrote in a run and ended after ``from_ns`` and began by ``until_ns``."""
        rows = self._store.execute(
            "SELECT tool, span_id FROM _writer_call WHERE trace_id = $1 AND until_ns >= $2"
            " AND from_ns <= $3 ORDER BY call_key",
            [trace_id, from_ns, until_ns],
        ).fetchall()
        return [WriterCall(*row) for row in rows]

    def identities_by_calls(self, key: ToolKey) -> list[IdentityTally]:
        """Return the identities of a tool, most calls first."""
        rows = self._store.execute("SELECT * FROM _tool_identities($1, $2, $3)", _of(key))
        return [IdentityTally(*row) for row in rows.fetchall()]

    def ages(self, key: ToolKey) -> tuple[int | None, int | None]:
        """Return the largest age of an unchanged and the smallest of a changed result, in ns."""
        row = self._store.execute("SELECT * FROM _tool_ages($1, $2, $3)", _of(key)).fetchone()
        return (None, None) if row is None else (row[0], row[1])

    def hashes(self, key: ToolKey) -> list[HashTally]:
        """Return in which ways the calls of a tool came by their identities."""
        rows = self._store.execute("SELECT * FROM _tool_hashes($1, $2, $3)", _of(key)).fetchall()
        return [HashTally(*row) for row in rows]

    def writers_beside(self, key: ToolKey) -> list[tuple[str, int]]:
        """Return the writers in runs where calls of a tool follow a writer, and their calls."""
        rows: list[tuple[str, int]] = self._store.execute(
            "SELECT * FROM _tool_writers($1, $2, $3)", _of(key)
        ).fetchall()
        return rows

    def served_from(self, call_key: int) -> int | None:
        """Return the execution whose result the proposed rules would have served to this call."""
        row = self._store.execute(
            "SELECT source_call_key FROM served_call WHERE call_key = $1", [call_key]
        ).fetchone()
        return None if row is None else int(row[0])

    def served_live(self, rule: str) -> tuple[int, int, int]:
        """Return how many recorded calls a live rule served, verified, and found to differ."""
        row = self._store.execute(
            "SELECT count(*), count(verify_match), count(*) FILTER (verify_match = false)"
            " FROM tool_call WHERE served_decision_id = $1",
            [rule],
        ).fetchone()
        return (0, 0, 0) if row is None else (row[0], row[1], row[2])

    def shown(self, number: int) -> int:
        """Return how many of ``number`` rows are shown."""
        return number if self.top == 0 else min(number, self.top)

    def _calls(self, query: str, values: Sequence[object]) -> list[CallRow]:
        return [CallRow(*row) for row in self._store.execute(query, list(values)).fetchall()]


def _of(key: ToolKey) -> list[object]:
    return [key.namespace, key.tool, key.kind]
