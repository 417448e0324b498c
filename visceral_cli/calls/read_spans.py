"""Many spans at once into columns of calls: those that are alike are read together."""

from __future__ import annotations

from collections.abc import Sequence

from visceral_cli.calls.alike import is_told_plainly
from visceral_cli.calls.call_columns import CallColumns
from visceral_cli.calls.convention import Convention
from visceral_cli.calls.extract import NO_CONTEXT, Extractor, SpanContext
from visceral_cli.calls.key_plan import Found, KeyPlan
from visceral_cli.calls.span_group import SpansTogether
from visceral_cli.calls.tool_call import Mention, ToolCall
from visceral_cli.ingest.span import Span

Places = list[int]
"""Places of spans among those that are read at once."""


class SpansTold:
    """The calls that spans tell of, and what they tell of calls of other spans."""

    __slots__ = ("calls", "mentions", "unread")

    def __init__(self) -> None:
        self.calls = CallColumns()
        """In no order; each with the record of its span."""
        self.mentions: list[Mention] = []
        self.unread: set[str] = set()
        """Traces with model spans of which it was not read what they ask for."""


def read_spans(
    spans: Sequence[Span], extractor: Extractor, first: int, told: SpansTold
) -> list[SpanContext]:
    """Add all that ``spans`` tell, as :meth:`Extractor.read` tells it of each one alone.

    ``first`` is the record of the first span. Returns whom each span belongs to.

    Raises:
        UsageError: a captured section needs another workspace key.
    """
    belongs = [NO_CONTEXT] * len(spans)
    calls: list[ToolCall] = []
    records: list[int] = []
    for plan, places in _by_plan(spans, extractor):
        if plan.tells_who or extractor.principal is not None:
            for place in places:
                belongs[place] = extractor.who(spans[place], plan)
        groups, apart = _by_row(spans, places, plan, extractor)
        for row, alike in groups:
            together = SpansTogether([spans[place] for place in alike])
            extractor.alike.read(together, [first + place for place in alike], row, told.calls)
        for place, found in apart:
            told_here, asked = extractor.told(spans[place], plan, found)
            calls += told_here
            records += [first + place] * len(told_here)
            told.mentions += asked
    told.calls.add(calls, records)
    return belongs


def _by_plan(spans: Sequence[Span], extractor: Extractor) -> list[tuple[KeyPlan, Places]]:
    groups: dict[int, tuple[KeyPlan, Places]] = {}
    plan_of = extractor.plan_of
    for place, span in enumerate(spans):
        plan = plan_of(span)
        group = groups.get(id(plan))
        if group is None:
            groups[id(plan)] = plan, [place]
        else:
            group[1].append(place)
    return list(groups.values())


def _by_row(
    spans: Sequence[Span], places: Places, plan: KeyPlan, extractor: Extractor
) -> tuple[list[tuple[Convention, Places]], list[tuple[int, Found | None]]]:
    """Return the spans that can be read together, by row, and those that are read one by one.

    Spans that are no calls and tell of none are in neither.
    """
    groups: dict[int, tuple[Convention, Places | None]] = {}
    apart: list[tuple[int, Found | None]] = []
    find = extractor.find
    for place in places:
        span = spans[place]
        found = find(span, plan)
        if found is None:
            if plan.answers is not None or span.events:
                apart.append((place, None))
            continue
        row, kind = found
        group = groups.get(id(row))  # a plan keeps the rows it narrowed: same keys, same object
        if group is None:
            plain = is_told_plainly(
                row, kind, span.attributes, opens_sections=extractor.opens_sections
            )
            group = groups[id(row)] = row, [] if plain else None
        together = group[1]
        if together is None or span.events or span.dropped_attributes:
            apart.append((place, found))
        else:
            together.append(place)
    return [(row, together) for row, together in groups.values() if together], apart
