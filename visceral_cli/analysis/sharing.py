"""Who may share a result of a tool: the widest scope in which equal questions got equal answers.

The scopes are a run, a session, a user, a service and all of the namespace, each within the next.
A step from one to the next is judged by the calls that it brings together. Where answers depend on
it (`dependence`), the scope stays below. Across users and services a step has to be proven like a
freshness, by the serves across it alone. Within one user it is enough that serves across it were
compared, in as many results and runs as any freshness asks for, and that no more of them were stale
than is tolerated: the freshness itself is then proven on all serves of the scope. Where no span
names a user, nothing is shared beyond a session.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import msgspec
import numpy as np
from msgspec.structs import replace

from visceral_cli.analysis.candidates import measure_curve
from visceral_cli.analysis.columns import NONE, CallColumns, Numbers, ranked
from visceral_cli.analysis.dependence import Answers, compare_answers
from visceral_cli.analysis.figures import SharingFigures, SharingStep
from visceral_cli.analysis.histories import ToolHistory, with_identities_of
from visceral_cli.analysis.history import ToolCalls, Writers, count_distinct
from visceral_cli.analysis.scopes import Who, split_identities
from visceral_cli.analysis.sharing_words import NOBODY, SAID, depends, not_taken, taken
from visceral_cli.analysis.stale_curve import CurvePoint, StaleCurve, allowed_error, climb
from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import FreshnessSettings, Settings

_WITHIN_A_USER = frozenset({Sharing.SESSION, Sharing.USER})


class ToolSharing(msgspec.Struct, frozen=True):
    """Who may share the results of one tool."""

    scope: Sharing
    figures: SharingFigures
    longest_seconds: float | None = None
    """The greatest age at which sharing this widely is proven; ``None``: nothing limits it."""


class _Step(msgspec.Struct, frozen=True):
    """From one scope to the next wider one."""

    inner: Sharing
    outer: Sharing
    calls: ToolCalls
    """Those of which both scopes know what they ask for ..."""
    narrow: Numbers
    """... the inner scope of each ..."""
    wide: Numbers
    """... and the outer one."""
    answers: Answers


class _Widest(msgspec.Struct, frozen=True):
    """The widest scope."""

    scope: Sharing
    why: str
    longest_seconds: float | None = None
    steps: tuple[SharingStep, ...] = ()
    """Those that were looked at, narrowest first."""


class _Tool(msgspec.Struct, frozen=True):
    """The calls of one tool that only reads, and all that judging its steps takes."""

    calls: ToolCalls
    who: Who
    writers: Writers
    settings: FreshnessSettings
    said_for_all: bool
    """Whether the user said that answers do not depend on who asks."""
    within: dict[Sharing, Numbers] = msgspec.field(default_factory=dict)

    @property
    def delta(self) -> float:
        return allowed_error(self.settings)

    @property
    def names_users(self) -> bool:
        return bool((self.who.user >= 0).any())

    def scopes(self) -> list[Sharing]:
        """Return the scopes that these calls can be held to, narrowest first."""
        found = [Sharing.RUN]
        if (self.who.session >= 0).any():
            found.append(Sharing.SESSION)
        if self.names_users:
            found.append(Sharing.USER)
        if self.names_users or self.said_for_all:
            service = self.who.service
            if len(service) and (service != service[0]).any():
                found.append(Sharing.SERVICE)
            found.append(Sharing.ALL)
        return found

    def across(self, inner: Sharing, outer: Sharing) -> tuple[ToolCalls, Numbers, Numbers]:
        """Return the calls of which both scopes know what they ask for, and their scopes."""
        for scope in (inner, outer):
            if scope not in self.within:
                self.within[scope] = self.who.within(scope)
        known_of_both = self.who.known(inner) & self.who.known(outer)
        if known_of_both.all():
            return self.calls, self.within[inner], self.within[outer]
        rows = np.flatnonzero(known_of_both)
        calls = self.calls
        known = replace(
            calls,
            start_ns=calls.start_ns[rows],
            end_ns=calls.end_ns[rows],
            identity=calls.identity[rows],
            run=calls.run[rows],
            content=calls.content[rows],
            host=None if calls.host is None else calls.host[rows],
        )
        return known, self.within[inner][rows], self.within[outer][rows]


def judge_sharing(
    tools: Iterable[ToolHistory], who: Who, writers: Writers, settings: Settings
) -> dict[int, ToolSharing]:
    """Return who may share the results of each tool, by tool code."""
    return {tool.code: _judge(tool, who, writers, settings) for tool in tools}


def _judge(history: ToolHistory, who: Who, writers: Writers, settings: Settings) -> ToolSharing:
    said_for_all = not settings.answers_depend_on_who
    tool = _Tool(history.calls, who.of(history.rows), writers, settings.freshness, said_for_all)
    by_trace = settings.scope == "trace"
    found = _Widest(Sharing.RUN, "asked for: --scope trace") if by_trace else _widest(tool)
    name = history.facts.name
    figures = SharingFigures(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        scope=found.scope.value,
        judged=by_trace or said_for_all or tool.names_users,
        why=found.why,
        users=count_distinct(tool.who.user[tool.who.user >= 0]),
        steps=found.steps,
    )
    return ToolSharing(found.scope, figures, found.longest_seconds)


def _widest(tool: _Tool) -> _Widest:
    steps, why = _steps(tool)
    limited = list(why)
    if not tool.names_users and not tool.said_for_all:
        limited.append(NOBODY)
    judged: list[SharingStep] = []
    for nth in range(len(steps) - 1, -1, -1):
        step = steps[nth]
        if step.answers.dependence is not None:
            judged.append(_figures(tool, step, "depends"))
            continue
        figures, longest, said = _try(tool, step)
        judged.append(figures)
        if figures.verdict == "not-proven":
            limited.append(said)
            continue
        judged += [_figures(tool, narrower, "implied") for narrower in steps[:nth][::-1]]
        return _Widest(step.outer, "; ".join([*limited, said]), longest, tuple(judged[::-1]))
    return _Widest(Sharing.RUN, "; ".join(limited), None, tuple(judged[::-1]))


def _steps(tool: _Tool) -> tuple[list[_Step], list[str]]:
    """Return the steps up to the first on which answers depend, and what shows that they do."""
    steps: list[_Step] = []
    scopes = tool.scopes()
    for inner, outer in pairwise(scopes):
        calls, narrow, wide = tool.across(inner, outer)
        rate = tool.settings.max_stale_rate
        answers = compare_answers(calls, wide, narrow, rate=rate, delta=tool.delta)
        step = _Step(inner, outer, calls, narrow, wide, answers)
        steps.append(step)
        if step.answers.dependence is not None:
            return steps, [depends(inner, step.answers.dependence)]
    return steps, []


def _try(tool: _Tool, step: _Step) -> tuple[SharingStep, float | None, str]:
    """Return what becomes of a step, the greatest age at which it may be taken, and the reason."""
    between_users = step.inner is not Sharing.SERVICE and step.outer not in _WITHIN_A_USER
    if tool.said_for_all and between_users:
        return _figures(tool, step, "said"), None, SAID
    calls = step.calls
    width = int(step.wide.max(initial=0)) + 1
    identity, _ = ranked(calls.identity.astype(np.int64) * width + step.wide)
    identity[calls.identity < 0] = NONE
    together = replace(calls, identity=identity, question=calls.identity)
    curve = measure_curve(
        together, tool.writers, tool.settings, unlike=step.narrow.astype(np.int32)
    )
    eased = step.outer in _WITHIN_A_USER
    point = _compared(curve, tool.settings) if eased else _proven(curve, tool.settings)
    if point is None:
        said = not_taken(step.inner, curve, tool.settings, eased=eased)
        return _figures(tool, step, "not-proven"), None, said
    figures = _figures(tool, step, "compared" if eased else "proven", point)
    return figures, point.freshness_seconds, taken(step.inner, point)


def _proven(curve: StaleCurve, settings: FreshnessSettings) -> CurvePoint | None:
    return climb(curve, allowed_error(settings), settings).accepted


def _compared(curve: StaleCurve, settings: FreshnessSettings) -> CurvePoint | None:
    """Return the longest age before serves across the step are stale more often than tolerated."""
    accepted = None
    for point in curve.points:
        if not point.supported or not point.counted_serves:
            continue
        if point.counted_stale > settings.max_stale_rate * point.counted_serves:
            break
        accepted = point
    return accepted


def _figures(
    tool: _Tool, step: _Step, verdict: str, point: CurvePoint | None = None
) -> SharingStep:
    return SharingStep(
        between=step.inner.value,
        within=step.outer.value,
        verdict=verdict,
        pairs=step.answers.others.pairs,
        differing=step.answers.others.differing,
        pairs_of_one=step.answers.own.pairs,
        differing_of_one=step.answers.own.differing,
        differing_rate_at_most=step.answers.others.at_most(tool.delta),
        serves=None if point is None else point.counted_serves,
        stale=None if point is None else point.counted_stale,
        stale_rate_at_most=None if point is None else point.stale_rate_bound,
        freshness_seconds=None if point is None else point.freshness_seconds,
    )


def split_by_scope(calls: CallColumns, who: Who, sharing: dict[int, ToolSharing]) -> CallColumns:
    """Return the calls with identities that are equal only within the scope of their tool."""
    within = np.zeros(len(calls), np.int64)
    for scope in Sharing:
        tools = [code for code, found in sharing.items() if found.scope is scope]
        if tools and scope is not Sharing.ALL:
            rows = np.flatnonzero(np.isin(calls.tool, tools))
            within[rows] = who.of(rows).within(scope) + 1
    return split_identities(calls, within)


def scoped_histories(
    tools: Iterable[ToolHistory], split: CallColumns, sharing: dict[int, ToolSharing]
) -> list[ToolHistory]:
    """Return the history of every tool within its scope.

    ``split`` are the calls with the identities of `split_by_scope`.
    """
    return [with_identities_of(_limited(tool, sharing[tool.code]), split) for tool in tools]


def _limited(tool: ToolHistory, sharing: ToolSharing) -> ToolHistory:
    cap = tool.calls.declared_freshness_seconds
    if sharing.longest_seconds is not None:
        cap = min(sharing.longest_seconds, cap) if cap is not None else sharing.longest_seconds
    question = None if sharing.scope is Sharing.ALL else tool.calls.identity
    limited = replace(tool.calls, declared_freshness_seconds=cap, question=question)
    return replace(tool, calls=limited)
