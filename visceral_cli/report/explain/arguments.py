"""Which arguments make an identity, and in which argument the nearest other identities differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from visceral_cli.contract.identity import canonical_json
from visceral_cli.report.explain.difference import Difference, first_difference, one_line, parsed
from visceral_cli.report.explain.evidence import IdentityRow
from visceral_cli.report.plain_text import plain

_MOST_TWINS = 3
_LONGEST_LINE = 300


class KeyedArguments(msgspec.Struct, frozen=True):
    """The arguments of a call, and which of them enter its identity."""

    values: Mapping[str, Any]
    """Those that enter it."""
    left_out: tuple[str, ...]
    """Names of the others."""
    declared: bool
    """Whether ``vary`` chose them; otherwise all do."""


class Twin(msgspec.Struct, frozen=True):
    """Another identity of the same tool, and where its arguments differ."""

    input_hash: str
    calls: int
    names: tuple[str, ...]
    """The arguments that differ, in order of their names."""
    first: Difference | None
    """How the first of them differs: within it, ``first`` being the arguments in question.
    ``None``: all are equal, only the declared version differs."""
    version: str | None


def keyed_arguments(
    text: str | None, vary: str | None, declared: Sequence[str] | None
) -> KeyedArguments | None:
    """Return the keyed arguments of a call; ``None`` where its arguments are not known.

    ``vary`` is what the span says (names joined by commas), ``declared`` what the settings say.
    As in the identity itself, all arguments count where one that is named is missing.
    """
    value = parsed(text)
    if not isinstance(value, dict):
        return None
    chosen = vary.split(",") if vary else declared
    if chosen is None or not all(name in value for name in chosen):
        return KeyedArguments(value, (), declared=False)
    keyed = {name: value[name] for name in sorted(chosen)}
    return KeyedArguments(keyed, tuple(sorted(value.keys() - keyed.keys())), declared=True)


def nearest_twins(
    own: Mapping[str, Any],
    version: str | None,
    others: Iterable[tuple[IdentityRow, Mapping[str, Any]]],
    *,
    show_values: bool,
) -> list[Twin]:
    """Return the identities that differ in the fewest arguments, most calls first."""
    near: list[tuple[int, int, str, IdentityRow, tuple[str, ...], Mapping[str, Any]]] = []
    for other, values in others:
        names = _differing(own, values)
        near.append((len(names), -other.calls, other.input_hash, other, names, values))
    near.sort(key=lambda one: one[:3])
    return [
        Twin(
            other.input_hash,
            other.calls,
            names,
            _within(names[0], own, values, show_values=show_values) if names else None,
            other.version,
        )
        for _, _, _, other, names, values in near[:_MOST_TWINS]
        if names or other.version != version
    ]


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    names = sorted(one.keys() | other.keys())
    return tuple(
        name
        for name in names
        if name not in one
        or name not in other
        or first_difference(one[name], other[name], show_values=False) is not None
    )


def _within(
    name: str, own: Mapping[str, Any], other: Mapping[str, Any], *, show_values: bool
) -> Difference | None:
    one, two = ({name: v[name]} if name in v else {} for v in (own, other))
    return first_difference(one, two, show_values=show_values)


class LeftOut(msgspec.Struct, frozen=True):
    """How many identities of a tool there were, if one of its arguments did not count."""

    name: str
    identities: int


def without_each(identities: Sequence[Mapping[str, Any]]) -> list[LeftOut]:
    """Return the arguments without which identities would meet, those that split most first."""
    names = sorted({name for values in identities for name in values})
    found = []
    for name in names:
        rest = {
            canonical_json({key: value for key, value in values.items() if key != name})
            for values in identities
        }
        if len(rest) < len(identities):
            found.append(LeftOut(name, len(rest)))
    return sorted(found, key=lambda one: (one.identities, one.name))


def named(keyed: KeyedArguments, *, show_values: bool) -> str:
    """Return the keyed arguments for people: their names, and values only if they are shown."""
    if show_values:
        shown = ", ".join(
            f"{plain(name)} = {plain(one_line(value), longest=None)}"
            for name, value in keyed.values.items()
        )
        text = shown if len(shown) <= _LONGEST_LINE else f"{shown[:_LONGEST_LINE]}…"
    else:
        text = ", ".join(map(plain, keyed.values))
        text = f"{text}   (values hidden; --show-arguments)" if text else ""
    text = text or "none"
    if keyed.left_out:
        text += f"; vary leaves out {', '.join(map(plain, keyed.left_out))}"
    return text


def twin_text(twin: Twin) -> str:
    """Return where a twin differs, for people."""
    if twin.first is None:
        return f"equal arguments, other version ({plain(twin.version or 'none')})"
    name, how = plain(twin.names[0]), differs(twin.first, ("here", "there"))
    more = f"; also {', '.join(map(plain, twin.names[1:]))}" if len(twin.names) > 1 else ""
    inside = twin.first.path.removeprefix(f"$.{twin.names[0]}")
    inside = "" if inside == twin.first.path or not inside else f" at {plain(inside)}"
    return f"{name} differs{inside}: {how}{more}"


def differs(found: Difference, sides: tuple[str, str]) -> str:
    """Return how two values differ, for people; ``sides`` name the two."""
    how = {
        "only in the first": f"only {sides[0]}",
        "only in the second": f"only {sides[1]}",
    }.get(found.how, found.how)
    values = [
        f"{plain(value, longest=None)} {side}"
        for value, side in zip((found.first, found.second), sides, strict=True)
        if value is not None
    ]
    return f"{how} ({', '.join(values)})" if values else how


def difference_facts(found: Difference | None) -> dict[str, Any] | None:
    """Return a difference as JSON values."""
    if found is None:
        return None
    facts: dict[str, Any] = {"path": found.path, "how": found.how}
    if found.first is not None:
        facts["first"] = found.first
    if found.second is not None:
        facts["second"] = found.second
    return facts
