"""Spans with the same scope and keys, of which fields and attributes are read as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Protocol

from visceral_cli.calls import places
from visceral_cli.ingest.span import Resource, Span
from visceral_cli.ingest.span_columns import SpanColumns


class SpanGroup(Protocol):
    """Several spans; none has events or lost attributes."""

    @property
    def keys(self) -> Mapping[str, object]:
        """The keys of their attributes, in order."""

    def __len__(self) -> int: ...

    def field(self, name: str) -> list[Any]:
        """Return a field of :class:`Span` of each span."""

    def column(self, key: str) -> list[Any]:
        """Return the attribute of each span under one of ``keys``."""

    def span(self, place: int) -> Span:
        """Return one of the spans."""

    def part(self, kept: Sequence[int]) -> SpanGroup:
        """Return the spans at some places."""


class SpansTogether:
    """A group of spans that are objects."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self.keys: Mapping[str, object] = spans[0].attributes

    def __len__(self) -> int:
        return len(self._spans)

    def field(self, name: str) -> list[Any]:
        """See :meth:`SpanGroup.field`."""
        return list(map(attrgetter(name), self._spans))

    def column(self, key: str) -> list[Any]:
        """See :meth:`SpanGroup.column`."""
        return [span.attributes[key] for span in self._spans]

    def span(self, place: int) -> Span:
        """See :meth:`SpanGroup.span`."""
        return self._spans[place]

    def part(self, kept: Sequence[int]) -> SpansTogether:
        """See :meth:`SpanGroup.part`."""
        return SpansTogether([self._spans[place] for place in kept])


class SpansInColumns:
    """A group of the spans of columns that have one shape."""

    def __init__(self, columns: SpanColumns, at: Sequence[int]) -> None:
        self._columns = columns
        self._at = at
        self._pick: Callable[[list[Any]], Sequence[Any]] = (
            itemgetter(*at) if len(at) > 1 else lambda column: (column[at[0]],)
        )
        self._shape = columns.shape[at[0]]
        self._values = self._pick(columns.values)
        self.keys: Mapping[str, object] = self._shape.place_of

    def __len__(self) -> int:
        return len(self._at)

    def field(self, name: str) -> list[Any]:
        """See :meth:`SpanGroup.field`."""
        if name == "scope":
            return [self._shape.scope] * len(self._at)
        return list(self._pick(getattr(self._columns, name)))

    def column(self, key: str) -> list[Any]:
        """See :meth:`SpanGroup.column`."""
        place = self._shape.place_of[key]
        return [values[place] for values in self._values]

    def span(self, place: int) -> Span:
        """See :meth:`SpanGroup.span`."""
        return self._columns.span(self._at[place])

    def part(self, kept: Sequence[int]) -> SpansInColumns:
        """See :meth:`SpanGroup.part`."""
        return SpansInColumns(self._columns, [self._at[place] for place in kept])


def texts(group: SpanGroup, keys: tuple[str, ...]) -> list[str | None]:
    """Return the first of ``keys`` that is a text, span by span; see `places.first_text`."""
    if not keys:
        return [None] * len(group)
    found = [
        value if value and type(value) is str else places.as_text(value)
        for value in group.column(keys[0])
    ]
    if len(keys) > 1 and None in found:
        others = texts(group, keys[1:])
        return [other if one is None else one for one, other in zip(found, others, strict=True)]
    return found


def named(group: SpanGroup, attribute: str) -> list[str | None]:
    """Return an attribute that the user named, span by span; see `places.named`."""
    resources: list[Resource] = group.field("resource")
    told = group.column(attribute) if attribute in group.keys else [None] * len(group)
    return [
        places.as_name(resource.attributes.get(attribute) if value is None else value)
        for value, resource in zip(told, resources, strict=True)
    ]


def services(group: SpanGroup) -> list[str | None]:
    """Return the service of each span; many share one resource."""
    resources: list[Resource] = group.field("resource")
    by_id = {id(resource): resource for resource in resources}
    told = {key: resource.service for key, resource in by_id.items()}
    if len(told) == 1:
        return list(told.values()) * len(resources)
    return [told[id(resource)] for resource in resources]
