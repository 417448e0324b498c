"""What the runtime costs per call, beside the SDK's decorator and three caches on the same work.

    python tests/benchmarks/runtime_overhead.py [--redis redis://127.0.0.1:6379/0] [--calls 2000]

The work is a tool with three arguments that returns an object of 1 KB. Every line is the best of
the rounds, in microseconds per call: the time that passed, and the processor time of all threads of
this process, which a busy machine changes less. The rows take turns. Below a capture stand its
parts: hashing the arguments and the result, measured alone, and the rest. The SDK is served by a
backend on 127.0.0.1, in a process of its own, that has everything in memory. A Redis server is
started if one is installed. What is not there is left out by name; all of it needs

    python -m pip install '.[benchmark,redis]' visceral-ai==0.2.5 cashews dogpile.cache

With the SDK installed OpenTelemetry is loaded, and our spans are current in its context as well,
which an agent without it does not pay for.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from redis_server import LeftOut, start_redis
from sdk_calls import SdkCalls

from visceral_cli import cached_tool_call, tool
from visceral_cli.contract.identity import canonical_json, input_hash, input_hash_of_text
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.kept_value import write_value
from visceral_cli.runtime.wrap import unwrap, wrap

NAME = "get_customer"
RESULT = {
    "customer": "c-1",
    "items": [{"id": n, "name": f"item {n}", "ok": True} for n in range(24)],
}
ARGUMENTS = {"customer_id": "c-1", "limit": 50, "sort": ["name", "-date"]}

CAPTURE = "@tool, capture"
HASH_ARGUMENTS = "  hashing the arguments"
HASH_RESULT = "  hashing the result"
REST = "  the rest"


def get(customer_id: str, limit: int = 20, sort: Any = None) -> Any:
    """The work: it does nothing but return."""
    return RESULT


Timed = Callable[[], object]


def ours(folder: Path, *, rules: list[Any] | None, results: str | Path | None = None) -> Timed:
    """Return a call of our decorator under its own installation."""
    number = len(list(folder.iterdir()))
    (folder / f"rules-{number}.json").write_text(json.dumps({"rules": rules or []}))
    wrap(
        None,
        "bench",
        apply=rules is not None,
        rules=folder / f"rules-{number}.json",
        results=results,
        trace_file=folder / f"traces-{number}.jsonl",
    )
    installed, INSTALLATION.runtime = INSTALLATION.runtime, Runtime()
    decorated = tool(NAME, readonly=True, replay_safe=True)(get)

    def call() -> object:
        INSTALLATION.runtime = installed
        return decorated(**ARGUMENTS)

    return call


def rule() -> dict[str, Any]:
    """Return the rule for the call."""
    return {
        "decision_id": "r-1",
        "config": {
            "schema": 1,
            "rule_kind": "reuse_identity",
            "match": {
                "tool_name": NAME,
                "input_hash": input_hash(NAME, ARGUMENTS),
                "hash_v": 1,
            },
            "guard": {"read_only": True, "replay_safe": True},
            "action": {"op": "reuse_cached_result", "freshness_seconds": 3600},
        },
    }


def served(call: Timed) -> Timed:
    """Return the call after making sure that the tool does not run any more."""
    for _ in range(100):  # the first runs and is kept, unless a busy machine takes too long
        value = call()
        if value is not RESULT:
            assert value == RESULT
            return call
    raise AssertionError("not served")


def cached(folder: Path) -> Timed:
    """Return a call of `cached_tool_call` that is a hit in a results file."""
    wrap(None, "bench", results=folder / "cached.sqlite3", trace_file=folder / "cached.jsonl")
    installed, INSTALLATION.runtime = INSTALLATION.runtime, Runtime()

    def call() -> object:
        INSTALLATION.runtime = installed
        return cached_tool_call("bench", ["get"], ARGUMENTS, 3600, lambda: RESULT).value

    return call


def the_sdk(end: contextlib.ExitStack) -> dict[str, Timed]:
    """Return the calls of the SDK; raises `LeftOut` where it is not installed."""
    stored = {"text": canonical_json(RESULT), "cached_at": "2026-01-01T00:00:00+00:00"}
    try:
        sdk = SdkCalls([rule()], {"r-1": stored}, end)
    except ImportError:
        raise LeftOut("visceral-ai is not installed") from None
    return {
        "SDK @tool, capture": sdk.call(get, NAME, ARGUMENTS, apply=False),
        "SDK @tool, no rule matches": sdk.call(get, "another", ARGUMENTS, apply=True),
        "SDK @tool, served over HTTP": served(sdk.call(get, NAME, ARGUMENTS, apply=True)),
    }


def lru_cache() -> Timed:
    """Return a hit in ``functools.lru_cache``, which takes hashable arguments only."""
    decorated = functools.lru_cache(get)
    arguments = {**ARGUMENTS, "sort": ("name", "-date")}
    return lambda: decorated(**arguments)


def dogpile() -> Timed:
    """Return a hit in the memory backend of dogpile.cache, keyed by the JSON of the arguments."""
    try:
        dogpile_cache = importlib.import_module("dogpile.cache")
    except ImportError:
        raise LeftOut("dogpile.cache is not installed") from None
    region = dogpile_cache.make_region().configure("dogpile.cache.memory", expiration_time=3600)
    return lambda: region.get_or_create(
        json.dumps(ARGUMENTS, sort_keys=True), lambda: get(**ARGUMENTS)
    )


class Taken(NamedTuple):
    """What calls took, in seconds."""

    passed: float
    processor: float


class Watch:
    """Measures the time of a block."""

    def __enter__(self) -> Watch:
        self._processor, self._passed = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *raised: object) -> None:
        passed, processor = time.perf_counter(), time.process_time()
        self.taken = Taken(passed - self._passed, processor - self._processor)


Measured = Callable[[int], Taken]


def cashews(end: contextlib.ExitStack) -> Measured:
    """Return the measurement of a hit in the memory backend of cashews, on a loop of its own."""
    try:
        library = importlib.import_module("cashews")
    except ImportError:
        raise LeftOut("cashews is not installed") from None
    store = library.Cache()
    store.setup("mem://")

    @store(ttl="1h", key="{customer_id}:{limit}:{sort}")
    async def decorated(customer_id: str, limit: int = 20, sort: Any = None) -> Any:
        return RESULT

    loop = asyncio.new_event_loop()
    end.callback(loop.close)
    end.callback(lambda: loop.run_until_complete(store.close()))

    async def run(calls: int) -> Taken:
        with Watch() as watch:
            for _ in range(calls):
                await decorated(**ARGUMENTS)
        return watch.taken

    return lambda calls: loop.run_until_complete(run(calls))


def time_of(call: Timed, calls: int) -> Taken:
    """Return the time of so many calls."""
    with Watch() as watch:
        for _ in range(calls):
            call()
    return watch.taken


Rows = dict[str, Measured]


def rows(folder: Path, redis: str | None, end: contextlib.ExitStack) -> tuple[Rows, list[str]]:
    """Return the measurements by name, and what is left out and why."""
    found: Rows = {}
    missing: list[str] = []

    def add(name: str, call: Timed) -> None:
        found[name] = functools.partial(time_of, call)

    @contextlib.contextmanager
    def optional(name: str) -> Any:
        try:
            yield
        except LeftOut as reason:
            missing.append(f"{name}: {reason}")

    def hash_arguments() -> object:
        return input_hash_of_text(NAME, canonical_json(ARGUMENTS))

    add("bare call", lambda: get(**ARGUMENTS))
    add(CAPTURE, ours(folder, rules=None))
    add(HASH_ARGUMENTS, hash_arguments)
    add(HASH_RESULT, lambda: write_value(RESULT))
    in_file = functools.partial(ours, folder, results=folder / "results.sqlite3")
    add("@tool, no rule matches", in_file(rules=[]))
    add("@tool, served from sqlite", served(in_file(rules=[rule()])))
    with optional("@tool, served from Redis"):
        url = redis or start_redis(end)
        add("@tool, served from Redis", served(ours(folder, rules=[rule()], results=url)))
    add("cached_tool_call, hit in sqlite", served(cached(folder)))
    with optional("the SDK"):
        for name, call in the_sdk(end).items():
            add(name, call)
    add("functools.lru_cache, hit", lru_cache())
    with optional("dogpile.cache"):
        add("dogpile.cache memory, hit", dogpile())
    with optional("cashews"):
        found["cashews memory, hit"] = cashews(end)
    return found, missing


Rounds = dict[str, list[Taken]]
"""Microseconds per call, by row and round."""


def measure(timed: Rows, *, rounds: int, calls: int) -> Rounds:
    """Let the rows take turns."""
    for taken in timed.values():
        taken(50)
    found: Rounds = {name: [] for name in timed}
    for _ in range(rounds):
        for name, taken in timed.items():
            found[name].append(Taken(*(seconds / calls * 1e6 for seconds in taken(calls))))
    return found


def text_of(found: Rounds, missing: list[str]) -> str:
    """Return the table."""
    best = {name: Taken(*map(min, zip(*each, strict=True))) for name, each in found.items()}
    lines = [f"{'microseconds per call':34}{'passed':>10}{'processor':>12}"]
    for name, taken in best.items():
        lines.append(_line(name, taken))
        if name == HASH_RESULT:
            parts = zip(best[CAPTURE], best[HASH_ARGUMENTS], best[HASH_RESULT], strict=True)
            lines.append(_line(REST, Taken(*(whole - one - two for whole, one, two in parts))))
    return "\n".join([*lines, *(f"left out: {what}" for what in missing)])


def _line(name: str, taken: Taken) -> str:
    return f"{name:34}{taken.passed:10.1f}{taken.processor:12.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--redis", help="the URL of a Redis server; otherwise one is started")
    parser.add_argument("--calls", type=int, default=2000, help="calls per row and round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="every round, as JSON")
    options = parser.parse_args()
    with contextlib.ExitStack() as end:
        folder = Path(end.enter_context(tempfile.TemporaryDirectory()))
        end.callback(unwrap)
        timed, missing = rows(folder, options.redis, end)
        found = measure(timed, rounds=options.rounds, calls=options.calls)
        text = json.dumps(found) if options.json else text_of(found, missing)
        sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
