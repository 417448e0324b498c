"""The one place where a measured number meets its limit. Exact: neither side is rounded.

A limit may be reached, not passed. What is printed has as many digits as it takes for the printed
comparison to be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import msgspec

from visceral_cli.analysis.figures import GroupFigures, ToolFigures
from visceral_cli.analysis.run_rates import RunFigures
from visceral_cli.gate.finding import Case, CheckKind, Evidence, State, Subject
from visceral_cli.settings import Limits

_NANO = 1_000_000_000
_MOST_EVIDENCE = 5
_MOST_EXACT_DIGITS = 15
_LOOKED_AT = 10_000
"""Groups that evidence is taken from, those with most repeated seconds."""


class Numbers(msgspec.Struct, frozen=True):
    """What one tool, or all tools together, come to."""

    calls: int
    repeats: int
    same_result: int
    avoidable_seconds: Fraction
    """Durations of the repeats with the same result."""
    cost_usd: Fraction | None
    """Cost of these repeats; ``None``: no call has a cost."""


class Unit(msgspec.Struct, frozen=True):
    """How a kind of number is printed."""

    digits: int
    """Digits behind the point, at least."""
    scale: int
    form: str
    """With ``{}`` for the number."""


UNITS: Mapping[CheckKind, Unit] = {
    CheckKind.DUPLICATE_RATE: Unit(1, 100, "{}%"),
    CheckKind.REPEATS: Unit(0, 1, "{}"),
    CheckKind.AVOIDABLE: Unit(1, 1, "{} s"),
    CheckKind.COST: Unit(2, 1, "${}"),
}


def is_passed(measured: Fraction, allowed: Fraction) -> bool:
    """Whether the measured number breaks the limit."""
    return measured > allowed


def comparison(measured: Fraction, allowed: Fraction, unit: Unit) -> str:
    """Return ``22.8% > 20.0%``, with enough digits for what is printed to be true."""
    sign = ">" if is_passed(measured, allowed) else "<="
    one, other = measured * unit.scale, allowed * unit.scale
    digits = unit.digits
    while not _is_told(one, other, digits):
        digits += 1
    shown = [unit.form.format(rounded(value, digits)) for value in (one, other)]
    return f"{shown[0]} {sign} {shown[1]}"


def _is_told(one: Fraction, other: Fraction, digits: int) -> bool:
    """Whether the limit is printed exactly, and differs in print from what is not equal to it."""
    if (other * 10**digits).denominator != 1 and digits < _MOST_EXACT_DIGITS:
        return False
    return one == other or round(one * 10**digits) != round(other * 10**digits)


def rounded(value: Fraction, digits: int) -> str:
    """Return the number with ``digits`` digits behind the point, rounded exactly."""
    whole, rest = divmod(round(abs(value) * 10**digits), 10**digits)
    minus = "-" if value < 0 and (whole or rest) else ""
    return f"{minus}{whole:,}" + (f".{rest:0{digits}d}" if digits else "")


def exact(value: float) -> Fraction:
    """Return the nanoseconds or nanodollars that a figure was made of, as seconds or dollars."""
    return Fraction(round(value * _NANO), _NANO)


def check_limits(
    limits: Limits,
    tool_limits: Mapping[str, Limits],
    tools: Sequence[ToolFigures],
    per_run: Sequence[RunFigures],
    groups: Sequence[GroupFigures],
) -> list[Case]:
    """Return a case for each limit: those of all tools first, then tool by tool.

    A limit of one tool holds in each namespace that has a tool of the name.
    """
    costs = {(row.namespace, row.tool, row.kind): row.repeat_cost_usd for row in per_run}
    total = numbers_of(tools, costs.get(("", "", "")))
    cases = [*_cases(Subject(), limits, total, groups)]
    for name, of_tool in sorted(tool_limits.items()):
        found = [tool for tool in tools if tool.tool == name]
        if not found:
            cases += _not_called(name, of_tool)
        for namespace in sorted({tool.namespace for tool in found}):
            here = [tool for tool in found if tool.namespace == namespace]
            known = [costs.get((tool.namespace, tool.tool, tool.kind)) for tool in here]
            paid = [cost for cost in known if cost is not None]
            numbers = numbers_of(here, sum(paid) if paid else None)
            cases += _cases(Subject(namespace, name), of_tool, numbers, groups)
    return cases


def numbers_of(tools: Sequence[ToolFigures], cost_usd: float | None) -> Numbers:
    """Return the sums over some tools."""
    return Numbers(
        calls=sum(tool.calls for tool in tools),
        repeats=sum(tool.repeats for tool in tools),
        same_result=sum(tool.same_result for tool in tools),
        avoidable_seconds=sum((exact(tool.repeat_seconds) for tool in tools), Fraction()),
        cost_usd=None if cost_usd is None else exact(cost_usd),
    )


def _cases(
    subject: Subject, limits: Limits, numbers: Numbers, groups: Sequence[GroupFigures]
) -> Iterator[Case]:
    rate = Fraction(numbers.repeats, numbers.calls) if numbers.calls else Fraction()
    repeats = f"{numbers.repeats:,} of {numbers.calls:,} calls"
    same = f"{numbers.same_result:,} repeats with the same result"
    for kind, measured, allowed, detail in (
        (CheckKind.DUPLICATE_RATE, rate, limits.duplicate_rate, repeats),
        (CheckKind.REPEATS, Fraction(numbers.repeats), limits.repeats, repeats),
        (CheckKind.AVOIDABLE, numbers.avoidable_seconds, limits.avoidable_seconds, same),
        (CheckKind.COST, numbers.cost_usd, limits.cost_usd, same),
    ):
        if allowed is None:
            continue
        if measured is None:
            yield Case(kind, subject, State.UNJUDGED, "no call has a cost, and no price is given")
            continue
        broken = is_passed(measured, Fraction(allowed))
        yield Case(
            kind,
            subject,
            State.BROKEN if broken else State.KEPT,
            comparison(measured, Fraction(allowed), UNITS[kind]),
            detail,
            _largest(kind, subject, groups) if broken else (),
            measured,
            Fraction(allowed),
        )


def _not_called(tool: str, limits: Limits) -> Iterator[Case]:
    for kind, allowed in (
        (CheckKind.DUPLICATE_RATE, limits.duplicate_rate),
        (CheckKind.REPEATS, limits.repeats),
        (CheckKind.AVOIDABLE, limits.avoidable_seconds),
        (CheckKind.COST, limits.cost_usd),
    ):
        if allowed is not None:
            yield Case(kind, Subject(tool=tool), State.UNJUDGED, "the tool is not called here")


def _largest(
    kind: CheckKind, subject: Subject, groups: Sequence[GroupFigures]
) -> tuple[Evidence, ...]:
    """Return the groups that the number is largest for."""
    by_count = kind in (CheckKind.DUPLICATE_RATE, CheckKind.REPEATS)
    size: Callable[[GroupFigures], float] = (
        (lambda group: group.repeats) if by_count else (lambda group: group.repeat_seconds)
    )
    of_subject = [
        group
        for group in groups[:_LOOKED_AT]
        if size(group) > 0
        and (not subject.tool or (group.namespace, group.tool) == (subject.namespace, subject.tool))
    ]
    of_subject.sort(key=lambda g: (-size(g), g.namespace, g.tool, g.input_hash, g.trace_id))
    return tuple(
        Evidence(
            what=f"{group.repeats:,} repeats in {group.calls:,} calls"
            + ("" if by_count else f", {rounded(exact(group.repeat_seconds), 1)} s"),
            tool=group.tool,
            input_hash=group.input_hash,
        )
        for group in of_subject[:_MOST_EVIDENCE]
    )
