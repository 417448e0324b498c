"""Inputs in, report out.

Reading takes most of the time, in other processes. So only what asks for it is imported at the top,
and what comes after it, `visceral_cli.stages` above all, is imported while they read.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from visceral_cli import __version__
from visceral_cli.loading.fork_server import interrupts_later
from visceral_cli.progress import Progress
from visceral_cli.settings import Settings

with interrupts_later():  # DuckDB takes one that meets its import for an error of its own
    from visceral_cli.loading.fill import FilledStore, filled_store

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from visceral_cli.analysis.figures import WhatIf
    from visceral_cli.report.page.detail import PageDetail
    from visceral_cli.report.page.gather import PageWanted
    from visceral_cli.report.report import Report
    from visceral_cli.report.verification import VerificationReport
    from visceral_cli.verify.verify import VerifyRequest


class IngestSummary(msgspec.Struct, frozen=True):
    """What one ``visceral ingest`` did, and what the store holds now."""

    files_loaded: int
    files_skipped: int
    files_replaced: int
    files_other: int
    """Files of a folder that hold nothing of a known kind."""
    spans: int
    tool_calls: int
    damaged: int


class Analysis(msgspec.Struct, frozen=True):
    """A report, and the store behind it while it is open."""

    report: Report
    store: duckdb.DuckDBPyConnection
    page: PageDetail | None = None
    """Single calls for the page, where they were asked for."""

    def calls(self, *, show_arguments: bool) -> pa.RecordBatchReader:
        """Return one row per call in the order of time; see ``report.call_rows``."""
        from visceral_cli.report.call_rows import call_rows

        return call_rows(self.store, show_arguments=show_arguments)


@contextmanager
def analyze_inputs(
    inputs: Sequence[str],
    settings: Settings,
    progress: Progress,
    page: PageWanted | None = None,
    *,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[Analysis]:
    """Run the whole analysis over ``inputs``: files, folders, globs, ``-`` or one store.

    ``page``: what to collect for the page beside the report; by default nothing. ``meanwhile`` is
    called once, in large inputs while other processes read.

    Raises:
        InputError: nothing usable was found, or ``settings.strict`` met damage.
        UsageError: the store cannot be used.
    """
    kept = settings
    if page is not None:
        from visceral_cli.report.page.gather import settings_for_page

        kept = settings_for_page(settings, inputs)
    with filled_store(
        inputs, kept, progress, meanwhile=partial(_import_stages, meanwhile)
    ) as filled:
        from visceral_cli.loading.narrow import narrow
        from visceral_cli.stages import report_of

        if kept is not settings:
            from visceral_cli.report.page.gather import forget_arguments

            forget_arguments(filled.store, settings.extract)
        narrow(filled.store, settings)
        report, detail = report_of(filled, inputs, settings, progress, page)
        yield Analysis(report, filled.store, detail)


def ingest_inputs(inputs: Sequence[str], settings: Settings, progress: Progress) -> IngestSummary:
    """Load ``inputs`` into the store that the settings name, and count what it holds.

    Raises as :func:`analyze_inputs`.
    """
    with filled_store(inputs, settings, progress, meanwhile=_imported) as filled:
        from visceral_cli.report.gather import inputs_of

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
    with filled_store(inputs, settings, progress, meanwhile=_imported) as filled:
        from visceral_cli.analysis.curves import curves_of
        from visceral_cli.loading.narrow import narrow

        narrow(filled.store, settings)
        progress.stage("proving freshness")
        return curves_of(filled.store, tool, settings)


def verify_inputs(
    inputs: Sequence[str], settings: Settings, request: VerifyRequest, progress: Progress
) -> VerificationReport:
    """Replay the calls of ``inputs`` under rules: those given, or derived from the earlier calls.

    Raises as :func:`analyze_inputs`; `InputError` also when no call falls under a rule.
    """
    with filled_store(inputs, settings, progress, meanwhile=_imported) as filled:
        from visceral_cli.gate.places import with_places
        from visceral_cli.loading.narrow import narrow
        from visceral_cli.report.gather import inputs_of
        from visceral_cli.report.verification import VerificationReport
        from visceral_cli.report.verification_cases import cases_of
        from visceral_cli.verify.verify import verify_calls

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
    from visceral_cli.stages import report_of
    from visceral_cli.verify.holdout import earlier_part, holdout_start_ns, no_rule_derived

    assert request.holdout_rate is not None
    from_ns = holdout_start_ns(filled.store, settings, request.holdout_rate)
    with earlier_part(filled.store, settings, from_ns):
        report, _ = report_of(filled, inputs, settings, progress, None)
    if not report.rules:
        raise no_rule_derived(request.holdout_rate)
    return replace(request, rules=report.rules, from_ns=from_ns)


def _import_stages(meanwhile: Callable[[], object] | None = None) -> None:
    with interrupts_later():
        import visceral_cli.stages  # noqa: F401

        if meanwhile is not None:
            meanwhile()
    _imported()


def _imported() -> None:
    """Let collections begin, if the program put them off, and never look at what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
