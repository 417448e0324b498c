"""What the keys of a span's attributes tell before any of its values is read.

Spans of one instrumentation carry the same keys in the same order. Which conventions may apply,
which of a convention's keys stand there, and whether anything can name a session or ask for a call
follows from the keys alone, so it is found once for each set of keys and then looked up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from visceral_cli.calls.convention import Convention, Text
from visceral_cli.calls.conventions import AGENT_KEYS, MARKER_KEYS, SESSION_KEYS, USER_KEYS
from visceral_cli.calls.mentions import AnswerKeys, answer_keys
from visceral_cli.calls.places import EMPTY_PAIR
from visceral_cli.calls.tool_call import CallKind
from visceral_cli.contract import attributes as names
from visceral_cli.ingest.span import Span

_MOST_PLANS = 1024
"""How many sets of keys are remembered; a file of one instrumentation has a few dozen."""

_MOST_KEYS = 64
"""Sets of more keys are not remembered: numbered keys make almost every one another."""

Found = tuple[Convention, CallKind]
"""A row of the table, narrowed to the keys of a span, and the kind of call that the span tells."""

Candidates = tuple[tuple[Convention, CallKind, bool], ...]
"""Rows that a marker's value leads to, narrowed to the keys; whether they have conditions."""


@dataclass(slots=True)
class KeyPlan:
    """What one set of keys, under one scope, tells."""

    markers: tuple[str, ...]
    """The keys of markers that are there, the more telling first."""
    session: tuple[str, ...]
    user: tuple[str, ...]
    agent: tuple[str, ...]
    tells_who: bool
    """Whether there is any of these three."""
    answers: AnswerKeys | None
    """Where calls may be asked for; ``None``: nowhere."""
    candidates: dict[tuple[str, str], Candidates] = field(default_factory=dict)
    """By marker and value, as far as they were looked up."""
    rows: dict[str, Convention] = field(default_factory=dict)
    """Narrowed rows by name, as far as they were needed."""


class KeyPlans:
    """Plans by scope and keys, in the order in which the keys stand."""

    def __init__(self) -> None:
        self._plans: dict[tuple[str, ...], KeyPlan] = {}
        self._get = self._plans.get

    def of(self, span: Span) -> KeyPlan:
        """Return the plan of a span's keys."""
        keys = (span.scope, *span.attributes)
        plan = self._get(keys)
        if plan is None:
            plan = plan_of(span.attributes)
            if len(keys) <= _MOST_KEYS:
                if len(self._plans) >= _MOST_PLANS:
                    self._plans.clear()
                self._plans[keys] = plan
        return plan


def plan_of(attributes: Mapping[str, object]) -> KeyPlan:
    """Return what a set of keys tells."""
    session = _present(SESSION_KEYS, attributes)
    user = _present(USER_KEYS, attributes)
    agent = _present(AGENT_KEYS, attributes)
    return KeyPlan(
        _present(MARKER_KEYS, attributes),
        session,
        user,
        agent,
        bool(session or user or agent),
        answer_keys(attributes),
    )


def narrowed(row: Convention, keys: Collection[str]) -> Convention:
    """Return a row of the table without the keys that a span does not have.

    Read by it, a span with these keys gives what it gives by the whole row. A key stays that was
    taken apart into ``key.a``, ``key.b``.
    """
    arguments = _whole_or_apart(row.arguments, keys)
    is_first = bool(arguments) and arguments[0] == row.arguments[0]
    return replace(
        row,
        tool=_present(row.tool, keys),
        arguments=arguments,
        argument_text=row.argument_text if is_first else Text.JSON,
        argument_mime=row.argument_mime if row.argument_mime in keys else None,
        schema=row.schema if row.schema in keys else None,
        result=_whole_or_apart(row.result, keys),
        result_mime=row.result_mime if row.result_mime in keys else None,
        sealed=row.sealed and _any_starts(keys, _SEALED),
        empty_pair_is_missing=row.empty_pair_is_missing and all(key in keys for key in EMPTY_PAIR),
        documents=row.documents and _any_starts(keys, _DOCUMENTS),
        failed_if=tuple((key, value) for key, value in row.failed_if if key in keys),
        call_id=_present(row.call_id, keys),
        session=_present(row.session, keys),
        user=_present(row.user, keys),
        agent=_present(row.agent, keys),
        version=_present(row.version, keys),
        cost=_present(row.cost, keys),
    )


_SEALED = (f"{names.INPUT_SECTION}.", f"{names.OUTPUT_SECTION}.", names.INPUT_HASH)
_DOCUMENTS = ("retrieval.", "reranker.", "embedding.")


def _present(wanted: tuple[str, ...], keys: Collection[str]) -> tuple[str, ...]:
    return tuple(key for key in wanted if key in keys)


def _whole_or_apart(wanted: tuple[str, ...], keys: Collection[str]) -> tuple[str, ...]:
    return tuple(key for key in wanted if key in keys or _any_starts(keys, (f"{key}.",)))


def _any_starts(keys: Collection[str], starts: tuple[str, ...]) -> bool:
    return any(key.startswith(starts) for key in keys)
