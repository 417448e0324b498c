"""One dump: drawn, written, read and analysed by the project, its rule held against later calls."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from simulation.dump import TOOL, arguments_of, write_dump
from simulation.judge import Later, Outcome, judge, oracle_seconds
from simulation.processes import Process
from simulation.workload import DAY, Codes, Shape, make_workload
from visceral_cli.contract.identity import input_hash
from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.report import Report
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

DAYS = 7
DUMPS_A_BATCH = 20
"""So many dumps are held against the same later calls, each under a law of its own."""

SETTINGS = Settings(
    extract=ExtractSettings(tools={TOOL: ToolDeclaration(read_only=True, replay_safe=True)}),
    answers_depend_on_who=False,
    workers=1,
)
"""The defaults, for a tool that is declared, and whose answers do not depend on who asks."""


@dataclass(frozen=True, slots=True)
class DumpResult:
    """What became of one dump."""

    process: str
    runs: int
    dump: int
    freshness_seconds: float | None
    """``None``: no rule."""
    any_identity: bool
    """Whether the evidence speaks for arguments that were never seen as well."""
    served: int
    """Later calls that the rule would answer."""
    stale_rate: float
    """The share of them that is stale, in truth."""
    saved_seconds: float
    oracle_seconds: float
    oracle_within_span_seconds: float
    """With no freshness that the traces span fewer times than the analysis asks for."""
    warnings: tuple[str, ...]
    missing: str | None


def simulate(process: Process, runs: int, dumps: Iterable[int], seed: int) -> Iterator[DumpResult]:
    """Yield the results of dumps of one size, by their numbers; the same for the same seed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.jsonl"
        for dump in dumps:
            batch = dump // DUMPS_A_BATCH
            later = _later(
                process.shape, process.later_runs, process.writers_are_seen, runs, batch, seed
            )
            yield _simulate_one(process, runs, dump, seed, later, path)


def _simulate_one(
    process: Process, runs: int, dump: int, seed: int, later: Later, path: Path
) -> DumpResult:
    rng = np.random.default_rng((seed, zlib.crc32(process.name.encode()), runs, dump))
    traces = make_workload(process.shape, runs, from_time=0, to_time=DAYS * DAY, rng=rng)
    if process.shape.life_days is not None:
        later = later.renamed(traces.identities)  # what is asked later was never asked before
    law = process.law(rng, later.calls.identities)
    results = law.results(traces, rng)
    write_dump(path, traces, results, writers_are_seen=process.writers_are_seen)
    with analyze_inputs([str(path)], SETTINGS, Silent()) as analysis:
        report = analysis.report
    [bound] = [bound for bound in report.bounds if bound.tool == TOOL]
    freshness_ns, identities = _granted(report, later.calls.identities)
    outcome = Outcome(0, 0.0, 0.0)
    if freshness_ns:
        outcome = judge(law, later, freshness_ns, identities)
    freshness = SETTINGS.freshness
    longest_ns = round(bound.span_seconds * 1e9 / freshness.span_factor)
    oracle, within_span = oracle_seconds(law, later, freshness.max_stale_rate, longest_ns)
    return DumpResult(
        process=process.name,
        runs=runs,
        dump=dump,
        freshness_seconds=freshness_ns / 1e9 if freshness_ns else None,
        any_identity=bound.proven and bound.scope == "tool",
        served=outcome.served,
        stale_rate=outcome.stale_rate,
        saved_seconds=outcome.saved_seconds,
        oracle_seconds=oracle,
        oracle_within_span_seconds=within_span,
        warnings=bound.warnings,
        missing=bound.missing,
    )


def _granted(report: Report, identities: int) -> tuple[int, Codes]:
    """Return what the rules grant: the freshness, and the identities that may be served.

    Where the evidence speaks for any arguments these are all that no refusal names: a rule names
    the arguments that it is for, but what is said of those never seen is held to the truth as well.
    """
    ages = {rule.action.freshness_seconds or 0.0 for rule in report.rules}
    if not ages:
        return 0, np.zeros(0, np.int64)
    [seconds] = ages
    named = {rule.match.input_hash for rule in report.rules}
    refused = {refusal.input_hash for refusal in report.refusals}
    for_any = {bound.scope for bound in report.bounds if bound.proven} == {"tool"}
    hashes = _hashes(identities)
    granted = [
        identity
        for identity in range(identities)
        if hashes[identity] in named or (for_any and hashes[identity] not in refused)
    ]
    return round(seconds * 1e9), np.array(granted, np.int64)


@lru_cache(maxsize=2)
def _hashes(identities: int) -> list[str]:
    return [input_hash(TOOL, arguments_of(identity)) for identity in range(identities)]


@lru_cache(maxsize=8)
def _later(
    shape: Shape, later_runs: int, writers_are_seen: bool, runs: int, batch: int, seed: int
) -> Later:
    rng = np.random.default_rng((seed, 0, runs, batch))
    end = round(DAYS * DAY * (1 + later_runs / runs))
    calls = make_workload(shape, later_runs, from_time=DAYS * DAY, to_time=end, rng=rng)
    return Later(calls, writers_are_seen=writers_are_seen)
