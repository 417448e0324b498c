"""The figures of every tool: its calls by verdict, its time and money, what is known of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from visceral_cli.analysis.columns import NANO, CallColumns
from visceral_cli.analysis.figures import ToolFigures, Verdict
from visceral_cli.analysis.history import Flags, Times
from visceral_cli.analysis.verdicts import VERDICTS, CallVerdicts


def tool_figures(
    calls: CallColumns, verdicts: CallVerdicts, unstable: Mapping[int, str] | None = None
) -> list[ToolFigures]:
    """Return one row per tool, most repeated seconds first, then by name.

    ``unstable`` says, by tool code, what is said of a tool whose results differ although nothing
    changed.
    """
    said = unstable or {}
    tools = len(calls.tools)
    tally = np.bincount(
        calls.tool.astype(np.int64) * len(VERDICTS) + verdicts.verdict,
        minlength=tools * len(VERDICTS),
    ).reshape(tools, len(VERDICTS))
    duration_ns = calls.duration_ns
    tool_ns = _sums(calls, duration_ns)
    repeat_ns = _sums(calls, np.where(verdicts.is_(Verdict.REUSABLE), duration_ns, 0))
    in_flight_ns = _sums(calls, verdicts.in_flight_ns)
    repeats = _counts(calls, verdicts.repeat)
    failed = _counts(calls, calls.failed)
    without_identity = _counts(calls, calls.identity < 0)
    without_content = _counts(calls, calls.content < 0)
    costs = _costs(calls)
    figures = []
    for code, facts in enumerate(calls.tools):
        of = dict(zip(VERDICTS, tally[code].tolist(), strict=True))
        first, end = calls.identity_starts[code : code + 2].tolist()
        figures.append(
            ToolFigures(
                namespace=facts.name.namespace,
                tool=facts.name.tool,
                kind=facts.name.kind,
                calls=int(tally[code].sum()),
                failed=failed[code],
                without_identity=without_identity[code],
                without_content=without_content[code],
                identities=end - first,
                repeats=repeats[code],
                same_result=of[Verdict.REUSABLE],
                changed=of[Verdict.CHANGED],
                in_flight=of[Verdict.IN_FLIGHT],
                retries=of[Verdict.RETRY],
                after_writer=of[Verdict.AFTER_WRITER],
                unverifiable=of[Verdict.UNVERIFIABLE],
                served=of[Verdict.SERVED],
                verified=of[Verdict.VERIFY],
                tool_seconds=tool_ns[code] / NANO,
                repeat_seconds=repeat_ns[code] / NANO,
                in_flight_seconds=in_flight_ns[code] / NANO,
                cost_usd=costs[code],
                readonly=facts.readonly,
                replay_safe=facts.replay_safe,
                writer=facts.writer,
                declared_by=facts.declared_by,
                freshness_cap_seconds=facts.freshness_cap_seconds,
                unstable=said.get(code),
            )
        )
    return sorted(
        figures, key=lambda tool: (-tool.repeat_seconds, tool.namespace, tool.tool, tool.kind)
    )


def _counts(calls: CallColumns, counted: Flags) -> list[int]:
    counts: list[int] = np.bincount(calls.tool[counted], minlength=len(calls.tools)).tolist()
    return counts


def _sums(calls: CallColumns, values: Times) -> list[int]:
    sums = np.zeros(len(calls.tools), np.int64)
    np.add.at(sums, calls.tool, values)
    totals: list[int] = sums.tolist()
    return totals


def _costs(calls: CallColumns) -> list[float | None]:
    known = calls.cost_nanousd >= 0
    priced = _counts(calls, known)
    sums = _sums(calls, np.where(known, calls.cost_nanousd, 0))
    return [total / NANO if number else None for total, number in zip(sums, priced, strict=True)]
