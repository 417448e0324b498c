"""A clock that tests move, a runtime that records in memory, caches over any store."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.contract.identity import input_hash
from visceral_cli.runtime import trace_context
from visceral_cli.runtime import wrap as wrapping
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.outcome import Outcome
from visceral_cli.runtime.run import Writers

SECOND = 1_000_000_000


@dataclass
class MovableClock:
    """Shows the time that the test sets; every look lets a nanosecond pass."""

    now: int = 1_800_000_000 * SECOND

    def __call__(self) -> int:
        self.now += 1
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)


@dataclass
class Trace:
    """The spans of a trace file, each as its OTLP object."""

    path: Path

    def spans(self) -> list[dict[str, Any]]:
        wrapping.flush()
        if not self.path.exists():
            return []
        lines = self.path.read_text("ascii").splitlines()
        return [json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in lines]

    def text(self) -> str:
        """What is in the file, once there is something."""
        wrapping.flush()
        return self.path.read_text("ascii")

    def attributes(self) -> list[dict[str, Any]]:
        return [plain(span["attributes"]) for span in self.spans()]


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for attribute in attributes:
        ((kind, value),) = attribute["value"].items()
        found[attribute["key"]] = int(value) if kind == "intValue" else value
    return found


@dataclass
class Agent:
    """An installed runtime with everything that it leaves behind."""

    folder: Path
    trace: Trace
    outcomes: list[Outcome] = field(default_factory=list)
    writers: Writers = field(default_factory=Writers)
    """Of this test only; sabotaged writers of another one would never end."""

    def wrap(self, **options: Any) -> None:
        settings = {"trace_file": self.trace.path, "on_outcome": self.outcomes.append, **options}
        wrapping.wrap(None, "agent", **settings)
        self.replace(writers=self.writers)

    def replace(self, **changes: Any) -> Runtime:
        """Change parts of what is installed; returns it."""
        runtime = INSTALLATION.runtime
        fields = {name: getattr(runtime, name) for name in Runtime.__slots__}
        INSTALLATION.runtime = Runtime(**{**fields, **changes})
        return INSTALLATION.runtime

    def serve(self, *rules: dict[str, Any], **options: Any) -> None:
        """Install with these rules in force."""
        self.write_rules(*rules)
        self.wrap(
            apply=True,
            **{
                "rules": self.folder / "rules.json",
                "results": self.folder / "results.sqlite3",
                **options,
            },
        )

    def write_rules(self, *rules: dict[str, Any]) -> None:
        beside = self.folder / "rules.tmp"
        beside.write_text(json.dumps({"format": 1, "rules": rules}))
        beside.replace(self.folder / "rules.json")

    @property
    def last(self) -> tuple[str, str]:
        """Kind and reason of the last outcome."""
        return self.outcomes[-1].kind.value, self.outcomes[-1].reason


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a results file is made with several syncs."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="visceral-tests-") as made:
        yield Path(made)


@pytest.fixture
def agent(folder: Path) -> Iterator[Agent]:
    yield Agent(folder, Trace(folder / "traces.jsonl"))
    wrapping.unwrap()
    trace_context._current.set(None)  # a sabotaged span may have been left open


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def rule() -> Callable[..., dict[str, Any]]:
    """Builds the rule for a tool with arguments."""

    def build(
        tool: str = "get",
        arguments: dict[str, object] | None = None,
        *,
        freshness: float | None = 60,
        verify: float = 0,
        version: object = None,
        **match: Any,
    ) -> dict[str, Any]:
        identity = input_hash(tool, arguments or {}, version=version)
        action: dict[str, Any] = {"op": "reuse_cached_result", "verify_sample_rate": verify}
        if freshness is not None:
            action["freshness_seconds"] = freshness
        return {
            "decision_id": "r-1",
            "config": {
                "schema": 1,
                "rule_kind": "reuse_identity",
                "match": {"tool_name": tool, "input_hash": identity, "hash_v": 1, **match},
                "guard": {"read_only": True, "replay_safe": True},
                "action": action,
            },
        }

    return build


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "VISCERAL_TOOL_APPLY",
        "VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS",
        "VISCERAL_RULES_FILE",
        "VISCERAL_TRACE_FILE",
        "VISCERAL_RESULTS_STORE",
        "VISCERAL_CAPTURE_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # a busy machine must not turn a hit into a miss; tests about time set their own
    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", "5")
    logging.getLogger("visceral_cli.runtime").setLevel(logging.DEBUG)
