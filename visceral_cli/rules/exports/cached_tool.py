"""Which tools another cache may keep results of, and why not the others.

Such a cache knows a time to live, counted from the end of a call, and at best which arguments a
call has. It voids nothing when a writer runs, tells no users apart and never compares. Rules that
need any of this are left out, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from visceral_cli.contract.rule import Rule, RuleKind, RuleStatus
from visceral_cli.rules.exports.target import TITLES, Target
from visceral_cli.rules.plain_cache import PlainCache, plain_cache_of

_ALL_ARGUMENTS = frozenset({Target.AGNO})
"""Those that cannot keep some calls of a tool and not others."""


class CachedTool(msgspec.Struct, frozen=True):
    """One tool whose results may be kept."""

    name: str
    namespaces: tuple[str, ...]
    """Where its rules were proven."""
    version: str | None
    vary: tuple[str, ...] | None
    """The arguments that the result depends on; ``None``: all."""
    seconds: Mapping[str, int]
    """By input hash the time to live, in order of the hash."""
    any_arguments: int | None
    """The time to live whatever the arguments are; ``None``: only for these input hashes."""
    freshness_seconds: float
    """The shortest freshness of its rules, where no writer voids anything."""
    longest_call_seconds: float
    compared_without: tuple[str, ...]
    """JSON paths without which its results were compared."""

    @property
    def shortest_seconds(self) -> int:
        """Return the shortest time to live."""
        return min(self.seconds.values())


class LeftOut(msgspec.Struct, frozen=True):
    """Rules of one tool that have no place in the settings."""

    tool: str
    rules: int
    why: str


class Selection(msgspec.Struct, frozen=True):
    """What comes of the rules, each part in order of the tool's name."""

    tools: tuple[CachedTool, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def rules_left_out(self) -> int:
        """Return how many rules have no place."""
        return sum(one.rules for one in self.left_out)


class _Usable(msgspec.Struct, frozen=True):
    rule: Rule
    plain: PlainCache
    freshness_seconds: float
    input_hash: str
    seconds: int


def select_tools(rules: Iterable[Rule], target: Target) -> Selection:
    """Return the tools that the target may keep results of, and the rules that are left out."""
    tools: list[CachedTool] = []
    left_out: list[LeftOut] = []
    ordered = sorted(rules, key=lambda rule: (rule.match.tool_name, rule.match.input_hash or ""))
    for name, of_tool in groupby(ordered, key=lambda rule: rule.match.tool_name):
        usable: list[_Usable] = []
        reasons: list[str] = []
        for rule in of_tool:
            found = _allowed(rule, TITLES[target])
            if isinstance(found, str):
                reasons.append(found)
            else:
                usable.append(found)
        whole = next(_against_the_tool(usable, complete=not reasons, target=target), None)
        if whole is not None:
            reasons += [whole] * len(usable)
        elif usable:
            tools.append(_cached(name, usable, complete=not reasons))
        left_out += [LeftOut(name, reasons.count(why), why) for why in sorted(set(reasons))]
    return Selection(tuple(tools), tuple(left_out))


def _allowed(rule: Rule, title: str) -> _Usable | str:
    """Return what the rule allows, or why it has no place."""
    why = next(_against_the_rule(rule, title), None)
    if why is not None:
        return why
    plain = plain_cache_of(rule)
    input_hash, freshness = rule.match.input_hash, rule.action.freshness_seconds
    if plain is None or input_hash is None or freshness is None:
        return (
            "the rule does not say how long its results hold where no writer voids them: write "
            "the rules anew with this version"
        )
    if plain.missing is not None:
        return f"{title} voids nothing when a writer runs, and without that: {plain.missing}"
    freshness = min(freshness, plain.freshness_seconds)
    seconds = math.floor(freshness - plain.longest_call_seconds)
    if seconds < 1:
        return (
            f"{title} counts whole seconds from the end of a call, and of a freshness of "
            f"{freshness:.3g} s nothing is left where calls take up to "
            f"{plain.longest_call_seconds:.3g} s"
        )
    return _Usable(rule, plain, freshness, input_hash, seconds)


def _against_the_rule(rule: Rule, title: str) -> Iterator[str]:
    if rule.status is not RuleStatus.ACTIVE:
        yield "a candidate, which nothing may serve yet"
    if rule.kind is not RuleKind.REUSE_IDENTITY:
        yield f"it holds for one system prompt, which {title} does not look at"
    if rule.match.is_limited:
        yield (
            f"results may pass within one {rule.match.scope} only, and {title} would share them "
            "between all who ask"
        )
    cleared_by = () if (plain := plain_cache_of(rule)) is None else plain.cleared_by
    if cleared_by:
        yield (
            f"results change after {', '.join(map(ascii, cleared_by))}, and {title} voids nothing "
            "when that runs"
        )


def _against_the_tool(
    usable: Sequence[_Usable], *, complete: bool, target: Target
) -> Iterator[str]:
    """Yield what keeps all rules of a tool out; ``complete``: none of its rules is left out."""
    title = TITLES[target]
    versions = {one.plain.version for one in usable}
    if len(versions) > 1:
        said = " and ".join(sorted("none" if v is None else ascii(v) for v in versions))
        yield f"its rules are of several versions ({said}), and {title} does not look at versions"
    if len({one.plain.vary for one in usable}) > 1:
        yield "its rules are of several declarations of vary"
    if usable and target in _ALL_ARGUMENTS and not _for_any_arguments(usable, complete=complete):
        yield f"it is proven for some arguments only, and {title} caches a tool whatever they are"


def _for_any_arguments(usable: Sequence[_Usable], *, complete: bool) -> bool:
    one_place = len({one.rule.match.proven_in for one in usable}) == 1
    return complete and one_place and all(one.plain.any_arguments for one in usable)


def _cached(name: str, usable: Sequence[_Usable], *, complete: bool) -> CachedTool:
    seconds = {one.input_hash: one.seconds for one in reversed(usable)}
    for one in usable:
        seconds[one.input_hash] = min(seconds[one.input_hash], one.seconds)
    any_arguments = _for_any_arguments(usable, complete=complete)
    return CachedTool(
        name=name,
        namespaces=tuple(sorted({each for one in usable for each in one.rule.match.proven_in})),
        version=usable[0].plain.version,
        vary=usable[0].plain.vary,
        seconds=dict(sorted(seconds.items())),
        any_arguments=min(seconds.values()) if any_arguments else None,
        freshness_seconds=min(one.freshness_seconds for one in usable),
        longest_call_seconds=max(one.plain.longest_call_seconds for one in usable),
        compared_without=tuple(
            sorted({path for one in usable for path in one.plain.compared_without})
        ),
    )
