"""One execution, one call: joins the spans that tell the same execution.

Wrappers, client and server side, two instrumentations in one process and spans of single phases
all make several spans of one execution. Two call records are joined

* when one is the nearest call above the other, the tool is the same, the interval of one holds
  that of the other, and neither call id nor arguments contradict (an MCP client around its server,
  LlamaIndex's ``__call__`` around ``call``, a retriever's public method around its private one);
  of several such calls below one, the first only: the others are executions of their own;
* when one is the server's side and the other not, in one trace without being nested, and else as
  above (the server hangs below the session there, not below the call);
* when two instrumentations tell of one call id, in one trace or in several of one service, with
  intervals that overlap and arguments that do not contradict; or, in one trace and in those that a
  call id has linked, without call ids when the intervals nearly coincide;
* when they are phases of one call (BeeAI), or a span and its own execution (Claude Code).

Equal calls side by side are repeats and stay apart. A tool around a retriever of another name
stays two calls, one nested in the other: either may be called without the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from visceral_cli.calls.agreement import (
    agree,
    holds,
    nearly_coincide,
    overlap,
    starts_after,
    still_open,
)
from visceral_cli.calls.merge import EXECUTED, EXECUTION, PHASED, merge
from visceral_cli.calls.tool_call import ToolCall
from visceral_cli.ingest.span import SERVER

Parents = Mapping[str, Mapping[str, str | None]]
"""Trace id to span id to the id of its parent, of all spans and not only of calls."""

Place = tuple[str, str, int]
"""Trace id, span id and position of a call record."""


@dataclass(slots=True)
class Joined:
    """One execution."""

    call: ToolCall
    """What its spans tell together, under the ids of the outermost."""
    absorbed: list[Place] = field(default_factory=list)
    """The other records that told it."""


def one_call_each(calls: Sequence[ToolCall], parent_of: Parents) -> list[Joined]:
    """Return the executions that ``calls`` tell of, in the order of their outermost records.

    ``calls`` must hold all call records of every trace they are from, and of all traces that share
    a call id with them. Linear in calls and spans, but for sorting.
    """
    return _Joining(calls, parent_of).result()


class _Joining:
    """Joins records into groups; the outermost record of a group stands for it."""

    def __init__(self, calls: Sequence[ToolCall], parent_of: Parents) -> None:
        self.calls = calls
        self.parent_of = parent_of
        self.outer: list[int] = list(range(len(calls)))
        """For each record the record it was joined into, itself if none."""
        self.at: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index, call in enumerate(calls):
            self.at[call.trace_id, call.span_id].append(index)
        self.above: dict[tuple[str, str], tuple[str, str] | None] = {}
        self.linked: dict[str, str] = {}
        """Traces that tell of one run, as a call id in both has shown."""

    def result(self) -> list[Joined]:
        order = sorted(range(len(self.calls)), key=lambda index: _by_start(self.calls[index]))
        self.join_phases(order)
        self.join_nested(order)
        self.join_server_sides(order)
        self.join_same_ids(order)
        self.join_two_tellers(order)
        return self.merged()

    # --- groups -----------------------------------------------------------------------------------

    def outermost(self, index: int) -> int:
        while self.outer[index] != index:
            self.outer[index] = self.outer[self.outer[index]]
            index = self.outer[index]
        return index

    def join(self, inner: int, outer: int) -> None:
        self.outer[self.outermost(inner)] = self.outermost(outer)

    def merged(self) -> list[Joined]:
        groups: dict[int, list[int]] = defaultdict(list)
        for index, outer in enumerate(self.outer):
            if outer != index:
                groups[self.outermost(index)].append(index)
        joined = []
        for index, call in enumerate(self.calls):
            if self.outer[index] != index:
                continue
            done = Joined(call)
            joined.append(done)
            if index not in groups:
                continue
            for member in sorted(groups[index], key=lambda one: _by_start(self.calls[one])):
                done.call = merge(done.call, self.calls[member])
                done.absorbed.append(_place(self.calls[member]))
        return joined

    # --- nesting ----------------------------------------------------------------------------------

    def nearest_above(self, trace: str, span: str) -> tuple[str, str] | None:
        """Return the nearest span above that holds a call, remembering it for all between."""
        parents = self.parent_of.get(trace, {})
        path: list[tuple[str, str]] = []
        seen: set[str] = set()
        found: tuple[str, str] | None = None
        here = span
        while True:
            known = self.above.get((trace, here), _UNKNOWN)
            if known is not _UNKNOWN:
                found = known
                break
            path.append((trace, here))
            seen.add(here)
            parent = parents.get(here)
            if parent is None or parent in seen:
                break
            if (trace, parent) in self.at:
                found = (trace, parent)
                break
            here = parent
        for place in path:
            self.above[place] = found
        return found

    def join_nested(self, order: Iterable[int]) -> None:
        taken: set[int] = set()
        for index in order:
            call = self.calls[index]
            above = self.nearest_above(call.trace_id, call.span_id)
            if above is None:
                continue
            for candidate in self.at[above]:
                if candidate not in taken and _tells_the_same_below(self.calls[candidate], call):
                    taken.add(candidate)
                    self.join(index, candidate)
                    break

    # --- beside each other ------------------------------------------------------------------------

    def join_server_sides(self, order: Sequence[int]) -> None:
        """Pair calls of the server's side with the callers whose interval holds them."""
        servers = [
            index
            for index in order
            if self.calls[index].span_kind == SERVER and self.outer[index] == index
        ]
        wanted = {(self.calls[index].trace_id, self.calls[index].tool) for index in servers}
        callers: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index in order if servers else ():
            call = self.calls[index]
            if call.span_kind != SERVER and self.outer[index] == index:
                key = (call.trace_id, call.tool)
                if key in wanted:
                    callers[key].append(index)
        for index in servers:
            call = self.calls[index]
            self.pair(index, callers[call.trace_id, call.tool])

    def pair(self, index: int, candidates: list[int]) -> None:
        """Join a record into the first candidate that tells the same; that one is used up."""
        call = self.calls[index]
        for place, candidate in enumerate(candidates):
            other = self.calls[candidate]
            if starts_after(other, call):
                return
            if (
                not self.is_above(candidate, index)
                and not self.is_above(index, candidate)
                and holds(other, call)
                and agree(other, call)
            ):
                del candidates[place]
                self.join(index, candidate)
                return

    def is_above(self, above: int, below: int) -> bool:
        """Whether one call's span is among the ancestors of the other's."""
        call, lower = self.calls[above], self.calls[below]
        if call.trace_id != lower.trace_id:
            return False
        place = self.nearest_above(lower.trace_id, lower.span_id)
        seen = set()
        while place is not None and place not in seen:
            if place == (call.trace_id, call.span_id):
                return True
            seen.add(place)
            place = self.nearest_above(*place)
        return False

    def join_same_ids(self, order: Iterable[int]) -> None:
        by_id: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index in order:
            call = self.calls[index]
            if call.call_id is not None and self.outer[index] == index:
                by_id[call.call_id, call.tool].append(index)
        for group in by_id.values():
            if len(group) == 1:
                continue
            open_calls: list[int] = []
            for index in group:
                self.close_ended(open_calls, index)
                target = next(
                    (other for other in open_calls if self.doubly_told(other, index)), None
                )
                if target is None:
                    open_calls.append(index)
                else:
                    self.link(self.calls[index].trace_id, self.calls[target].trace_id)
                    self.join_outer(index, target)

    def link(self, one: str, other: str) -> None:
        one, other = self.run_of(one), self.run_of(other)
        if one != other:
            self.linked[max(one, other)] = min(one, other)

    def run_of(self, trace: str) -> str:
        """Return the first of the traces that are linked with one."""
        while trace in self.linked:
            trace = self.linked[trace]
        return trace

    def close_ended(self, open_calls: list[int], now: int) -> None:
        """Leave only those that had not ended when a call started."""
        call = self.calls[now]
        open_calls[:] = [
            other for other in open_calls[-_MOST_OPEN:] if still_open(self.calls[other], call)
        ]

    def doubly_told(self, first: int, second: int) -> bool:
        """Whether two instrumentations told one call id."""
        one, other = self.calls[first], self.calls[second]
        if one.scope == other.scope and one.convention == other.convention:
            return False
        if one.trace_id != other.trace_id and one.service != other.service:
            return False
        return overlap(one, other) and agree(one, other)

    def join_two_tellers(self, order: Iterable[int]) -> None:
        """Join what two instrumentations tell of one run where one of them has no call id."""
        scopes: dict[tuple[str, str], set[str]] = defaultdict(set)
        left = [index for index in order if self.outer[index] == index]
        for index in left:
            call = self.calls[index]
            scopes[self.run_of(call.trace_id), call.tool].add(call.scope)
        open_calls: dict[tuple[str, str], list[int]] = defaultdict(list)
        for index in left:
            call = self.calls[index]
            key = (self.run_of(call.trace_id), call.tool)
            if len(scopes[key]) == 1:
                continue
            beside = open_calls[key]
            self.close_ended(beside, index)
            target = next((other for other in beside if self.told_twice(other, index)), None)
            if target is None:
                beside.append(index)
            else:
                beside.remove(target)  # one to one: equal calls side by side stay apart
                self.join_outer(index, target)

    def told_twice(self, first: int, second: int) -> bool:
        one, other = self.calls[first], self.calls[second]
        if one.scope == other.scope or one.kind != other.kind:
            return False
        if one.trace_id != other.trace_id and one.service != other.service:
            return False
        if not nearly_coincide(one, other) or not agree(one, other):
            return False
        return not self.is_above(first, second) and not self.is_above(second, first)

    def join_outer(self, one: int, other: int) -> None:
        """Join the shorter of two overlapping records into the longer."""
        if holds(self.calls[one], self.calls[other]) and not holds(
            self.calls[other], self.calls[one]
        ):
            one, other = other, one
        self.join(one, other)

    def join_phases(self, order: Iterable[int]) -> None:
        begun: dict[tuple[str, str | None, str, str | None], int] = {}
        for index in order:
            call = self.calls[index]
            if call.convention != PHASED or call.call_id is None:
                continue
            key = (call.trace_id, call.parent_span_id, call.tool, call.call_id)
            self.join(index, begun.setdefault(key, index))


_UNKNOWN: tuple[str, str] = ("", "")
_MOST_OPEN = 64
"""How many open calls of one tool are looked through for a partner."""


def _by_start(call: ToolCall) -> tuple[int, int]:
    """Sort key: earlier first, of those that start together the longer first, no times last."""
    if call.start_ns is None:
        return (1 << 63, 0)
    return (call.start_ns, -(call.end_ns if call.end_ns is not None else call.start_ns))


def _place(call: ToolCall) -> Place:
    return (call.trace_id, call.span_id, call.position)


def _tells_the_same_below(above: ToolCall, below: ToolCall) -> bool:
    if below.convention == EXECUTION and above.convention == EXECUTED:
        return True
    if above.tool != below.tool:
        return False
    if below.span_kind != SERVER and not overlap(above, below):  # a server has its own clock
        return False
    if above.call_id is not None and above.call_id == below.call_id:
        return True  # a wrapper may have changed the arguments on their way
    return agree(above, below)
