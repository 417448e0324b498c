"""Many spans field by field: one list for each field, as long as there are spans.

Of millions of spans most are never looked at as one object: what is read of them are columns. The
reader of clean OTLP gives them in this form where it is asked to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from visceral_cli.ingest.span import Resource, Span

_MOST_SHAPES = 1024
"""How many are remembered; a file of one instrumentation has a few dozen."""

_MOST_KEYS = 64
"""Shapes of more keys are not remembered: numbered keys make almost every one another."""


_FEW_SHAPES = 8


class Shape:
    """What spans have in common with the same scope and the same attribute keys in one order."""

    __slots__ = ("key_list", "keys", "place_of", "plan", "scope")

    def __init__(self, scope: str, keys: tuple[str, ...]) -> None:
        self.scope = scope
        self.keys = keys
        self.key_list = list(keys)
        self.place_of = {key: place for place, key in enumerate(keys)}
        """Where the value of a key stands."""
        self.plan: Any = None
        """For whoever reads the spans: what follows from the keys, once it was found."""


class Shapes:
    """Shapes by scope and keys."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, tuple[str, ...]], Shape] = {}
        self._last: dict[tuple[str, int], deque[Shape]] = {}

    def of(self, scope: str, keys: tuple[str, ...]) -> Shape:
        """Return the shape; the same object each time, but for very many keys."""
        shape = self._shapes.get((scope, keys))
        if shape is None:
            shape = Shape(scope, keys)
            if len(keys) <= _MOST_KEYS:
                if len(self._shapes) >= _MOST_SHAPES:
                    self._shapes.clear()
                    self._last.clear()
                self._shapes[scope, keys] = shape
        return shape

    def of_each(self, scope: str, keys_of_spans: Iterable[list[str]]) -> list[Shape]:
        """Return the shape of each span of a scope.

        Comparing keys with those of the last few shapes of as many keys mostly finds it, for half
        the time that it takes to look them up: their hashes are not needed.
        """
        shapes = []
        for keys in keys_of_spans:
            last = self._last.get((scope, len(keys)))
            for shape in last or ():
                if shape.key_list == keys:
                    break
            else:
                shape = self.of(scope, tuple(keys))
                if last is None:
                    last = self._last[scope, len(keys)] = deque(maxlen=_FEW_SHAPES)
                last.appendleft(shape)
            shapes.append(shape)
        return shapes


class SpanColumns:
    """Spans without events that lost no attributes; fields as in :class:`Span`."""

    __slots__ = (
        "end_ns",
        "kind",
        "name",
        "parent_span_id",
        "resource",
        "shape",
        "span_id",
        "start_ns",
        "status",
        "status_message",
        "trace_id",
        "values",
    )

    def __init__(self) -> None:
        self.trace_id: list[str] = []
        self.span_id: list[str] = []
        self.parent_span_id: list[str | None] = []
        self.name: list[str] = []
        self.start_ns: list[int] = []
        self.end_ns: list[int] = []
        self.kind: list[int] = []
        self.status: list[int] = []
        self.status_message: list[str] = []
        self.resource: list[Resource] = []
        self.shape: list[Shape] = []
        self.values: list[list[object]] = []
        """The values of a span's attributes, in the order of the keys of its shape."""

    def __len__(self) -> int:
        return len(self.span_id)

    def add(self, later: SpanColumns) -> None:
        """Add the spans of ``later`` behind these."""
        for field in self.__slots__:
            column: list[object] = getattr(self, field)
            column += getattr(later, field)

    def span(self, place: int) -> Span:
        """Return one span as an object."""
        shape = self.shape[place]
        return Span(
            self.trace_id[place],
            self.span_id[place],
            self.parent_span_id[place],
            self.name[place],
            self.start_ns[place],
            self.end_ns[place],
            dict(zip(shape.keys, self.values[place], strict=True)),
            self.resource[place],
            self.kind[place],
            self.status[place],
            self.status_message[place],
            [],
            shape.scope,
            0,
        )

    def spans(self) -> list[Span]:
        """Return all as objects."""
        return [self.span(place) for place in range(len(self))]
