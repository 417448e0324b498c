"""The stages after reading, each once, in order: a filled store in, report out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from visceral_cli import __version__
from visceral_cli.analysis import invalidation
from visceral_cli.analysis import varying_results as varying
from visceral_cli.analysis.barriers import Barriers
from visceral_cli.analysis.columns import read_calls
from visceral_cli.analysis.elsewhere import judge_elsewhere
from visceral_cli.analysis.findings import find_findings, in_order
from visceral_cli.analysis.freshness import Bound, freshness_bounds
from visceral_cli.analysis.funnel import find_funnel
from visceral_cli.analysis.groups import GroupList, find_groups
from visceral_cli.analysis.histories import Histories
from visceral_cli.analysis.invalidation import learn_invalidations, tools_changed
from visceral_cli.analysis.judge_arguments import judge_arguments
from visceral_cli.analysis.run_rates import run_figures
from visceral_cli.analysis.samples import with_sources
from visceral_cli.analysis.savings import savings_of
from visceral_cli.analysis.scopes import who_of
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
from visceral_cli.analysis.write_holes import find_write_holes
from visceral_cli.analysis.writers import writers_of
from visceral_cli.loading.fill import FilledStore
from visceral_cli.progress import Progress
from visceral_cli.report.gather import bound_figures, curve_figures, inputs_of, totals_of
from visceral_cli.report.page.detail import PageDetail
from visceral_cli.report.page.gather import PageWanted, page_detail
from visceral_cli.report.report import Report
from visceral_cli.rules.argument_names import with_argument_names
from visceral_cli.rules.cover import freshness_under_rules
from visceral_cli.rules.gather import evidence_of_tools, instabilities
from visceral_cli.rules.namespaces import agree_between_namespaces
from visceral_cli.rules.plain_cache import propose_without_writers, with_plain_caches
from visceral_cli.rules.propose import RulePolicy, add_savings, propose_rules
from visceral_cli.rules.vetoes import vetoes_of_arguments, with_limits
from visceral_cli.rules.writes import with_writes
from visceral_cli.settings import Settings
from visceral_cli.store.memory import give_back_memory


def report_of(
    filled: FilledStore,
    inputs: Sequence[str],
    settings: Settings,
    progress: Progress,
    page: PageWanted | None,
) -> tuple[Report, PageDetail | None]:
    """Return the report on a store, and single calls for the page if one is wanted."""
    store = filled.store
    progress.stage("comparing results")
    calls = read_calls(store, settings)
    writers = writers_of(calls)
    arguments = judge_arguments(store, calls, writers, settings)
    invalidations = learn_invalidations(store, calls, settings)

    # What is asked of the store takes as long as the arithmetic on the calls, and does not need it:
    # until the bounds are found, only this thread asks the store. The spans come first, while the
    # arithmetic takes least memory.
    with ThreadPoolExecutor(1) as beside:
        spans_read = beside.submit(read_spans, store, calls)
        unscoped = Histories(calls)
        verdicts = judge_calls(calls, writers, unscoped)
        stored = beside.submit(store_verdicts, store, verdict_table(calls, verdicts))
        counted = beside.submit(inputs_of, store, inputs, filled.orphan_spans)
        found_in_calls = beside.submit(find_findings, store, calls)
        holes_found = beside.submit(lambda: [*find_write_holes(store)])
        figures_of_runs = beside.submit(run_figures, calls, verdicts)
        groups = find_groups(calls, verdicts, by_trace=settings.scope == "trace")

        progress.stage("proving freshness")
        who = who_of(calls)
        sharing = judge_sharing(unscoped, who, writers, settings)
        split = split_by_scope(calls, who, sharing)
        tools = scoped_histories(unscoped, split, sharing)
        del unscoped
        proofs = [with_sources(tool, split) for tool in tools]
        bounds = freshness_bounds(proofs, writers, settings.freshness)
        tree = spans_read.result()
        stored.result()
        holds = counted.result()
        findings = [*found_in_calls.result(), *holes_found.result()]
        per_run = figures_of_runs.result()
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
    give_back_memory()
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
        inputs=holds,
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
                    *findings,
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
        per_run=tuple(per_run),
    )
    if page is None:
        return report, None
    progress.stage("choosing what to draw")
    shown = page.show_values
    return report, page_detail(store, calls, verdicts, serving, groups, show_values=shown)
