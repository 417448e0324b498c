"""How an identity came about: its arguments, and the identities that are nearest to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from visceral_cli.report.explain.arguments import (
    KeyedArguments,
    Twin,
    difference_facts,
    keyed_arguments,
    named,
    nearest_twins,
    twin_text,
)
from visceral_cli.report.explain.evidence import CallRow, Evidence, IdentityRow
from visceral_cli.report.explain.explanation import Line
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import counted
from visceral_cli.report.row_tables import HASH_DIGITS


def keyed_of(evidence: Evidence, call: CallRow) -> KeyedArguments | None:
    """Return the arguments of a call that make its identity."""
    text, _ = evidence.texts(call.call_key)
    return keyed_arguments(text, call.vary, evidence.declared(call.tool).vary)


def twins_of(evidence: Evidence, call: CallRow, keyed: KeyedArguments | None) -> list[Twin]:
    """Return the identities of the same tool whose arguments are nearest to those of a call."""
    if keyed is None:
        return []
    vary = evidence.declared(call.tool).vary
    others = evidence.identities_of_tool(call.key, near_ns=call.start_ns or 0)
    return nearest_twins(
        keyed.values,
        call.version,
        keyed_values((one for one in others if one.input_hash != call.input_hash), vary),
        show_values=evidence.show_arguments,
    )


def keyed_values(
    rows: Iterable[IdentityRow], declared: Sequence[str] | None
) -> list[tuple[IdentityRow, Mapping[str, Any]]]:
    """Return identities with their keyed arguments."""
    found = ((row, keyed_arguments(row.arguments, row.vary, declared)) for row in rows)
    return [(row, keyed.values) for row, keyed in found if keyed is not None]


def how_computed(calls: Sequence[CallRow]) -> list[Line]:
    """Return how the calls came by their identity."""
    first = calls[0]
    recorded = sum(call.recorded_hash for call in calls)
    if recorded == len(calls):
        origin = "recorded on the span"
    elif recorded:
        origin = f"recorded on {recorded:,} spans, computed from the arguments of the others"
    else:
        origin = "computed from the arguments on the span"
    conventions = ", ".join(sorted({call.convention for call in calls}))
    version = f", version {plain(first.version)}" if first.version is not None else ""
    said = f"sha256 of tool{version} and keyed arguments, hash_v {first.hash_v}; {origin}"
    lines = [Line("identity", f"{said} ({plain(conventions)})")]
    disagree = sum(call.hash_disagrees for call in calls)
    if disagree:
        what = f"{counted(disagree, 'recorded hash', 'recorded hashes')}, not that of the arguments"
        lines.append(Line("", f"{what}: visceral explain hash-disagrees"))
    return lines


def keyed_lines(evidence: Evidence, keyed: KeyedArguments | None) -> list[Line]:
    """Return the arguments that make the identity, for people."""
    if keyed is None:
        return [Line("keyed arguments", "not known: only their hash is in the traces")]
    return [Line("keyed arguments", named(keyed, show_values=evidence.show_arguments))]


def keyed_facts(evidence: Evidence, keyed: KeyedArguments | None) -> dict[str, Any]:
    """Return the names of the arguments; their values only if they are shown."""
    if keyed is None:
        return {"keyed_arguments": None, "left_out_arguments": None}
    facts: dict[str, Any] = {
        "keyed_arguments": list(keyed.values),
        "left_out_arguments": list(keyed.left_out),
    }
    if evidence.show_arguments:
        facts["argument_values"] = dict(keyed.values)
    return facts


def twin_lines(twins: Sequence[Twin]) -> list[Line]:
    """Return the nearest other identities, for people."""
    return [
        Line(
            "" if place else "nearest twins",
            f"{twin.input_hash[:HASH_DIGITS]}   {counted(twin.calls, 'call')}   {twin_text(twin)}",
        )
        for place, twin in enumerate(twins)
    ]


def twin_facts(twin: Twin) -> dict[str, Any]:
    """Return a twin as JSON values."""
    return {
        "input_hash": twin.input_hash,
        "calls": twin.calls,
        "differing_arguments": list(twin.names),
        "first_difference": difference_facts(twin.first),
        "version": twin.version,
    }
