"""Rules held against what these traces say of their tools: writer, version, schema, attestation.

One case for each kind and tool of a rule. What the traces cannot tell is no case, unless nothing at
all is known of the tool. Whether the results still match is the replay's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import msgspec
import pyarrow as pa

from visceral_cli.analysis import binomial
from visceral_cli.analysis.tools import ToolFacts
from visceral_cli.contract.rule import Rule
from visceral_cli.gate.finding import Case, CheckKind, Evidence, State, Subject
from visceral_cli.settings import FreshnessSettings
from visceral_cli.store.database import run_file

SOON_SECONDS = 10
"""A result that changed within these, and nothing wrote, contradicts that it may be replayed."""

MIN_NAMED_CALLS = 5
"""Calls with known argument names that it takes to say that the arguments are others now."""


class _Tool(msgspec.Struct, frozen=True):
    """One tool of the rules in one namespace of the traces."""

    namespace: str
    tool: str
    rules: Sequence[Rule]
    facts: ToolFacts
    calls: int
    version: str | None
    last_trace_id: str
    last_span_id: str

    @property
    def subject(self) -> Subject:
        return Subject(self.namespace, self.tool)

    @property
    def last_call(self) -> Evidence:
        return Evidence(
            "the last call", self.tool, trace_id=self.last_trace_id, span_id=self.last_span_id
        )


class _Known(msgspec.Struct, frozen=True):
    """What is known of the rules beside themselves, by namespace, tool and input hash."""

    versions: Mapping[tuple[str, str, str], str | None]
    arguments: Mapping[tuple[str, str, str], frozenset[str]]


def check_rules(
    store: duckdb.DuckDBPyConnection,
    tools: Sequence[ToolFacts],
    rules: Sequence[Rule],
    settings: FreshnessSettings,
) -> list[Case]:
    """Return the cases of the rules; ``tools`` are those of the traces.

    The verdicts on the calls must be in the store. Argument names are known where the store keeps
    the texts of arguments.
    """
    store.register("_checked_rule", _table(rules))
    run_file(store, "visceral_cli.analysis", "argument_findings.sql")
    run_file(store, "visceral_cli.gate", "rule_cases.sql")
    known = _known(store)
    names, soon = _argument_names(store), _soon_changed(store)
    cases: list[Case] = []
    for tool in _tools(store, tools, rules):
        key = (tool.namespace, tool.tool)
        cases.append(_writer_case(tool))
        cases += _version_case(tool, known)
        cases += _schema_case(tool, known, names.get(key, []))
        cases += _attestation_case(tool, soon.get(key), settings)
    store.unregister("_checked_rule")
    return [*cases, *_not_called(tools, rules)]


def _writer_case(tool: _Tool) -> Case:
    if not tool.facts.writer:
        return Case(
            CheckKind.BECAME_WRITER, tool.subject, State.KEPT, "nothing says that it writes"
        )
    by = {"span": "its spans say", "settings": "the settings say"}.get(
        tool.facts.declared_by or "", "its name says"
    )
    message = f"{by} that the tool writes, but {_counted(len(tool.rules))} would serve it"
    return Case(CheckKind.BECAME_WRITER, tool.subject, State.BROKEN, message, "", (tool.last_call,))


def _version_case(tool: _Tool, known: _Known) -> Iterator[Case]:
    others: set[str] = set()
    told = 0
    for rule in tool.rules:
        key = (tool.namespace, tool.tool, rule.match.input_hash or "")
        evidence = rule.evidence or {}
        if "calls" not in evidence and key not in known.versions:
            continue  # nothing is known of the calls that it was proven on
        told += 1
        version = known.versions.get(key, evidence.get("version"))
        if version != tool.version:
            others.add(_version(version))
    if not told:
        return
    if not others:
        message = f"still {_version(tool.version)}"
        yield Case(CheckKind.VERSION_CHANGED, tool.subject, State.KEPT, message)
        return
    was = " and ".join(sorted(others))
    message = f"rules were proven for {was}, the last call is of {_version(tool.version)}"
    yield Case(
        CheckKind.VERSION_CHANGED, tool.subject, State.BROKEN, message, "", (tool.last_call,)
    )


def _schema_case(
    tool: _Tool, known: _Known, called: Sequence[tuple[frozenset[str], int]]
) -> Iterator[Case]:
    calls = sum(count for _, count in called)
    if calls < MIN_NAMED_CALLS:
        return
    ever = frozenset().union(*(names for names, _ in called))
    always = frozenset.intersection(*(names for names, _ in called))
    gone: set[str] = set()
    added: set[str] = set()
    told = 0
    for rule in tool.rules:
        key = (tool.namespace, tool.tool, rule.match.input_hash or "")
        names = _names_of(rule) or known.arguments.get(key)
        if names is not None:
            told += 1
            gone |= names - ever
            added |= always - names
    if not told:
        return
    if not gone and not added:
        message = "called with the arguments of the rules"
        yield Case(CheckKind.SCHEMA_CHANGED, tool.subject, State.KEPT, message)
        return
    parts = [f"no call has {', '.join(sorted(gone))}"] if gone else []
    parts += [f"every call has {', '.join(sorted(added))} as well"] if added else []
    yield Case(
        CheckKind.SCHEMA_CHANGED,
        tool.subject,
        State.BROKEN,
        f"other arguments than in the rules: {'; '.join(parts)}",
        f"{calls:,} calls",
        (tool.last_call,),
    )


def _names_of(rule: Rule) -> frozenset[str] | None:
    names = (rule.evidence or {}).get("argument_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return frozenset(names)


def _attestation_case(
    tool: _Tool, soon: tuple[int, int, list[dict[str, Any]]] | None, settings: FreshnessSettings
) -> Iterator[Case]:
    if soon is None or tool.facts.writer:
        return
    pairs, changed, examples = soon
    counted = f"{changed:,} of {pairs:,} repeats within {SOON_SECONDS} s"
    at_least = binomial.lower(changed, pairs, 1 - settings.confidence)
    if at_least <= settings.max_stale_rate:
        message = f"{counted} changed: no more than may be stale"
        yield Case(CheckKind.ATTESTATION_CONTRADICTED, tool.subject, State.KEPT, message)
        return
    yield Case(
        CheckKind.ATTESTATION_CONTRADICTED,
        tool.subject,
        State.BROKEN,
        f"declared replay-safe, but {counted} changed and nothing wrote between",
        "",
        tuple(
            Evidence(
                what=f"changed {example['age_ns'] / 1e9:.3g} s after span {example['source']}",
                tool=tool.tool,
                input_hash=example["input_hash"],
                trace_id=example["trace_id"],
                span_id=example["span_id"],
            )
            for example in examples
        ),
    )


def _not_called(tools: Sequence[ToolFacts], rules: Sequence[Rule]) -> Iterator[Case]:
    called = {(facts.name.namespace, facts.name.tool) for facts in tools}
    names = {name for _, name in called}
    missing = {
        (namespace, rule.match.tool_name)
        for rule in rules
        for namespace in rule.match.proven_in
        if (namespace, rule.match.tool_name) not in called
        and (namespace or rule.match.tool_name not in names)
    }
    for namespace, tool in sorted(missing):
        yield Case(
            CheckKind.BECAME_WRITER,
            Subject(namespace, tool),
            State.UNJUDGED,
            "the tool of these rules is not called here",
        )


def _tools(
    store: duckdb.DuckDBPyConnection, tools: Sequence[ToolFacts], rules: Sequence[Rule]
) -> Iterator[_Tool]:
    facts = {(each.name.namespace, each.name.tool): each for each in reversed(tools)}
    found = store.execute("SELECT * FROM _tool_now ORDER BY namespace, tool").fetchall()
    for namespace, tool, calls, version, last in found:
        of_tool = [
            rule
            for rule in rules
            if rule.match.tool_name == tool and rule.match.holds_in(namespace)
        ]
        if of_tool:
            yield _Tool(
                namespace,
                tool,
                of_tool,
                facts[namespace, tool],
                calls,
                version,
                last["trace_id"],
                last["span_id"],
            )


def _known(store: duckdb.DuckDBPyConnection) -> _Known:
    seen = store.execute("SELECT namespace, tool, input_hash, version FROM _rule_seen").fetchall()
    named = store.execute("SELECT * FROM _rule_arguments").fetchall()
    return _Known(
        versions={(row[0], row[1], row[2]): row[3] for row in seen},
        arguments={(row[0], row[1], row[2]): frozenset(row[3]) for row in named},
    )


def _argument_names(
    store: duckdb.DuckDBPyConnection,
) -> dict[tuple[str, str], list[tuple[frozenset[str], int]]]:
    found: dict[tuple[str, str], list[tuple[frozenset[str], int]]] = {}
    for namespace, tool, names, calls in store.execute(
        "SELECT namespace, tool, names, calls FROM _argument_names"
    ).fetchall():
        found.setdefault((namespace, tool), []).append((frozenset(names), calls))
    return found


def _soon_changed(
    store: duckdb.DuckDBPyConnection,
) -> dict[tuple[str, str], tuple[int, int, list[dict[str, Any]]]]:
    rows = store.execute("SELECT * FROM _soon_changed(?)", [SOON_SECONDS * 1_000_000_000])
    return {
        (namespace, tool): (pairs, changed, examples or [])
        for namespace, tool, pairs, changed, examples in rows.fetchall()
    }


def _table(rules: Sequence[Rule]) -> pa.Table:
    """Return one row for each rule and namespace that it was proven in."""
    rows = [(rule.match, namespace) for rule in rules for namespace in rule.match.proven_in]
    return pa.table(
        {
            "namespace": pa.array([namespace for _, namespace in rows], pa.string()),
            "tool": pa.array([match.tool_name for match, _ in rows], pa.string()),
            "input_hash": pa.array([match.input_hash for match, _ in rows], pa.string()),
            "hash_v": pa.array([match.hash_v for match, _ in rows], pa.int32()),
        }
    )


def _version(version: object) -> str:
    return "no declared version" if version is None else f"version {version}"


def _counted(rules: int) -> str:
    return "1 rule" if rules == 1 else f"{rules:,} rules"
