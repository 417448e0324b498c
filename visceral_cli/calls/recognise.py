"""A span to the row of the table of conventions it belongs to, by a few dictionary look-ups."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from visceral_cli.calls import key_plan
from visceral_cli.calls.convention import ANY, Convention
from visceral_cli.calls.conventions import CONVENTIONS
from visceral_cli.calls.key_plan import Candidates, Found, KeyPlan
from visceral_cli.calls.tool_call import CallKind
from visceral_cli.ingest.span import Span

_MOST_VALUES = 64
"""How many values of markers a plan remembers; they are few unless a file is odd."""


class Undecided(Enum):
    """What has a say where the markers of a span do not decide what it is."""

    NAME = "its name"
    """No marker leads to a row."""
    ALL = "its name and other attributes"


class Recogniser:
    """Finds the row of a span, narrowed to the keys that the span has."""

    def __init__(self, conventions: Iterable[Convention] = CONVENTIONS) -> None:
        self._conventions = tuple(conventions)
        self.any_text = frozenset(
            marker.key for row in self._conventions for marker in row.markers if ANY in marker.kinds
        )
        """The keys of markers of which any text leads to the same rows."""
        self._by_name = tuple(row for row in self._conventions if not row.markers)
        self._name_starts = tuple(
            start for row in self._by_name for start in (*row.span_names, *row.span_prefixes)
        )

    def find(self, span: Span, plan: KeyPlan) -> Found | None:
        """Return the row and the kind of call, or ``None`` for a span that is no call.

        ``plan`` is that of the span's scope and keys.
        """
        for key in plan.markers:
            for row, kind, has_conditions in self._candidates(key, span, plan):
                if not has_conditions or _conditions_hold(row, span):
                    return row, kind
        if self.may_be_named(span.name):
            return self._find_by_name(span, plan)
        return None

    def decided(self, span: Span, plan: KeyPlan) -> Found | Undecided:
        """Return what :meth:`find` does for all spans of the plan whose markers have these values.

        That is, unless something else than the markers has a say.
        """
        for key in plan.markers:
            candidates = self._candidates(key, span, plan)
            if candidates:
                row, kind, has_conditions = candidates[0]
                return Undecided.ALL if has_conditions else (row, kind)
        return Undecided.NAME

    def may_be_named(self, name: str) -> bool:
        """Whether the name of a span without markers may be that of a call."""
        return name.startswith(self._name_starts)

    def _candidates(self, key: str, span: Span, plan: KeyPlan) -> Candidates:
        value = span.attributes[key]
        if type(value) is not str:
            return ()
        known = (key, ANY if key in self.any_text else value)
        candidates = plan.candidates.get(known)
        return self._learn(known, plan, span) if candidates is None else candidates

    def _learn(self, known: tuple[str, str], plan: KeyPlan, span: Span) -> Candidates:
        key, value = known
        candidates = tuple(
            (_row(row, plan, span), marker.kinds[value], _has_conditions(row))
            for row in self._conventions
            for marker in row.markers
            if marker.key == key
            and value in marker.kinds
            and span.scope.startswith(row.scopes or "")
        )
        if len(plan.candidates) >= _MOST_VALUES:
            plan.candidates.clear()
        plan.candidates[known] = candidates
        return candidates

    def _find_by_name(self, span: Span, plan: KeyPlan) -> Found | None:
        for row in self._by_name:
            if span.scope.startswith(row.scopes or "") and _conditions_hold(row, span):
                return _row(row, plan, span), CallKind.TOOL
        return None


def _row(row: Convention, plan: KeyPlan, span: Span) -> Convention:
    known = plan.rows.get(row.name)
    if known is None:
        known = plan.rows[row.name] = key_plan.narrowed(row, span.attributes)
    return known


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
