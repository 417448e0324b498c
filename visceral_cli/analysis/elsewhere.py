"""Whether results of a tool outlive the writes of other runs, proven from the serves across them.

In a fleet that writes all the time some run always writes between a result and its repeat, so if
every such write voided it nothing could ever be reused. The proof of a freshness heeds writes of
the own run only; those of its serves that have a write of another run between them tell whether
such writes matter. If so many of them were right that, at the confidence of the freshness itself,
no more than tolerated are stale, only writes of the own run void results of the tool. Where a
writer was found after which results change, proven or not, every write in the namespace voids.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.barriers import REACHES, Barriers
from visceral_cli.analysis.candidates import block_of, with_identity
from visceral_cli.analysis.comparison import compare, counted_tally, only
from visceral_cli.analysis.figures import ElsewhereFigures
from visceral_cli.analysis.freshness import Bound, NoBound
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.analysis.history import Codes, Flags, Writers
from visceral_cli.analysis.lanes import lay_out
from visceral_cli.analysis.proof import upper_bound
from visceral_cli.analysis.stale_curve import allowed_error
from visceral_cli.analysis.tools import ToolName
from visceral_cli.analysis.writers import writers_of
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import FreshnessSettings


class Elsewhere(msgspec.Struct, frozen=True):
    """What writes of other runs do, to all tools."""

    figures: tuple[ElsewhereFigures, ...]
    """Of the tools with a freshness and such writes in reach, in their order."""
    reach: Mapping[int, Sharing]
    """How far writes of other runs void results, by tool code; `Sharing.RUN`: not at all."""

    def voided(self, barriers: Barriers, source: Codes) -> Flags:
        """Return which calls must not be answered by ``source``, its execution; `NONE`: none."""
        calls = barriers.calls
        rows = np.flatnonzero(source >= 0)
        scopes = [self.reach.get(code, Sharing.RUN) for code in range(len(calls.tools))]
        reach = np.array([REACHES.index(scope) for scope in scopes], np.int32)[calls.tool[rows]]
        ends = barriers.latest_end(rows, calls.start_ns[rows], reach)
        voided = np.zeros(len(calls), np.bool_)
        voided[rows] = ends >= calls.start_ns[source[rows]]
        return voided


def judge_elsewhere(
    tools: Sequence[ToolHistory],
    bounds: Sequence[Bound | NoBound],
    scopes: Mapping[int, Sharing],
    barriers: Barriers,
    changed_by_writer: Collection[ToolName],
    settings: FreshnessSettings,
) -> Elsewhere:
    """Return what writes of other runs do; ``bounds[i]`` belongs to ``tools[i]``.

    ``scopes``: by tool code, between which calls its results pass. ``changed_by_writer``: the tools
    whose results were found to change after some writer.
    """
    writers = writers_of(barriers.calls)
    figures: list[ElsewhereFigures] = []
    reach: dict[int, Sharing] = {}
    for tool, bound in zip(tools, bounds, strict=True):
        changed = tool.facts.name in changed_by_writer
        reach[tool.code] = Sharing.ALL if changed else scopes[tool.code]
        if isinstance(bound, NoBound):
            continue
        found = _judge(tool, bound, reach[tool.code], writers, barriers, settings)
        if found is None:
            continue
        if changed:
            found = replace(found, harmless=False)
        if found.harmless:
            reach[tool.code] = Sharing.RUN
        figures.append(found)
    return Elsewhere(tuple(figures), reach)


def _judge(
    tool: ToolHistory,
    bound: Bound,
    scope: Sharing,
    writers: Writers,
    barriers: Barriers,
    settings: FreshnessSettings,
) -> ElsewhereFigures | None:
    """Return the figures of a tool; ``None`` where no serve has such a write between."""
    if scope is Sharing.RUN:
        return None
    known = np.flatnonzero(tool.calls.identity >= 0)
    calls, rows = with_identity(tool.calls), tool.rows[known]
    blocks = block_of(len(known), settings.blocks)
    lanes = lay_out(calls, writers)
    compared = compare(lanes, bound.freshness_ns, blocks)
    call, source = rows[lanes.row[compared.call]], rows[lanes.row[compared.source]]
    reach = np.full(len(call), REACHES.index(scope), np.int32)
    start_ns, end_ns = barriers.calls.start_ns, barriers.calls.end_ns
    between = barriers.latest_end(call, start_ns[call], reach) >= start_ns[source]
    between |= barriers.latest_end(source, end_ns[source], reach) >= start_ns[source]
    if not between.any():
        return None
    counts = counted_tally(
        only(compared, between, blocks).cells, settings.max_stale_rate, allowed_error(settings)
    )
    at_most = upper_bound(
        counts.stale_observations, counts.observations, bound.level, anytime=settings.anytime
    )
    name = tool.facts.name
    return ElsewhereFigures(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        serves=counts.serves,
        stale=counts.stale,
        effective_observations=counts.observations,
        stale_rate_at_most=at_most,
        harmless=at_most <= settings.max_stale_rate,
    )
