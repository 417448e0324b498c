"""Inputs in, report out: every stage once, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches

import duckdb
import numpy as np
import pyarrow as pa

from visceral_cli import __version__
from visceral_cli.analysis import invalidation
from visceral_cli.analysis import varying_results as varying
from visceral_cli.analysis.barriers import Barriers
from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.elsewhere import judge_elsewhere
from visceral_cli.analysis.figures import WhatIf
from visceral_cli.analysis.findings import find_findings, in_order
from visceral_cli.analysis.freshness import Bound, freshness_bounds
from visceral_cli.analysis.funnel import find_funnel
from visceral_cli.analysis.groups import GroupList, find_groups
from visceral_cli.analysis.invalidation import learn_invalidations, tools_changed
from visceral_cli.analysis.judge_arguments import judge_arguments
from visceral_cli.analysis.run_rates import run_figures
from visceral_cli.analysis.samples import with_sources
from visceral_cli.analysis.savings import savings_of
from visceral_cli.analysis.scopes import read_who
from visceral_cli.analysis.serving import (
    freshness_by_identity,
    permission_of,
    serve_calls,
    store_serving,
)
from visceral_cli.analysis.sharing import judge_sharing, scoped_histories, split_by_scope
from visceral_cli.analysis.spans import read_spans
from visceral_cli.analysis.tool_figures import tool_figures
from visceral_cli.analysis.varying_results import varying_results
from visceral_cli.analysis.verdicts import judge_calls, store_verdicts, verdict_table
from visceral_cli.analysis.what_if import what_if
from visceral_cli.analysis.write_holes import find_write_holes
from visceral_cli.analysis.writers import writers_of
from visceral_cli.errors import UsageError
from visceral_cli.gate.places import with_places
from visceral_cli.loading.fill import FilledStore, filled_store
from visceral_cli.loading.narrow import narrow
from visceral_cli.progress import Progress
from visceral_cli.report.call_rows import call_rows
from visceral_cli.report.gather import bound_figures, curve_figures, inputs_of, totals_of
from visceral_cli.report.page.detail import PageDetail
from visceral_cli.report.page.gather import (
    PageWanted,
    forget_arguments,
    page_detail,
    settings_for_page,
)
from visceral_cli.report.report import Report
from visceral_cli.report.verification import VerificationReport
from visceral_cli.report.verification_cases import cases_of
from visceral_cli.rules.argument_names import with_argument_names
from visceral_cli.rules.cover import freshness_under_rules
from visceral_cli.rules.gather import evidence_of_tools, instabilities
from visceral_cli.rules.namespaces import agree_between_namespaces
from visceral_cli.rules.plain_cache import propose_without_writers, with_plain_caches
from visceral_cli.rules.propose import RulePolicy, add_savings, propose_rules
from visceral_cli.rules.vetoes import vetoes_of_arguments, with_limits
from visceral_cli.rules.writes import with_writes
from visceral_cli.settings import Settings
from visceral_cli.verify.holdout import earlier_part, holdout_start_ns, no_rule_derived
from visceral_cli.verify.verify import VerifyRequest, verify_calls


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What one ``visceral ingest`` did, and what the store holds now."""

    files_loaded: int
    files_skipped: int
    files_replaced: int
    files_other: int
    """Files of a folder that hold nothing of a known kind."""
    spans: int
    tool_calls: int
    damaged: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report, and the store behind it while it is open."""

    report: Report
    store: duckdb.DuckDBPyConnection
    page: PageDetail | None = None
    """Single calls for the page, where they were asked for."""

    def calls(self, *, show_arguments: bool) -> pa.RecordBatchReader:
        """Return one row per call in the order of time; see ``report.call_rows``."""
        return call_rows(self.store, show_arguments=show_arguments)


@contextmanager
def analyze_inputs(
    inputs: Sequence[str],
    settings: Settings,
    progress: Progress,
    page: PageWanted | None = None,
) -> Iterator[Analysis]:
    """Run the whole analysis over ``inputs``: files, folders, globs, ``-`` or one store.

    ``page``: what to collect for the page beside the report; by default nothing.

    Raises:
        InputError: nothing usable was found, or ``settings.strict`` met damage.
        UsageError: the store cannot be used.
    """
    kept = settings if page is None else settings_for_page(settings, inputs)
    with filled_store(inputs, kept, progress) as filled:
        if kept is not settings:
            forget_arguments(filled.store, settings.extract)
        narrow(filled.store, settings)
        report, detail = _report(filled, inputs, settings, progress, page)
        yield Analysis(report, filled.store, detail)


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
            files_other=filled.loaded.other,
            spans=holds.spans,
            tool_calls=holds.tool_calls,
            damaged=holds.damaged,
        )


def curve_inputs(
    tool: str, inputs: Sequence[str], settings: Settings, progress: Progress
) -> list[WhatIf]:
    """Return what serving would have meant for the tools of one name, by freshness and store size.

    Raises as :func:`analyze_inputs`; `UsageError` also where no tool that only reads has the name.
    """
    with filled_store(inputs, settings, progress) as filled:
        narrow(filled.store, settings)
        progress.stage("proving freshness")
        calls = read_calls(filled.store, settings)
        writers, who = writers_of(calls), read_who(filled.store, calls)
        sharing = judge_sharing(calls, who, writers, settings)
        split = split_by_scope(calls, who, sharing)
        tools = scoped_histories(calls, split, sharing)
        if all(one.facts.name.tool != tool for one in tools):
            names = sorted({one.facts.name.tool for one in tools})
            near = get_close_matches(tool, names, n=1)
            hint = f'did you mean "{near[0]}"?' if near else "visceral analyze lists the tools"
            raise UsageError(f'no calls of a tool "{tool}" that only reads', hint=hint)
        proofs = [with_sources(one, split) for one in tools]
        bounds = freshness_bounds(proofs, writers, settings.freshness)
        return [
            what_if(
                one, found, sharing[one.code].scope.value, calls.runs, writers, settings.freshness
            )
            for one, found in zip(tools, bounds, strict=True)
            if one.facts.name.tool == tool
        ]


def verify_inputs(
    inputs: Sequence[str], settings: Settings, request: VerifyRequest, progress: Progress
) -> VerificationReport:
    """Replay the calls of ``inputs`` under rules: those given, or derived from the earlier calls.

    Raises as :func:`analyze_inputs`; `InputError` also when no call falls under a rule.
    """
    with filled_store(inputs, settings, progress) as filled:
        if request.holdout_rate is not None:
            request = _derived(filled, inputs, settings, request, progress)
        narrow(filled.store, settings)
        progress.stage("replaying the rules")
        verification = verify_calls(filled.store, settings, request)
        return VerificationReport(
            version=__version__,
            inputs=inputs_of(filled.store, inputs, filled.orphan_spans),
            verification=verification,
            rules=request.rules,
            cases=with_places(filled.store, cases_of(verification)),
        )


def _derived(
    filled: FilledStore,
    inputs: Sequence[str],
    settings: Settings,
    request: VerifyRequest,
    progress: Progress,
) -> VerifyRequest:
    """Return the request with the rules that the earlier calls prove, for the later ones."""
    assert request.holdout_rate is not None
    from_ns = holdout_start_ns(filled.store, settings, request.holdout_rate)
    with earlier_part(filled.store, settings, from_ns):
        report, _ = _report(filled, inputs, settings, progress, None)
    if not report.rules:
        raise no_rule_derived(request.holdout_rate)
    return replace(request, rules=report.rules, from_ns=from_ns)


def _report(
    filled: FilledStore,
    inputs: Sequence[str],
    settings: Settings,
    progress: Progress,
    page: PageWanted | None,
) -> tuple[Report, PageDetail | None]:
    store = filled.store
    progress.stage("comparing results")
    calls = read_calls(store, settings)
    writers = writers_of(calls)
    verdicts = judge_calls(calls, writers)
    store_verdicts(store, verdict_table(calls, verdicts))
    groups = find_groups(calls, verdicts, by_trace=settings.scope == "trace")

    arguments = judge_arguments(store, calls, writers, settings)
    invalidations = learn_invalidations(store, calls, settings)

    progress.stage("proving freshness")
    who = read_who(store, calls)
    sharing = judge_sharing(calls, who, writers, settings)
    split = split_by_scope(calls, who, sharing)
    tools = scoped_histories(calls, split, sharing)
    proofs = [with_sources(tool, split) for tool in tools]
    bounds = freshness_bounds(proofs, writers, settings.freshness)
    unstable = varying_results(store, tools, bounds, writers)
    policy = RulePolicy(
        settings.verify_rate, settings.include_empty_results, settings.include_candidates
    )
    evidence = evidence_of_tools(
        store, split, tools, bounds, groups, include_candidates=policy.include_candidates
    )
    vetoes = vetoes_of_arguments(arguments.refuted)
    limits = {calls.tools[code].name: found.figures for code, found in sharing.items()}
    barriers = Barriers.of(calls, who)
    elsewhere = judge_elsewhere(
        tools,
        bounds,
        {code: found.scope for code, found in sharing.items()},
        barriers,
        tools_changed(invalidations),
        settings.freshness,
    )
    limited = with_limits(evidence, vetoes, limits, settings.extract.tools)
    proposal = propose_rules(with_writes(limited, elsewhere.figures, invalidations), policy)
    proposal = agree_between_namespaces(store, proposal)

    progress.stage("adding up savings")
    tree = read_spans(store, calls)
    permissions = [
        permission_of(tool, bound)
        for tool, bound in zip(tools, bounds, strict=True)
        if isinstance(bound, Bound)
    ]
    proven = freshness_by_identity(split, permissions)
    granted = freshness_under_rules(store, split, proven, proposal.rules)
    serving = serve_calls(split, tree, granted, who, elsewhere.reach)
    store_serving(store, serving)
    voided = elsewhere.voided(barriers, verdicts.source)
    funnel = find_funnel(split, verdicts, tree, proven, serving, voided)
    savings = savings_of(store, split, serving, wall_seconds=funnel[-1].wall_seconds)
    figures = tool_figures(calls, verdicts, instabilities(tools, bounds))
    rules = with_argument_names(store, add_savings(proposal.rules, savings.by_identity))
    if settings.for_plain_caches:
        plain = propose_without_writers(store, split, tools, groups, vetoes, limits, settings)
        rules = with_plain_caches(store, calls, verdicts, rules, plain, invalidations, settings)
    report = Report(
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
        rules=rules,
        refusals=proposal.refusals,
        findings=tuple(
            in_order(
                [
                    *find_findings(store, calls),
                    *find_write_holes(store),
                    *arguments.findings(),
                    *invalidation.findings_of(invalidations),
                    *varying.findings_of(unstable),
                ]
            )
        ),
        candidates=proposal.candidates,
        vary=arguments.proposals,
        unstable=tuple(unstable),
        invalidations=tuple(invalidations),
        sharing=tuple(limits.values()),
        curves=curve_figures(tools, bounds),
        per_run=tuple(run_figures(calls, verdicts)),
    )
    if page is None:
        return report, None
    progress.stage("choosing what to draw")
    shown = page.show_values
    return report, page_detail(store, calls, verdicts, serving, groups, show_values=shown)
