"""Spans in columns into columns of calls, without an object for each of them.

It gives what :func:`~visceral_cli.calls.read_spans.read_spans` gives for the same spans as objects.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from visceral_cli.calls import key_plan, mentions
from visceral_cli.calls.alike import is_told_plainly
from visceral_cli.calls.call_columns import CallColumns
from visceral_cli.calls.convention import Convention
from visceral_cli.calls.extract import Extractor
from visceral_cli.calls.key_plan import Found, KeyPlan
from visceral_cli.calls.mentions import AnswerKeys
from visceral_cli.calls.read_spans import SpansTold
from visceral_cli.calls.recognise import Undecided
from visceral_cli.calls.span_group import SpansInColumns, named, texts
from visceral_cli.calls.tool_call import IdentityMissing, ToolCall
from visceral_cli.ingest.span_columns import Shape, SpanColumns

Places = list[int]

# Looked up once: reading a member off its class costs a tenth of a microsecond.
_NO_ARGUMENTS = IdentityMissing.NOT_CAPTURED


class Who:
    """Whom spans belong to: session, user and agent of each."""

    __slots__ = ("agent", "session", "user")

    def __init__(self, spans: int) -> None:
        self.session: list[str | None] = [None] * spans
        self.user: list[str | None] = [None] * spans
        self.agent: list[str | None] = [None] * spans


def read_columns(
    columns: SpanColumns,
    extractor: Extractor,
    first: int,
    told: SpansTold,
    *,
    lazily: bool = False,
) -> Who:
    """Add all that the spans tell; ``first`` is the record of the first one.

    ``lazily``: what model spans ask for is left unread where no call of these spans lacks the
    arguments that it could tell. The traces of such spans are noted.

    Raises:
        UsageError: a captured section needs another workspace key.
    """
    who = Who(len(columns))
    known = len(told.calls)
    calls: list[ToolCall] = []
    records: list[int] = []
    asking: list[tuple[SpansInColumns, AnswerKeys]] = []
    for shape, places in _by_shape(columns.shape):
        plan = _plan_of(shape)
        group = SpansInColumns(columns, places)
        _tell_who(group, places, plan, extractor.principal, who)
        rows, no_calls, apart = _by_row(group, plan, extractor)
        for row, alike in rows:
            part = group if len(alike) == len(group) else group.part(alike)
            extractor.alike.read(part, [first + places[place] for place in alike], row, told.calls)
        if no_calls and plan.answers is not None:
            part = group if len(no_calls) == len(group) else group.part(no_calls)
            asking.append((part, plan.answers))
        for place, found in apart:
            told_here, asked = extractor.told(group.span(place), plan, found)
            calls += told_here
            records += [first + places[place]] * len(told_here)
            told.mentions += asked
    told.calls.add(calls, records)
    needed = not lazily or _lack_arguments(told.calls, known)
    for part, keys in asking:
        if not needed:
            told.unread.update(part.field("trace_id"))
        else:
            told.mentions += mentions.of_spans(part, keys)
    return who


def _lack_arguments(calls: CallColumns, first: int) -> bool:
    """Whether one of the calls from place ``first`` on lacks what a model span may tell of it."""
    columns = (calls.fields[name][first:] for name in ("call_id", "identity_missing"))
    return any(
        call_id is not None and missing is _NO_ARGUMENTS
        for call_id, missing in zip(*columns, strict=True)
    )


def _by_shape(shapes: Sequence[Shape]) -> list[tuple[Shape, Places]]:
    groups: dict[Shape, Places] = {}
    for place, shape in enumerate(shapes):
        group = groups.get(shape)
        if group is None:
            groups[shape] = [place]
        else:
            group.append(place)
    return list(groups.items())


def _plan_of(shape: Shape) -> KeyPlan:
    if shape.plan is None:
        shape.plan = key_plan.plan_of(shape.place_of)
    plan: KeyPlan = shape.plan
    return plan


def _tell_who(
    group: SpansInColumns, places: Places, plan: KeyPlan, principal: str | None, who: Who
) -> None:
    for keys, column in ((plan.session, who.session), (plan.agent, who.agent)):
        if keys:
            _put(texts(group, keys), places, column)
    if principal is not None:
        _put(named(group, principal), places, who.user)
    elif plan.user:
        _put(texts(group, plan.user), places, who.user)


def _put(values: Sequence[str | None], places: Places, column: list[str | None]) -> None:
    for place, value in zip(places, values, strict=True):
        column[place] = value


def _by_row(
    group: SpansInColumns, plan: KeyPlan, extractor: Extractor
) -> tuple[list[tuple[Convention, Places]], Places, list[tuple[int, Found]]]:
    """Return the spans that can be read together, by row, those that are no calls, and the others.

    The others are read one by one.
    """
    rows: dict[int, tuple[Convention, Places]] = {}
    no_calls: Places = []
    apart: list[tuple[int, Found]] = []
    for found, places in _by_found(group, plan, extractor):
        if found is None:
            no_calls += places
        elif is_told_plainly(*found, group.keys, opens_sections=extractor.opens_sections):
            # A plan keeps the rows it narrowed: with the same keys it is the same object.
            rows.setdefault(id(found[0]), (found[0], []))[1].extend(places)
        else:
            apart += [(place, found) for place in places]
    return [(row, sorted(places)) for row, places in rows.values()], no_calls, apart


def _by_found(
    group: SpansInColumns, plan: KeyPlan, extractor: Extractor
) -> list[tuple[Found | None, Places]]:
    """Return which spans have which row; mostly the markers decide, once for all of a value."""
    together: list[tuple[Found | None, Places]] = []
    names = group.field("name")
    for places in _by_value(group, plan.markers, extractor.any_text):
        decided = extractor.decided(group.span(places[0]), plan)
        if decided is Undecided.NAME and not any(
            extractor.may_be_named(names[place]) for place in places
        ):
            together.append((None, places))
        elif isinstance(decided, Undecided):
            together += [(extractor.find(group.span(place), plan), [place]) for place in places]
        else:
            together.append((decided, places))
    return together


def _by_value(
    group: SpansInColumns, keys: tuple[str, ...], any_text: Collection[str]
) -> list[Places]:
    """Return the places of spans, those together that have the same values under ``keys``.

    Of the keys in ``any_text`` it only counts whether a value is a text.
    """
    everywhere = list(range(len(group)))
    columns: list[list[object]] = []
    for key in keys:
        values = group.column(key)
        columns.append([type(one) is str for one in values] if key in any_text else values)
    if not columns:
        return [everywhere]
    values = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    try:
        if len(set(values)) == 1:
            return [everywhere]
        by_value: dict[object, Places] = {value: [] for value in values}
    except TypeError:  # a list or an object
        return [[place] for place in everywhere]
    for place, value in enumerate(values):
        by_value[value].append(place)
    return list(by_value.values())
