"""Calls whose verdict is known because the story says so, not because something computed it.

Each scenario is one short story about one question (a tool and arguments that no other scenario
asks) and says of every call what it is: the first, a repeat that a stored result would have
answered, and by which call, or why not. ``make_world`` tells every story once for every way to
instrument an agent, among model calls and other spans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from recorded_span import (
    CONVENTIONS,
    SCOPES,
    Content,
    RecordedSpan,
    Written,
    input_hash,
    visceral_writer,
)

SECOND = 1_000_000_000
START_NS = 1_772_442_000 * SECOND
WEEK = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Truth:
    """What one call is; ``source`` is the span id of the call that would have answered it."""

    verdicts: frozenset[str]
    source: str | None
    seconds: float
    scenario: str


@dataclass(slots=True)
class World:
    """All spans, and the truth about those that are tool calls."""

    rng: random.Random
    spans: list[RecordedSpan] = field(default_factory=list)
    truths: dict[str, Truth] = field(default_factory=dict)
    also_told_by: dict[str, str] = field(default_factory=dict)
    """Span id of a second span of a call to that of the first: the call is one of the two."""


@dataclass(slots=True)
class Story:
    """One scenario under one convention: its question, its service, its clock."""

    world: World
    name: str
    convention: str
    begin_ns: int
    number: int
    suffix: str = ""
    traces: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The tool of the story's question."""
        return f"look_up_{self.number % 7}"

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of the story's question."""
        return {"query": f"{self.name} {self.number}", "limit": 10, "exact": True}

    @property
    def result(self) -> dict[str, object]:
        """The usual answer."""
        return {"rows": [{"id": self.number, "title": "Zürich & São Paulo"}], "total": 1}

    def trace(self, name: str) -> tuple[str, str]:
        """Return trace id and root span id of a trace of this story."""
        if name not in self.traces:
            rng = self.world.rng
            self.traces[name] = (f"{rng.getrandbits(128):032x}", f"{rng.getrandbits(64):016x}")
        return self.traces[name]

    def add(
        self,
        trace: str,
        start: float,
        end: float,
        written: Written,
        *,
        failed: bool = False,
        service: str | None = None,
        parent: str | None = None,
    ) -> str:
        """Record a span from ``start`` to ``end`` seconds of the story; return its id."""
        trace_id, root = self.trace(trace)
        name, attributes, events = written
        span_id = f"{self.world.rng.getrandbits(64):016x}"
        self.world.spans.append(
            RecordedSpan(
                service or f"{self.convention}-service{self.suffix}",
                trace_id,
                span_id,
                parent or root,
                name,
                self.begin_ns + int(start * SECOND),
                self.begin_ns + int(end * SECOND),
                attributes,
                events,
                failed,
                SCOPES.get(self.convention, ""),
            )
        )
        return span_id

    def call(
        self,
        verdict: str,
        trace: str,
        start: float,
        *,
        seconds: float = 0.5,
        arguments: object = ...,
        result: object = ...,
        source: str | None = None,
        failed: bool = False,
        service: str | None = None,
        parent: str | None = None,
        tool: str | None = None,
        extra: dict[str, object] | None = None,
        call_id: str | None = None,
    ) -> str:
        """Record a call and the truth about it; ``a|b`` accepts either verdict."""
        content = Content(
            tool or self.tool,
            call_id or f"call_{self.world.rng.getrandbits(48):012x}",
            self.arguments if arguments is ... else arguments,
            self.result if result is ... else result,
            self.world.rng,
        )
        name, attributes, events = CONVENTIONS[self.convention](content)
        attributes |= extra or {}
        span_id = self.add(
            trace,
            start,
            start + seconds,
            (name, attributes, events),
            failed=failed,
            service=service,
            parent=parent,
        )
        self.world.truths[span_id] = Truth(
            frozenset(verdict.split("|")), source, seconds, f"{self.name} ({self.convention})"
        )
        return span_id

    def write(self, trace: str, start: float, *, seconds: float = 1.0, failed: bool = False) -> str:
        """Record a call of a writer: declared in Visceral spans, else known by its name."""
        content = Content("update_record", "call_w", {"n": self.number}, {"ok": 1}, self.world.rng)
        convention = visceral_writer if self.convention == "visceral" else None
        written = (convention or CONVENTIONS[self.convention])(content)
        span_id = self.add(trace, start, start + seconds, written, failed=failed)
        verdicts = frozenset({"writer", "failed"} if failed else {"writer"})
        self.world.truths[span_id] = Truth(verdicts, None, seconds, f"{self.name}, the writer")
        return span_id


# --- the stories -------------------------------------------------------------------------------


def same_trace(story: Story) -> None:
    first = story.call("first", "a", 0)
    second = story.call("reusable", "a", 30, source=first, seconds=0.7)
    story.call("reusable", "a", 60, source=second, seconds=1.1)


def across_traces(story: Story) -> None:
    first = story.call("first", "a", 0)
    second = story.call("reusable", "b", 4000, source=first)
    story.call("reusable", "c", 90_000, source=second, seconds=2.5)


def changed_result(story: Story) -> None:
    story.call("first", "a", 0)
    new = {"rows": [], "total": 0.0, "note": "none left"}
    second = story.call("changed", "a", 10, result=new)
    story.call("reusable", "b", 20, result=new, source=second)
    story.call("changed", "b", 30)


def number_types_of_results_differ(story: Story) -> None:
    story.call("first", "a", 0, result={"total": 1})
    story.call("changed", "a", 10, result={"total": "1"})
    story.call("changed", "a", 20, result={"total": True})


def errors_and_retries(story: Story) -> None:
    story.call("failed", "a", 0, failed=True, result=None)
    story.call("failed", "a", 2, failed=True, result=None)
    good = story.call("retry", "a", 4)
    story.call("failed", "a", 10, failed=True, result=None)
    story.call("reusable", "a", 12, source=good)


def errors_as_values(story: Story) -> None:
    for at, result in enumerate(
        ({"error": "no such record"}, {"success": False}, "Error: timed out")
    ):
        story.call("failed", "a", at * 5, result=result)
    fine = {"error": None, "rows": [1]}
    first = story.call("retry", "a", 20, result=fine)
    story.call("reusable", "a", 30, result=fine, source=first)


def writer_between(story: Story) -> None:
    story.call("first", "a", 0)
    story.write("a", 5)
    third = story.call("after-writer", "a", 10)
    story.call("reusable", "a", 20, source=third)


def failed_writer_between(story: Story) -> None:
    story.call("first", "a", 0)
    story.write("a", 5, failed=True)
    third = story.call("after-writer", "a", 10)
    story.call("reusable", "a", 20, source=third)


def writer_voids_what_another_trace_stored(story: Story) -> None:
    story.call("first", "a", 0)
    story.write("b", 5)
    third = story.call("after-writer", "b", 10)
    story.call("reusable", "a", 20, source=third)


def writer_of_another_trace(story: Story) -> None:
    first = story.call("first", "a", 0)
    story.write("c", 5)
    story.call("reusable", "b", 10, source=first)


def reading_while_a_writer_runs(story: Story) -> None:
    story.call("first", "a", 0)
    story.write("a", 5, seconds=15)
    story.call("after-writer", "a", 10)
    story.call("after-writer", "a", 30)


def changed_by_the_writer(story: Story) -> None:
    story.call("first", "a", 0)
    story.write("a", 5)
    story.call("after-writer|changed", "a", 10, result={"rows": [], "total": 0})


def writer_touches_the_start(story: Story) -> None:
    """A tie goes to the writer: the stored result began at the moment in which it ended."""
    story.write("a", 0, seconds=5)
    story.call("first", "a", 5, seconds=1)
    story.call("after-writer", "a", 10)


def in_flight(story: Story) -> None:
    first = story.call("first", "a", 0, seconds=10)
    story.call("in-flight", "a", 4, seconds=10)
    story.call("reusable", "a", 12, source=first)  # the second is still running


def as_soon_as_it_ends(story: Story) -> None:
    first = story.call("first", "a", 0, seconds=2)
    story.call("reusable", "a", 2, source=first)


def three_at_once(story: Story) -> None:
    for _ in range(3):
        story.call("first|in-flight", "a", 0, seconds=1)


def other_service(story: Story) -> None:
    story.call("first", "a", 0)
    story.call("first", "b", 30, service=f"other-{story.convention}-service{story.suffix}")


def other_arguments(story: Story) -> None:
    asked: list[object] = [1, 1.0, 1.5, "1", True, None, [1, 2], [2, 1], {"a": 1}, {"a": "1"}]
    asked += [2**70, 2**70 + 1, "caf\u00e9", "cafe\u0301"]
    if story.convention == "genai_structured":
        asked = [value for value in asked if value is not None and not _is_large(value)]
    for at, value in enumerate(asked):
        story.call("first", "a", at * 3, arguments={"value": value, "n": story.number})
    story.call("first", "a", 60, arguments={"n": story.number})


def _is_large(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= 2**63


def other_tool(story: Story) -> None:
    story.call("first", "a", 0)
    story.call("first", "a", 5, tool="find_elsewhere")


def other_user(story: Story) -> None:
    first = story.call("first", "a", 0, extra={"user.id": "u-1"})
    story.call("reusable", "b", 9, extra={"user.id": "u-2"}, source=first)
    mine = {"rows": [], "owner": "u-3"}
    story.call("changed", "c", 18, extra={"user.id": "u-3"}, result=mine)


def no_arguments(story: Story) -> None:
    for at in (0, 10):
        story.call("no-identity", "a", at, arguments=None)


def empty_arguments_are_arguments(story: Story) -> None:
    first = story.call("first", "a", 0, arguments={}, tool=f"list_all_{story.number}")
    story.call("reusable", "a", 10, arguments={}, tool=f"list_all_{story.number}", source=first)


def redacted(story: Story) -> None:
    hidden = {"genai": "gen_ai.tool.call.arguments", "openinference": "input.value"}
    extra: dict[str, object] = {hidden[story.convention]: "__REDACTED__"}
    for at in (0, 10):
        story.call("no-identity", "a", at, extra=extra)


def no_result(story: Story) -> None:
    story.call("first", "a", 0, result=None)
    second = story.call("unverifiable", "a", 10)
    story.call("reusable", "a", 20, source=second)
    story.call("unverifiable", "a", 30, result=None)


def twice_instrumented(story: Story) -> None:
    """A wrapper span of the same tool with the same arguments is the same call."""
    source = None
    for at, verdict in ((0, "first"), (20, "reusable")):
        call_id = f"call_{story.number}_{at}"
        outer = story.call(verdict, "a", at, seconds=2, source=source, call_id=call_id)
        inner = story.call(verdict, "a", at + 0.1, seconds=1.8, parent=outer, call_id=call_id)
        del story.world.truths[inner]
        story.world.also_told_by[inner] = source = outer


def served_and_verified(story: Story) -> None:
    identity = input_hash(story.tool, story.arguments)
    story.call("first", "a", 0)
    served = {"visceral.tool.served_decision_id": f"r-{identity[:12]}"}
    story.call("served", "b", 10, arguments=None, result=None, seconds=0.001, extra=dict(served))
    story.call("verify", "b", 20, extra={"visceral.tool.verify_match": True})


EVERYWHERE: tuple[Callable[[Story], None], ...] = (
    same_trace,
    across_traces,
    changed_result,
    number_types_of_results_differ,
    errors_and_retries,
    errors_as_values,
    writer_between,
    failed_writer_between,
    writer_voids_what_another_trace_stored,
    writer_of_another_trace,
    reading_while_a_writer_runs,
    changed_by_the_writer,
    writer_touches_the_start,
    in_flight,
    as_soon_as_it_ends,
    three_at_once,
    other_service,
    other_arguments,
    other_tool,
    other_user,
    no_arguments,
    empty_arguments_are_arguments,
    no_result,
    twice_instrumented,
)

SAFE = (same_trace, across_traces, as_soon_as_it_ends)
"""Told more often, so that repeats are as common as in real traces."""

SOMEWHERE: tuple[tuple[Callable[[Story], None], str], ...] = (
    (redacted, "genai"),
    (redacted, "openinference"),
    (served_and_verified, "visceral"),
)


ALL_STORIES = (
    *((scenario, convention) for scenario in EVERYWHERE for convention in CONVENTIONS),
    *((scenario, convention) for scenario in SAFE * 4 for convention in CONVENTIONS),
    *SOMEWHERE,
)


def make_world(
    seed: int,
    rounds: int = 2,
    stories: Sequence[tuple[Callable[[Story], None], str]] = ALL_STORIES,
) -> World:
    """Tell every story ``rounds`` times under its convention, at random times of a week."""
    world = World(random.Random(seed))
    for number, (scenario, convention) in enumerate([*stories] * rounds):
        begin_ns = START_NS + int(world.rng.random() * WEEK * SECOND)
        story = Story(world, scenario.__name__, convention, begin_ns, number)
        scenario(story)
        for trace in story.traces.values():
            _surroundings(world, story, trace)
    return world


def _surroundings(world: World, story: Story, trace: tuple[str, str]) -> None:
    """Add model calls and the root of a trace; one root in four is missing, as after a crash."""
    trace_id, root = trace
    service = f"{story.convention}-service{story.suffix}"
    begin_ns, end_ns = story.begin_ns - SECOND, story.begin_ns + 100_000 * SECOND
    for _ in range(2):
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 900}
        span_id = f"{world.rng.getrandbits(64):016x}"
        world.spans.append(
            RecordedSpan(service, trace_id, span_id, root, "chat", begin_ns, begin_ns, attributes)
        )
    if world.rng.random() < 0.75:
        world.spans.append(
            RecordedSpan(
                service,
                trace_id,
                root,
                "",
                "invoke_agent desk",
                begin_ns,
                end_ns,
                {"gen_ai.operation.name": "invoke_agent"},
            )
        )
