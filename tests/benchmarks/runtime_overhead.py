"""What the runtime costs per call, beside the SDK's decorator and three caches on the same work.

    python tests/benchmarks/runtime_overhead.py [--redis redis://127.0.0.1:6379/0] [--calls 3000]

The work is a tool with three arguments that returns an object of 1 KB. Every line is the best of
seven rounds, in microseconds per call; the rows take turns, so that a busy machine is busy for all.
What is not installed is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from visceral_cli import cached_tool_call, tool
from visceral_cli.contract.identity import input_hash
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.wrap import unwrap, wrap

ROUNDS = 7
RESULT = {
    "customer": "c-1",
    "items": [{"id": n, "name": f"item {n}", "ok": True} for n in range(24)],
}
ARGUMENTS = {"customer_id": "c-1", "limit": 50, "sort": ["name", "-date"]}


def get(customer_id: str, limit: int = 20, sort: Any = None) -> Any:
    """The work: it does nothing but return."""
    return RESULT


Timed = Callable[[], object]


def ours(folder: Path, *, rules: list[Any] | None, results: str | Path | None = None) -> Timed:
    """Return a call of our decorator under its own installation."""
    (folder / "rules.json").write_text(json.dumps({"rules": rules or []}))
    wrap(
        None,
        "bench",
        apply=rules is not None,
        rules=folder / "rules.json",
        results=results,
        trace_file=folder / f"{len(list(folder.iterdir()))}.jsonl",
    )
    installed, INSTALLATION.runtime = INSTALLATION.runtime, Runtime()
    decorated = tool("get_customer", readonly=True, replay_safe=True)(get)

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
                "tool_name": "get_customer",
                "input_hash": input_hash("get_customer", ARGUMENTS),
                "hash_v": 1,
            },
            "guard": {"read_only": True, "replay_safe": True},
            "action": {"op": "reuse_cached_result", "freshness_seconds": 3600},
        },
    }


def cached(folder: Path) -> Timed:
    """Return a call of `cached_tool_call` that is a hit in a results file."""
    wrap(None, "bench", results=folder / "cached.sqlite3", trace_file=folder / "cached.jsonl")
    installed, INSTALLATION.runtime = INSTALLATION.runtime, Runtime()

    def call() -> object:
        INSTALLATION.runtime = installed
        return cached_tool_call("bench", ["get"], ARGUMENTS, 3600, lambda: RESULT).value

    return call


def the_sdk() -> Timed | None:
    """Return a call of the SDK's decorator over a batching pipeline that exports to nowhere."""
    try:
        sdk = importlib.import_module("visceral.tool")
        trace = importlib.import_module("opentelemetry.sdk.trace")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
    except ImportError:
        return None

    class Nowhere(export.SpanExporter):  # type: ignore[name-defined, misc]
        """Takes spans and forgets them."""

        def export(self, spans: Any) -> Any:
            """Say that it worked."""
            return export.SpanExportResult.SUCCESS

    provider = trace.TracerProvider()
    provider.add_span_processor(export.BatchSpanProcessor(Nowhere()))
    sdk.get_tracer = lambda: provider.get_tracer("visceral")
    decorated = sdk.tool("get_customer", readonly=True, replay_safe=True)(get)
    return lambda: decorated(**ARGUMENTS)


def lru_cache() -> Timed:
    """Return a hit in ``functools.lru_cache``, which takes hashable arguments only."""
    decorated = functools.lru_cache(get)
    arguments = {**ARGUMENTS, "sort": ("name", "-date")}
    return lambda: decorated(**arguments)


def dogpile() -> Timed | None:
    """Return a hit in the memory backend of dogpile.cache, keyed by the JSON of the arguments."""
    try:
        dogpile_cache = importlib.import_module("dogpile.cache")
    except ImportError:
        return None
    region = dogpile_cache.make_region().configure("dogpile.cache.memory", expiration_time=3600)
    return lambda: region.get_or_create(
        json.dumps(ARGUMENTS, sort_keys=True), lambda: get(**ARGUMENTS)
    )


def cashews() -> tuple[Callable[[], Any], asyncio.AbstractEventLoop] | None:
    """Return a hit in the memory backend of cashews, on a loop of its own."""
    try:
        library = importlib.import_module("cashews")
    except ImportError:
        return None
    store = library.Cache()
    store.setup("mem://")

    @store(ttl="1h", key="{customer_id}:{limit}:{sort}")
    async def decorated(customer_id: str, limit: int = 20, sort: Any = None) -> Any:
        return RESULT

    loop = asyncio.new_event_loop()
    return (lambda: decorated(**ARGUMENTS)), loop


def seconds_of(call: Timed, calls: int) -> float:
    """Return the time of so many calls."""
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - began


def seconds_of_async(call: Callable[[], Any], loop: asyncio.AbstractEventLoop, calls: int) -> float:
    """Return the time of so many awaited calls."""

    async def run() -> float:
        began = time.perf_counter()
        for _ in range(calls):
            await call()
        return time.perf_counter() - began

    return loop.run_until_complete(run())


def rows(folder: Path, redis: str | None) -> dict[str, Callable[[int], float]]:
    """Return the measurements by name."""
    found: dict[str, Timed | None] = {
        "bare call": lambda: get(**ARGUMENTS),
        "@tool, capture": ours(folder, rules=None),
        "@tool, no rule matches": ours(folder, rules=[], results=folder / "miss.sqlite3"),
        "@tool, served from sqlite": ours(folder, rules=[rule()], results=folder / "hit.sqlite3"),
        "cached_tool_call, hit in sqlite": cached(folder),
        "SDK @tool, capture": the_sdk(),
        "functools.lru_cache, hit": lru_cache(),
        "dogpile.cache memory, hit": dogpile(),
    }
    if redis is not None:
        found["@tool, served from Redis"] = ours(folder, rules=[rule()], results=redis)
    timed: dict[str, Callable[[int], float]] = {
        name: functools.partial(seconds_of, call)
        for name, call in found.items()
        if call is not None
    }
    asynchronous = cashews()
    if asynchronous is not None:
        timed["cashews memory, hit"] = functools.partial(seconds_of_async, *asynchronous)
    return timed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--redis", help="the URL of a Redis server")
    parser.add_argument("--calls", type=int, default=3000, help="calls per round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timed = rows(Path(folder), options.redis)
        best = dict.fromkeys(timed, float("inf"))
        for measure in timed.values():
            measure(50)
        for _ in range(ROUNDS):
            for name, measure in timed.items():
                best[name] = min(best[name], measure(options.calls) / options.calls)
        for name, seconds in best.items():
            sys.stdout.write(f"{name:34}{seconds * 1e6:10.1f} us\n")
        unwrap()


if __name__ == "__main__":
    main()
