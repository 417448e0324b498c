"""The same rules and the same calls, served by the real SDK over HTTP and by us from a file.

The SDK fetches its key, its rules and each stored result from a backend on 127.0.0.1. That backend
knows the executions that the SDK's own spans tell of, and answers with the newest one inside of the
rule's freshness, as the contract asks. We keep our results ourselves.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import importlib.util
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from visceral_cli import tool
from visceral_cli.contract.identity import input_hash
from visceral_cli.runtime import results
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.run import Writers
from visceral_cli.runtime.wrap import flush, unwrap, wrap

sdk = pytest.importorskip("visceral", reason="the SDK visceral-ai is not installed")
pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk not installed")

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

apply_rules = importlib.import_module("visceral.apply_rules")
otel_setup = importlib.import_module("visceral.otel_setup")
tool_serve = importlib.import_module("visceral.tool_serve")

DECISION = "visceral.tool.served_decision_id"
MATCH = "visceral.tool.verify_match"
HASH = "visceral.tool.input_hash"
OVERRIDE = "visceral.tool.freshness_override"
NOT_THE_SDKS = ("visceral.tool.output_order", "visceral.tool.served_start_ns")


def load_backend() -> ModuleType:
    path = Path(__file__).with_name("loopback_backend.py")
    spec = importlib.util.spec_from_file_location("loopback_backend", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


loopback = load_backend()


@dataclass
class Clock:
    """Real time, and what the test lets pass beside it."""

    ahead_ns: int = 0

    def __call__(self) -> int:
        return time.time_ns() + self.ahead_ns

    def advance(self, seconds: float) -> None:
        self.ahead_ns += int(seconds * 1e9)


@dataclass
class Executions:
    """The real executions that the spans of the SDK tell of, as its backend knows them."""

    clock: Clock
    freshness: dict[str, float] = field(default_factory=dict)
    """Seconds, by decision."""
    newest: dict[str, tuple[int, Any, float]] = field(default_factory=dict)
    """By input hash: when it ended, the result, the override on its span."""

    def learn(self, attributes: dict[str, Any], *, failed: bool) -> None:
        if HASH in attributes and "output.value" in attributes and not failed:
            produced = datetime.now(UTC).isoformat()
            stored = loopback.Stored(attributes["output.value"], produced)
            bound = attributes.get(OVERRIDE, float("inf"))
            self.newest[attributes[HASH]] = (self.clock(), stored, bound)

    def find(self, decision_id: str, asked: str | None) -> Any:
        if asked not in self.newest:
            return None
        at_ns, stored, bound = self.newest[asked]
        age = (self.clock() - at_ns) / 1e9
        return stored if age <= min(bound, self.freshness[decision_id]) else None


@dataclass
class Side:
    """One of the two decorators, the spans it leaves and the tools that it has."""

    decorate: Callable[..., Any]
    exporter: Any
    loop: asyncio.AbstractEventLoop
    """One for all calls: the SDK keeps its connection with the loop."""
    tools: dict[str, Any] = field(default_factory=dict)
    runs: int = 0

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], Any, int, bool]:
        """Return the span's attributes, the outcome, how often the tool ran, whether it failed."""
        self.exporter.clear()
        before = self.runs
        try:
            outcome = self.tools[name](**arguments)
            if asyncio.iscoroutine(outcome):
                outcome = self.loop.run_until_complete(outcome)
        except LookupError as error:
            outcome = error
        spans = [span for span in self.exporter.get_finished_spans() if span.name == name]
        (span,) = spans
        failed = not span.status.is_ok and span.status.status_code.name == "ERROR"
        return dict(span.attributes), outcome, self.runs - before, failed


@dataclass
class Both:
    """The SDK and we, over the same rules."""

    theirs: Side
    ours: Side
    backend: Any
    url: str
    clock: Clock
    folder: Path
    executions: Executions
    world: dict[str, Any] = field(default_factory=dict)
    """What each tool returns now; an exception is raised."""
    drawn: float = 0.5

    def declare(self, name: str, *, is_async: bool = False, **options: Any) -> None:
        for side in (self.theirs, self.ours):

            def get(q: Any = 0, side: Side = side) -> Any:
                side.runs += 1
                result = self.world[name]
                if isinstance(result, Exception):
                    raise result
                return json.loads(json.dumps(result)) if type(result) is dict else result

            function = plain_signature(get, is_async=is_async)
            side.tools[name] = side.decorate(name, **options)(function)

    def install(self, rules: list[dict[str, Any]]) -> None:
        """Put the rules in force on both sides, and forget what was kept."""
        self.backend.rules[:] = rules
        self.executions.newest.clear()
        for rule in rules:
            seconds = rule["config"]["action"].get("freshness_seconds", 0)
            self.executions.freshness[rule["decision_id"]] = seconds
        apply_rules.reset()
        apply_rules.start("key", self.url)  # the SDK's own fetch
        assert apply_rules.current().enabled
        path = self.folder / "rules.json"
        path.write_text(json.dumps({"format": 1, "rules": rules}))
        wrap(
            None,
            "agent",
            apply=True,
            rules=path,
            results=self.folder / f"{len(list(self.folder.iterdir()))}.sqlite3",
            tracer_provider=self.ours.exporter.provider,
            capture="clear",
        )
        INSTALLATION.runtime = replace(
            INSTALLATION.runtime,
            clock=self.clock,
            writers=Writers(self.clock),
            draw=lambda: self.drawn,
        )

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Make the call on both sides, hold them against each other, return the attributes."""
        theirs, their_outcome, their_runs, failed = self.theirs.call(name, arguments)
        self.executions.learn(theirs, failed=failed)
        ours, our_outcome, our_runs, we_failed = self.ours.call(name, arguments)
        results._WAITERS.close()  # an async writer tells the store of its end a moment later
        started = ours.get("visceral.tool.served_start_ns")
        assert (started is not None) == (DECISION in ours or MATCH in ours)
        for more in NOT_THE_SDKS:
            ours.pop(more, None)
        assert ours == theirs
        assert our_runs == their_runs
        assert we_failed == failed
        if isinstance(their_outcome, Exception):
            assert our_outcome is their_outcome
        else:
            assert (our_outcome, type(our_outcome)) == (their_outcome, type(their_outcome))
        return ours


def plain_signature(get: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    def declared(q: Any = 0) -> Any:
        return get(q)

    async def declared_async(q: Any = 0) -> Any:
        return get(q)

    return declared_async if is_async else declared


def in_memory() -> Any:
    exporter = InMemorySpanExporter()
    exporter.provider = TracerProvider()
    exporter.provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


@pytest.fixture(scope="module")
def armed() -> Iterator[Any]:
    """The SDK after its own ``wrap(apply=True)`` against the backend, which is given too."""
    backend, loop = loopback.Backend(), asyncio.new_event_loop()
    server = loopback.Server(backend)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", "5")  # the machine may be busy
        patch.setenv("VISCERAL_EXPORT_INTERVAL", "600")  # when a test asks for it
        for name in ("VISCERAL_TOOL_APPLY", "VISCERAL_TOOL_SUPPRESS", "VISCERAL_API_KEY"):
            patch.delenv(name, raising=False)
        options = {"api_key": "key", "base_url": server.url, "provider_hint": "custom"}
        sdk.wrap(object(), "agent", apply=True, **options)
        assert tool_serve._config is not None
        yield backend, server.url, loop
    if tool_serve._async_client is not None:
        loop.run_until_complete(tool_serve._async_client.aclose())
    loop.close()
    otel_setup._provider.shutdown()
    otel_setup._provider = None
    apply_rules.reset()
    tool_serve.reset()
    server.stop()


@pytest.fixture
def both(armed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    backend, url, loop = armed
    theirs, ours, clock = in_memory(), in_memory(), Clock()
    executions = Executions(clock)
    backend.find = executions.find
    decorator = importlib.import_module("visceral.tool")
    monkeypatch.setattr(decorator, "get_tracer", lambda: theirs.provider.get_tracer("visceral"))
    made = Both(
        theirs=Side(sdk.tool, theirs, loop),
        ours=Side(tool, ours, loop),
        backend=backend,
        url=url,
        clock=clock,
        folder=tmp_path,
        executions=executions,
    )
    monkeypatch.setattr(tool_serve, "random", SimpleNamespace(random=lambda: made.drawn))
    tool_serve._writer_log.set(None)
    tool_serve.ensure_writer_log()  # as entering a node does: tasks share it from here on
    yield made
    unwrap()
    apply_rules.reset()


def rule(
    name: str,
    arguments: dict[str, Any],
    decision: str = "r-1",
    *,
    freshness: float = 60.5,
    version: str | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """The rule for a call; ``changes`` by section, such as ``guard={...}``."""
    config: dict[str, Any] = {
        "schema": 1,
        "rule_kind": "reuse_identity",
        "match": {
            "tool_name": name,
            "input_hash": input_hash(name, {"q": 0, **arguments}, version=version),
            "hash_v": 1,
        },
        "guard": {"read_only": True, "replay_safe": True},
        "action": {"op": "reuse_cached_result", "freshness_seconds": freshness},
    }
    for section, change in changes.items():
        value = config.get(section)
        config[section] = {**value, **change} if isinstance(value, dict) else change
    return {"decision_id": decision, "config": config}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_match_is_served_until_its_freshness_is_over(both, is_async):
    both.declare("get", readonly=True, replay_safe=True, is_async=is_async)
    both.install([rule("get", {"q": 1})])
    both.world["get"] = {"b": 1.0, "a": [None, "é"]}
    assert DECISION not in both.call("get", q=1)
    both.world["get"] = {"b": 2}
    assert both.call("get", q=1)[DECISION] == "r-1"
    assert DECISION not in both.call("get", q=2)
    both.clock.advance(61)
    assert DECISION not in both.call("get", q=1)
    assert both.call("get", q=1)[DECISION] == "r-1"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_verify_sample_compares_and_refreshes(both, is_async):
    both.declare("get", readonly=True, replay_safe=True, is_async=is_async)
    both.install([rule("get", {"q": 1}, action={"verify_sample_rate": 0.5})])
    both.world["get"] = {"v": 1}
    both.call("get", q=1)
    both.drawn = 0.4
    assert both.call("get", q=1)[MATCH] is True
    both.world["get"] = {"v": 1.0}
    assert both.call("get", q=1)[MATCH] is False
    assert both.call("get", q=1)[MATCH] is True  # of the refreshed result
    both.world["get"] = (1,)
    assert both.call("get", q=1)[MATCH] is False
    both.drawn = 0.6
    assert MATCH not in both.call("get", q=1)


def test_a_writer_voids_what_was_kept_before_it(both):
    both.declare("get", readonly=True, replay_safe=True)
    both.declare("put")
    both.world.update(get={"v": 1}, put=None)
    both.install([rule("get", {"q": 1})])
    both.call("get", q=1)
    both.call("put")
    assert DECISION not in both.call("get", q=1)
    assert both.call("get", q=1)[DECISION] == "r-1"


def test_the_switch_stops_serving_at_once(both, monkeypatch):
    both.declare("get", readonly=True, replay_safe=True)
    both.install([rule("get", {"q": 1})])
    both.world["get"] = {"v": 1}
    both.call("get", q=1)
    for value, served in (("0", False), ("No", False), ("1", True), ("", True), ("else", True)):
        monkeypatch.setenv("VISCERAL_TOOL_APPLY", value)
        assert (DECISION in both.call("get", q=1)) is served


GOOD: dict[str, Any] = {}
ODD: tuple[dict[str, Any], ...] = (
    {"schema": 3},
    {"rule_kind": "another"},
    {"match": {"hash_v": 2}},
    {"guard": {"read_only": 1}},
    {"guard": {"replay_safe": False}},
    {"action": {"op": "another"}},
    # nothing is suppressed unless the user has turned that on
    {
        "rule_kind": "suppress_dead",
        "match": {"system_prompt_hash": "0" * 64},
        "action": {"op": "serve_stored_result"},
    },
)
TOOLS: dict[str, dict[str, Any]] = {
    "get": {"readonly": True, "replay_safe": True},
    "search": {"readonly": True, "replay_safe": True, "is_async": True, "version": "2"},
    "short": {"readonly": True, "replay_safe": True, "freshness_seconds": 5.5},
    "by-nothing": {"readonly": True, "replay_safe": True, "vary": ["q"]},
    "looks": {"readonly": True},
    "put": {},
    "aput": {"is_async": True},
}
RESULTS = (None, True, 1, 1.0, "text", [1, [2]], {"b": 1, "a": {"d": 2, "c": [3]}}, (1, 2))


def play(both: Both, rng: random.Random) -> Counter[str]:
    """Make random calls under random rules; return what became of them."""
    rules = []
    for name, options in TOOLS.items():
        both.declare(name, **options)
        for q in range(2):
            for number in range(rng.choice([0, 1, 1, 2])):
                change = GOOD if rng.random() < 0.8 else rng.choice(ODD)
                version, decision = options.get("version"), f"{name}-{q}-{number}"
                made = rule(name, {"q": q}, decision, version=version, freshness=20.5, **change)
                made["config"]["action"]["verify_sample_rate"] = rng.choice([0, 0, 0.5, 1])
                rules.append(made)
    both.install(rules)
    seen: Counter[str] = Counter()
    for _ in range(80):
        both.clock.advance(rng.choice([0] * 8 + [3, 8]))
        both.drawn = rng.random()
        name = rng.choices(list(TOOLS), [4, 4, 4, 2, 1, 0.3, 0.3])[0]
        if name not in both.world or rng.random() < 0.2:  # the world changes
            both.world[name] = LookupError("gone") if rng.random() < 0.1 else rng.choice(RESULTS)
        attributes = both.call(name, q=rng.choice([0, 0, 0, 1, 1, 2]))
        seen[f"match {attributes[MATCH]}" if MATCH in attributes else "no sample"] += 1
        seen["served" if DECISION in attributes else "ran"] += 1
    return seen


def test_random_calls_under_random_rules_are_decided_alike(both):
    seen: Counter[str] = Counter()
    for seed in range(10):
        seen += play(both, random.Random(seed))
    assert all(seen[kind] > 5 for kind in ("served", "ran", "match True", "match False"))


def test_on_the_wire_a_served_and_a_real_call_look_alike(both, armed, monkeypatch):
    backend, *_ = armed
    decorator = importlib.import_module("visceral.tool")
    monkeypatch.setattr(decorator, "get_tracer", otel_setup.get_tracer)  # the SDK's own pipeline
    both.declare("get", readonly=True, replay_safe=True)
    both.world["get"] = {"b": 1, "a": 2}
    rules = [rule("get", {"q": 1})]
    both.install(rules)
    wrap(
        None,
        "agent",
        apply=True,
        rules=both.folder / "rules.json",
        results=both.folder / "wire.sqlite3",
        trace_file=both.folder / "wire.jsonl",
        key=loopback.KEY,
        key_id=loopback.KEY_ID,
    )
    stored = loopback.Stored('{"a":2,"b":1}', datetime.now(UTC).isoformat())
    for find in (lambda *asked: None, lambda *asked: stored):
        backend.find = find
        assert [side.tools["get"](q=1) for side in (both.theirs, both.ours)] == [
            {"a": 2, "b": 1}
        ] * 2
    otel_setup._provider.force_flush()
    flush()
    theirs = [span for body in backend.exported for span in wire_spans(body)]
    ours = [
        {item["key"]: plain(item["value"]) for item in span["attributes"]}
        for line in (both.folder / "wire.jsonl").read_text().splitlines()
        for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    for span in ours:
        for more in NOT_THE_SDKS:
            span.pop(more, None)
    assert [opened(span) for span in ours] == [opened(span) for span in theirs]
    assert [DECISION in span for span in ours] == [False, True]


def wire_spans(body: bytes) -> Iterator[dict[str, Any]]:
    for resource_spans in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield {
                    item.key: getattr(item.value, item.value.WhichOneof("value"))
                    for item in span.attributes
                }


def plain(value: dict[str, Any]) -> Any:
    ((kind, inner),) = value.items()
    return int(inner) if kind == "intValue" else inner


def opened(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes with their encrypted sections in clear."""
    found = dict(attributes)
    for prefix in ("visceral.input", "visceral.output"):
        if f"{prefix}.ciphertext" in found:
            raw = {name: found.pop(f"{prefix}.{name}") for name in ("ciphertext", "iv", "tag")}
            cipher, iv, tag = (base64.b64decode(raw[name]) for name in ("ciphertext", "iv", "tag"))
            found[prefix] = AESGCM(loopback.KEY).decrypt(iv, cipher + tag, None)
    return found
