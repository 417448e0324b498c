"""Inputs in, report out: every stage once, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from visceral_cli import __version__
from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.findings import find_findings
from visceral_cli.analysis.freshness import Bound, freshness_bounds
from visceral_cli.analysis.funnel import find_funnel
from visceral_cli.analysis.groups import GroupList, find_groups
from visceral_cli.analysis.histories import histories
from visceral_cli.analysis.savings import savings_of
from visceral_cli.analysis.serving import freshness_by_identity, permission_of, serve_calls
from visceral_cli.analysis.spans import read_spans
from visceral_cli.analysis.tool_figures import tool_figures
from visceral_cli.analysis.verdicts import judge_calls, store_verdicts, verdict_table
from visceral_cli.analysis.writers import writers_of
from visceral_cli.loading.fill import FilledStore, filled_store
from visceral_cli.loading.narrow import narrow
from visceral_cli.progress import Progress
from visceral_cli.report.call_rows import call_rows
from visceral_cli.report.gather import bound_figures, inputs_of, totals_of
from visceral_cli.report.report import Report
from visceral_cli.rules.cover import freshness_under_rules
from visceral_cli.rules.gather import evidence_of_tools, instabilities
from visceral_cli.rules.propose import RulePolicy, add_savings, propose_rules
from visceral_cli.settings import Settings


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What one ``visceral ingest`` did, and what the store holds now."""

    files_loaded: int
    files_skipped: int
    files_replaced: int
    spans: int
    tool_calls: int
    damaged: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report, and the store behind it while it is open."""

    report: Report
    store: duckdb.DuckDBPyConnection

    def calls(self, *, show_arguments: bool) -> pa.RecordBatchReader:
        """Return one row per call in the order of time; see ``report.call_rows``."""
        return call_rows(self.store, show_arguments=show_arguments)


@contextmanager
def analyze_inputs(
    inputs: Sequence[str], settings: Settings, progress: Progress
) -> Iterator[Analysis]:
    """Run the whole analysis over ``inputs``: files, folders, globs, ``-`` or one store.

    Raises:
        InputError: nothing usable was found, or ``settings.strict`` met damage.
        UsageError: the store cannot be used.
    """
    with filled_store(inputs, settings, progress) as filled:
        narrow(filled.store, settings)
        yield Analysis(_report(filled, inputs, settings, progress), filled.store)


def ingest_inputs(inputs: Sequence[str], settings: Settings, progress: Progress) -> IngestSummary:
    """Load ``inputs`` into the store that the settings name, and count what it holds.

    Raises as :func:`analyze_inputs`.
    """
    with filled_store(inputs, settings, progress) as filled:
        holds = inputs_of(filled.store, inputs, filled.orphan_spans)
        return IngestSummary(
            files_loaded=filled.loaded.loaded,
            files_skipped=filled.loaded.already_loaded,
            files_replaced=filled.loaded.replaced,
            spans=holds.spans,
            tool_calls=holds.tool_calls,
            damaged=holds.damaged,
        )


def _report(
    filled: FilledStore, inputs: Sequence[str], settings: Settings, progress: Progress
) -> Report:
    store = filled.store
    progress.stage("comparing results")
    calls = read_calls(store, settings)
    writers = writers_of(calls)
    verdicts = judge_calls(calls, writers)
    store_verdicts(store, verdict_table(calls, verdicts))
    groups = find_groups(calls, verdicts, by_trace=settings.scope == "trace")

    progress.stage("proving freshness")
    tools = list(histories(calls))
    bounds = freshness_bounds([tool.calls for tool in tools], writers, settings.freshness)
    policy = RulePolicy(
        settings.verify_rate, settings.include_empty_results, settings.include_candidates
    )
    evidence = evidence_of_tools(
        store, calls, tools, bounds, groups, include_candidates=policy.include_candidates
    )
    proposal = propose_rules(evidence, policy)

    progress.stage("adding up savings")
    tree = read_spans(store, calls)
    permissions = [
        permission_of(tool, bound)
        for tool, bound in zip(tools, bounds, strict=True)
        if isinstance(bound, Bound)
    ]
    proven = freshness_by_identity(calls, permissions)
    granted = freshness_under_rules(store, calls, proven, proposal.rules)
    serving = serve_calls(calls, tree, granted)
    funnel = find_funnel(calls, verdicts, tree, proven, serving)
    savings = savings_of(store, calls, serving, wall_seconds=funnel[-1].wall_seconds)
    figures = tool_figures(calls, verdicts, instabilities(tools, bounds))
    return Report(
        version=__version__,
        scope=settings.scope,
        max_stale_rate=settings.freshness.max_stale_rate,
        inputs=inputs_of(store, inputs, filled.orphan_spans),
        totals=totals_of(figures, calls.cost_usd(np.arange(len(calls)))),
        funnel=funnel,
        tools=tuple(figures),
        groups=GroupList(store, groups),
        bounds=bound_figures(tools, bounds),
        savings=savings,
        rules=add_savings(proposal.rules, savings.by_identity),
        refusals=proposal.refusals,
        findings=tuple(find_findings(store, calls)),
        candidates=proposal.candidates,
    )
