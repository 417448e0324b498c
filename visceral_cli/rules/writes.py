"""What a rule says of writes: which of them end its results, and which were learned to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from visceral_cli.analysis.figures import ElsewhereFigures, InvalidationFigures
from visceral_cli.analysis.tools import ToolName
from visceral_cli.contract.rule import Sharing
from visceral_cli.rules.evidence import ToolEvidence, rounded


def with_writes(
    tools: Iterable[ToolEvidence],
    elsewhere: Sequence[ElsewhereFigures],
    invalidations: Sequence[InvalidationFigures],
) -> Iterator[ToolEvidence]:
    """Yield the evidence of every tool, with what writes were found to do to its results."""
    of_tool = {ToolName(one.namespace, one.tool, one.kind): one for one in elsewhere}
    learned: dict[ToolName, list[InvalidationFigures]] = {}
    for found in invalidations:
        learned.setdefault(ToolName(found.namespace, found.tool, found.kind), []).append(found)
    for tool in tools:
        name = tool.facts.name
        yield replace(tool, elsewhere=of_tool.get(name), invalidations=tuple(learned.get(name, ())))


def reach_of_writes(tool: ToolEvidence) -> Sharing | None:
    """Return how far writes of other runs reach; ``None``: as far as results are shared."""
    if tool.invalidations:
        return Sharing.ALL
    return Sharing.RUN if tool.elsewhere is not None and tool.elsewhere.harmless else None


def writes_to_json(tool: ToolEvidence) -> dict[str, Any]:
    """Return the members of a rule's evidence that tell of writes; none where there is nothing.

    ``writers_elsewhere``: the serves of the proof over a write of another run. ``cleared_by``: the
    writers after which results change, by the argument whose value both share, with the counts for
    and against and the bound. They are for people: no client narrows its barrier by them. A writer
    that declares ``invalidates`` does.
    """
    found: dict[str, Any] = {}
    if tool.elsewhere is not None:
        found["writers_elsewhere"] = {
            "serves": tool.elsewhere.serves,
            "stale": tool.elsewhere.stale,
            "effective_observations": rounded(tool.elsewhere.effective_observations),
            "stale_rate_at_most": rounded(tool.elsewhere.stale_rate_at_most),
            "harmless": tool.elsewhere.harmless,
        }
    if tool.invalidations:
        found["cleared_by"] = [
            {
                "writer": one.writer,
                "argument": one.argument,
                "writer_argument": one.writer_argument,
                "matching": one.matching,
                "matching_changed": one.matching_changed,
                "changed_rate_at_least": rounded(one.changed_rate_at_least),
                "other": one.other,
                "other_changed": one.other_changed,
                "other_rate_at_most": rounded(one.other_rate_at_most),
                "proven": one.proven,
            }
            for one in tool.invalidations
        ]
    return found
