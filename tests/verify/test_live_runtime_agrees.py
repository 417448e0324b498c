"""Random histories of live agents: the replay decides every call as the runtime had decided it.

Agents run in threads, one at a time: whoever sleeps lets the next one wake, on a clock that moves
by nothing else. Their spans are recorded, read back and replayed under the rules they ran with.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import logging
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli import node, tool
from visceral_cli.contract.identity import input_hash
from visceral_cli.contract.rule import Action, Guard, Match, Operation, Rule, RuleKind, Sharing
from visceral_cli.pipeline import verify_inputs
from visceral_cli.progress import Silent
from visceral_cli.rules.rules_file import rules_text
from visceral_cli.runtime import recorder
from visceral_cli.runtime import wrap as wrapping
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.run import Writers
from visceral_cli.runtime.stores.sqlite import SqliteStore
from visceral_cli.settings import Settings
from visceral_cli.verify.verify import VerifyRequest

SECOND = 1_000_000_000
FRESHNESS_SECONDS = 10.1
"""No age that the steps below add up to: the runtime looks at the clock some nanoseconds before
the span of the call begins."""
_MEMORY = Path("/dev/shm")


@dataclass
class Stage:
    """Lets one agent at a time move, in the order of a clock that only sleeping moves."""

    now_ns: int = 1_800_000_000 * SECOND
    _waiting: list[tuple[int, int, threading.Event]] = field(default_factory=list)
    _turns: Iterator[int] = field(default_factory=itertools.count)
    _still: threading.Event = field(default_factory=threading.Event)

    def clock(self) -> int:
        """Return the time; every look lets a nanosecond pass."""
        self.now_ns += 1
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        """Let the others move until the time has come; called by agents."""
        woken = threading.Event()
        when = self.now_ns + int(seconds * SECOND)
        heapq.heappush(self._waiting, (when, next(self._turns), woken))
        self._still.set()
        assert woken.wait(30)

    def play(self, *agents: Callable[[], None]) -> None:
        """Run the agents to their ends."""

        def run(agent: Callable[[], None]) -> None:
            self.sleep(0)
            try:
                agent()
            finally:
                self._still.set()

        threads = [threading.Thread(target=run, args=(agent,), daemon=True) for agent in agents]
        for thread in threads:
            self._still.clear()
            thread.start()
            assert self._still.wait(30)
        while self._waiting:
            when, _, woken = heapq.heappop(self._waiting)
            self.now_ns = max(self.now_ns, when)
            self._still.clear()
            woken.set()
            assert self._still.wait(30)
        for thread in threads:
            thread.join(30)


class World:
    """What the tools read and change."""

    def __init__(self, stage: Stage) -> None:
        self.state = 0
        self.lasts = 0.0
        self.fails = False
        self.inside: str | None = None
        """What the next read does while it runs."""

        def read(q: str) -> str:
            seen, lasts, fails, inside = self.state, self.lasts, self.fails, self.inside
            self.inside = None
            stage.sleep(lasts / 2)
            if inside is not None:
                self.tools[inside]()
            stage.sleep(lasts / 2)
            if fails:
                raise ValueError
            return f"{q} {seen}"

        def write() -> None:
            stage.sleep(self.lasts)
            self.state += 1
            if self.fails:
                raise ValueError

        reads = {"readonly": True, "replay_safe": True}
        self.tools = {
            "get": tool("get", **reads)(read),
            "get v2": tool("get", version="2", **reads)(read),
            "find": tool("find", **reads)(read),
            "put": tool("put")(write),
            "put get": tool("put_get", invalidates=["get"])(write),
            "put nothing": tool("put_nothing", invalidates=[])(write),
        }


def _rules() -> list[Rule]:
    def rule(name: str, q: str, version: str | None, seconds: float) -> Rule:
        return Rule(
            decision_id=f"r-{name}-{q}-{version}",
            kind=RuleKind.REUSE_IDENTITY,
            match=Match(name, input_hash(name, {"q": q}, version=version), 1, scope=Sharing.ALL),
            guard=Guard(read_only=True, replay_safe=True),
            action=Action(Operation.REUSE_CACHED_RESULT, seconds),
        )

    return [
        rule("get", "a", None, FRESHNESS_SECONDS),
        rule("get", "b", None, FRESHNESS_SECONDS),
        rule("get", "a", "2", FRESHNESS_SECONDS / 2),
        rule("find", "a", None, FRESHNESS_SECONDS),
    ]


_steps = st.lists(
    st.fixed_dictionaries(
        {
            "tool": st.sampled_from(
                ["get", "get", "get", "get v2", "find", "put", "put get", "put nothing"]
            ),
            "q": st.sampled_from(["a", "a", "a", "b"]),
            "after": st.sampled_from([0.5, 1, 3, 6, 11]),
            "lasts": st.sampled_from([0, 0, 0.5, 3]),
            "fails": st.sampled_from([False, False, False, True]),
            "inside": st.sampled_from([None, None, None, "put", "put get"]),
        }
    ),
    min_size=5,
    max_size=25,
)
_agents = st.lists(st.tuples(st.booleans(), _steps), min_size=2, max_size=4)


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", "5")
    monkeypatch.delenv("VISCERAL_TOOL_APPLY", raising=False)
    logging.getLogger("visceral_cli.runtime").setLevel(logging.ERROR)
    yield
    wrapping.unwrap()


def _lived(folder: Path, agents: list[tuple[bool, list[dict[str, object]]]]) -> Counter[str]:
    """Let the agents run with the rules in force; return what became of their reads."""
    stage = Stage()
    world = World(stage)
    (folder / "rules.json").write_text(rules_text(_rules()))
    store = SqliteStore(folder / "results.sqlite3", clock=stage.clock, lease_seconds=1e6)
    kinds: Counter[str] = Counter()
    wrapping.wrap(
        None,
        "agent",
        apply=True,
        rules=folder / "rules.json",
        results=store,
        trace_file=folder / "traces.jsonl",
        on_outcome=lambda one: kinds.update([one.kind.value]),
    )
    installed = INSTALLATION.runtime
    fields = {name: getattr(installed, name) for name in Runtime.__slots__}
    fields |= {"clock": stage.clock, "writers": Writers(stage.clock)}
    INSTALLATION.runtime = Runtime(**fields)
    assert installed.results is not None
    installed.results.clock = stage.clock

    def agent(declared: bool, steps: list[dict[str, object]]) -> Callable[[], None]:
        @node("agent", run=declared)
        def run() -> None:
            for step in steps:
                stage.sleep(step["after"])
                world.lasts, world.fails = step["lasts"], step["fails"]
                world.inside = step["inside"]
                asked = (step["q"],) if step["tool"] in ("get", "get v2", "find") else ()
                with contextlib.suppress(ValueError):
                    world.tools[step["tool"]](*asked)
                world.inside = None

        return run

    original, recorder.now_ns = recorder.now_ns, stage.clock
    try:
        stage.play(*(agent(*one) for one in agents))
        wrapping.flush()
    finally:
        recorder.now_ns = original
        wrapping.unwrap()
    return kinds


def test_the_replay_serves_what_the_runtime_served_and_nothing_that_it_ran():
    lived: Counter[str] = Counter()

    @settings(max_examples=12, deadline=None)
    @given(agents=_agents)
    def they_agree(agents: list[tuple[bool, list[dict[str, object]]]]) -> None:
        with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as place:
            kinds = _lived(Path(place), agents)
            lived.update(kinds)
            request = VerifyRequest(tuple(_rules()))
            traces = [f"{place}/traces.jsonl"]
            found = verify_inputs(traces, Settings(workers=1), request, Silent()).verification
        assert [serve.cause for serve in found.serves] == [None] * kinds["hit"]
        assert [rule.served for rule in found.rules] == [0] * len(found.rules)

    they_agree()
    assert min(lived[kind] for kind in ("hit", "invalidated", "stale", "miss", "error")) > 0
