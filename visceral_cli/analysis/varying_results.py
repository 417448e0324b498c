"""Where the results of a tool differ although nothing changed: paths in them, never values.

Compared are executions of one identity at most a minute apart, of tools whose results are known to
be unstable. A part is offered for leaving out only if it differs nearly always, or holds what is
made anew each time: times, durations, random ids.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from visceral_cli.analysis.figures import Finding, FindingKind, UnstableFigures, VaryingPart
from visceral_cli.analysis.freshness import Bound, NoBound
from visceral_cli.analysis.histories import ToolHistory
from visceral_cli.analysis.history import Writers
from visceral_cli.analysis.lanes import lay_out
from visceral_cli.analysis.stability import near_pairs
from visceral_cli.calls.ignored import Step, path_text, without_paths

_MAX_PAIRS = 200
_MAX_LEFT_OUT = 5
_NEARLY_ALWAYS = 0.9
_SHOWN = 10

_MADE_ANEW = (
    ("time", re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?.*)?|\d{2}:\d{2}:\d{2}.*")),
    ("uuid", re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)),
    ("duration", re.compile(r"P(?=[\dT])[\dDHMSTWY.]+|\d+(\.\d+)? ?(ns|us|µs|ms|s|min|h)")),
)
_EPOCHS = ((1e9, 4e9), (1e12, 4e12), (1e15, 4e15), (1e18, 4e18))
"""Seconds, milliseconds, microseconds and nanoseconds since 1970, from 2001 to 2096."""


def varying_results(
    store: duckdb.DuckDBPyConnection,
    tools: Sequence[ToolHistory],
    bounds: Sequence[Bound | NoBound],
    writers: Writers,
) -> list[UnstableFigures]:
    """Return for each unstable tool where its results differ, in the order of ``tools``.

    Nothing is found in a store that keeps no texts of results.
    """
    if not store.execute("SELECT 1 FROM result_text LIMIT 1").fetchall():
        return []
    return [
        _unstable(store, tool, writers)
        for tool, found in zip(tools, bounds, strict=True)
        if found.instability is not None
    ]


def findings_of(found: Sequence[UnstableFigures]) -> Iterator[Finding]:
    """Yield what was found, as findings."""
    for one in found:
        if one.parts:
            yield Finding(
                kind=FindingKind.VARYING_RESULT,
                namespace=one.namespace,
                tool=one.tool,
                message=in_words(one),
                calls=one.differing,
            )


def in_words(found: UnstableFigures) -> str:
    """Return what was found as one sentence."""
    parts = ", ".join(
        f"{part.path} in {part.pairs}" + (f" ({part.holds})" if part.holds else "")
        for part in found.parts
    )
    said = (
        f"{found.differing} of {found.pairs} results at most a minute after an equal call were "
        f"others; they differ at {parts}"
    )
    if found.ignore_result:
        paths = ", ".join(json.dumps(path) for path in found.ignore_result)
        said += f"; without these all are equal: ignore-result = [{paths}], if they do not count"
    return said


def _unstable(
    store: duckdb.DuckDBPyConnection, tool: ToolHistory, writers: Writers
) -> UnstableFigures:
    lanes = lay_out(tool.calls, writers)
    earlier, later = near_pairs(lanes)
    pairs = len(later)
    differs = np.flatnonzero(lanes.content[earlier] != lanes.content[later])
    differing = len(differs)
    differs = differs[:_MAX_PAIRS]
    rows = tool.rows[lanes.row]
    texts = _texts(store, [*rows[earlier[differs]].tolist(), *rows[later[differs]].tolist()])
    compared = [
        (texts[one], texts[two])
        for one, two in zip(
            rows[earlier[differs]].tolist(), rows[later[differs]].tolist(), strict=True
        )
        if one in texts and two in texts
    ]
    parts = _parts(compared)
    name = tool.facts.name
    return UnstableFigures(
        namespace=name.namespace,
        tool=name.tool,
        kind=name.kind,
        pairs=pairs,
        differing=differing,
        compared=len(compared),
        parts=tuple(parts[:_SHOWN]),
        ignore_result=_enough(compared, parts),
    )


def _texts(store: duckdb.DuckDBPyConnection, keys: Sequence[int]) -> dict[int, str]:
    rows = store.execute(
        "SELECT call_key, text FROM tool_call JOIN result_text USING (content_hash) "
        "WHERE list_contains($keys, call_key)",
        {"keys": sorted(set(keys))},
    ).fetchall()
    return dict(rows)


def _parts(compared: Sequence[tuple[str, str]]) -> list[VaryingPart]:
    """Return the paths at which pairs differ, most pairs first."""
    pairs: Counter[str] = Counter()
    holds: dict[str, set[str]] = {}
    for one, two in compared:
        found: dict[str, str] = {}
        for steps, before, after in _differences(json.loads(one), json.loads(two), ()):
            path = path_text(steps)
            kind = _made_anew(before, after) if steps else ""
            found[path] = kind if found.get(path, kind) == kind else ""
        pairs.update(found.keys())
        for path, kind in found.items():
            holds.setdefault(path, set()).add(kind)
    return [
        VaryingPart(path, count, next(iter(holds[path])) if len(holds[path]) == 1 else "")
        for path, count in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    ]


def _differences(
    one: object, two: object, steps: tuple[Step, ...]
) -> Iterator[tuple[tuple[Step, ...], object, object]]:
    """Yield where two values differ; elements of lists of equal length are not told apart."""
    if isinstance(one, dict) and isinstance(two, dict):
        for name in sorted(one.keys() | two.keys()):
            if name not in one or name not in two:
                yield (*steps, name), one.get(name), two.get(name)
            else:
                yield from _differences(one[name], two[name], (*steps, name))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        if _in_any_order(one) == _in_any_order(two) and one != two:
            yield steps, _ORDER, _ORDER
            return
        for before, after in zip(one, two, strict=True):
            yield from _differences(before, after, (*steps, None))
    elif type(one) is not type(two) or one != two:
        yield steps, one, two


_ORDER = object()


def _in_any_order(values: list[object]) -> list[str]:
    return sorted(json.dumps(value, sort_keys=True) for value in values)


def _made_anew(one: object, two: object) -> str:
    """Return what both values are, if it is of the sort that is made anew each time."""
    kinds = {_kind(one), _kind(two)}
    return kinds.pop() if len(kinds) == 1 else ""


def _kind(value: object) -> str:
    if value is _ORDER:
        return "order"
    if isinstance(value, str):
        for kind, pattern in _MADE_ANEW:
            if pattern.fullmatch(value):
                return kind
    elif isinstance(value, int | float) and any(low <= value <= high for low, high in _EPOCHS):
        return "time"
    return ""


def _enough(compared: Sequence[tuple[str, str]], parts: Sequence[VaryingPart]) -> tuple[str, ...]:
    """Return the offered paths without which all pairs are equal; none if that takes too many."""
    often = _NEARLY_ALWAYS * len(compared)
    offered = tuple(
        part.path
        for part in parts
        if part.path != "$" and part.holds != "order" and (part.pairs >= often or part.holds)
    )
    if not compared or not 0 < len(offered) <= _MAX_LEFT_OUT:
        return ()
    equal = all(without_paths(one, offered) == without_paths(two, offered) for one, two in compared)
    return offered if equal else ()
