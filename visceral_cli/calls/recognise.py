"""A span to the row of the table of conventions it belongs to, by a few dictionary look-ups."""

from __future__ import annotations

from collections.abc import Iterable

from visceral_cli.calls.convention import ANY, Convention
from visceral_cli.calls.conventions import CONVENTIONS, MARKER_KEYS
from visceral_cli.calls.tool_call import CallKind
from visceral_cli.ingest.span import Span

_MARKERS = frozenset(MARKER_KEYS)

_Candidate = tuple[Convention, CallKind]

_MOST_KNOWN = 4096
"""How many (key, value, scope) are remembered; values of markers are few unless a file is odd."""


class Recogniser:
    """Finds the row of a span; remembers what it found for each value of a marker and scope."""

    def __init__(self, conventions: Iterable[Convention] = CONVENTIONS) -> None:
        self._conventions = tuple(conventions)
        self._known: dict[tuple[str, str, str], tuple[tuple[_Candidate, bool], ...]] = {}
        self._any = frozenset(
            marker.key for row in self._conventions for marker in row.markers if ANY in marker.kinds
        )
        self._by_name = tuple(row for row in self._conventions if not row.markers)
        self._name_starts = tuple(
            start for row in self._by_name for start in (*row.span_names, *row.span_prefixes)
        )

    def find(self, span: Span) -> _Candidate | None:
        """Return the row and the kind of call, or ``None`` for a span that is no call."""
        if not _MARKERS.isdisjoint(span.attributes):
            found = self._find_by_marker(span)
            if found is not None:
                return found
        if span.name.startswith(self._name_starts):
            return self._find_by_name(span)
        return None

    def _find_by_marker(self, span: Span) -> _Candidate | None:
        get = span.attributes.get
        for key in MARKER_KEYS:
            value = get(key)
            if value is not None and type(value) is str:
                known = (key, ANY if key in self._any else value, span.scope)
                candidates = self._known.get(known)
                if candidates is None:
                    candidates = self._learn(known)
                for candidate, conditional in candidates:
                    if not conditional or _conditions_hold(candidate[0], span):
                        return candidate
        return None

    def _learn(self, known: tuple[str, str, str]) -> tuple[tuple[_Candidate, bool], ...]:
        key, value, scope = known
        candidates = tuple(
            ((row, marker.kinds[value]), _has_conditions(row))
            for row in self._conventions
            for marker in row.markers
            if marker.key == key and value in marker.kinds and scope.startswith(row.scopes or "")
        )
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[known] = candidates
        return candidates

    def _find_by_name(self, span: Span) -> _Candidate | None:
        for row in self._by_name:
            if span.scope.startswith(row.scopes or "") and _conditions_hold(row, span):
                return row, CallKind.TOOL
        return None


def _has_conditions(row: Convention) -> bool:
    return bool(row.span_names or row.span_prefixes or row.requires or row.unless)


def _conditions_hold(row: Convention, span: Span) -> bool:
    attributes = span.attributes
    named = span.name in row.span_names or span.name.startswith(row.span_prefixes)
    if not named and (row.span_names or row.span_prefixes):
        return False
    if any(attributes.get(key) is not None for key in row.unless):
        return False
    return all(attributes.get(key) == value for key, value in row.requires)
