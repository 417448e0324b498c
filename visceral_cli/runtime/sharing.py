"""For whom the agent acts here, and between which calls a stored result may pass.

A rule says ``run``, ``session``, ``user``, ``service`` or ``all``. What is narrower than a service
is kept apart by whom it is for; where that is not known nothing is served. Services are kept apart
in any case.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Protocol

from visceral_cli.contract.attributes import RUN_ID, SESSION_ID, USER_ID
from visceral_cli.contract.rule import Sharing
from visceral_cli.runtime import trace_context
from visceral_cli.runtime.run import current_run


@dataclass(frozen=True, slots=True)
class ActingFor:
    """The user and the session that are known here."""

    user: str | None = None
    session: str | None = None


_NOBODY = ActingFor()
_current: ContextVar[ActingFor] = ContextVar("visceral_acting_for", default=_NOBODY)


class TakesAttributes(Protocol):
    """A span."""

    def set(self, name: str, value: object) -> None:
        """Add an attribute."""


@contextlib.contextmanager
def acting_for(*, user: str | None = None, session: str | None = None) -> Iterator[None]:
    """Say for whom the agent acts in the body; what is not given stays as it was.

    Spans carry it as ``user.id`` and ``session.id``, so that the analysis can tell whether users
    may share results; rules that are limited to a user or a session serve only where it is known.
    """
    known = _current.get()
    changed = replace(known, user=user or known.user, session=session or known.session)
    entered = _current.set(changed)
    try:
        yield
    finally:
        _current.reset(entered)


def name_on_span(span: TakesAttributes) -> None:
    """Write for whom the agent acts and in which declared run, where that is known."""
    run = current_run.get()
    if run is not None:
        span.set(RUN_ID, run.run_id)
    known = _current.get()
    if known is _NOBODY:
        return
    if known.user is not None:
        span.set(USER_ID, known.user)
    if known.session is not None:
        span.set(SESSION_ID, known.session)


def partition_of(scope: Sharing | None) -> list[str] | None:
    """Return what keeps results of the scope apart; ``None``: not known, so nothing may pass.

    A run is the declared one that is open here, else the trace: what the analysis took for one. In
    a run or session of several users each has its own results.
    """
    if scope in (None, Sharing.SERVICE, Sharing.ALL):
        return []
    known = _current.get()
    if scope is Sharing.USER:
        return None if known.user is None else ["user", known.user]
    user = [] if known.user is None else ["user", known.user]
    if scope is Sharing.SESSION:
        return None if known.session is None else ["session", known.session, *user]
    run, span = current_run.get(), trace_context.current()
    if run is not None:
        return ["run", run.run_id, *user]
    return None if span is None else ["trace", span.trace_id, *user]
