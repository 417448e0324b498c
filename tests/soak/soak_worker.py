"""One process of the soak: reads through cache and ``@tool``, writes, tells every stale answer.

    soak_worker.py PLACE FOLDER SEED THREADS TASKS SECONDS

The world is a file of numbers, one for each key. A writer raises the barrier, adds one to the
number, lifts the barrier, and only then publishes the number as *completed*. Whoever asks later and
gets less than was completed when he asked has been given a stale result. Every result carries the
hash of its own text, so that one that was torn shows.
"""

from __future__ import annotations

import asyncio
import collections
import fcntl
import hashlib
import json
import mmap
import os
import random
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from visceral_cli import tool, wrap
from visceral_cli.contract.identity import input_hash
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.outcome import Kind
from visceral_cli.runtime.result_cache import ResultCache
from visceral_cli.runtime.stores.open_store import open_store
from visceral_cli.runtime.wrap import outcomes, unwrap

KEYS = 8


class World:
    """Numbers in shared memory: the current ones, and those whose write is completed."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "world").open("r+b")
        # whole aligned words: ``struct`` clears them first, and another process may look then
        self._numbers = memoryview(mmap.mmap(self._file.fileno(), 2 * KEYS * 8)).cast("q")
        self._locks = [threading.Lock() for _ in range(KEYS)]
        self._folder = folder

    def current(self, key: int) -> int:
        """Return the number of a key."""
        return self._numbers[key]

    def completed(self, key: int) -> int:
        """Return what it was at the end of the last write."""
        return self._numbers[KEYS + key]

    def set_current(self, key: int, number: int) -> None:
        """Change the number."""
        self._numbers[key] = number

    def set_completed(self, key: int, number: int) -> None:
        """Publish it."""
        self._numbers[KEYS + key] = number

    def locked(self, key: int) -> Any:
        """One writer per key at a time; the lock of a killed process is free."""
        return _Locked(self._locks[key], self._folder / f"lock-{key}")


class _Locked:
    def __init__(self, lock: threading.Lock, path: Path) -> None:
        self._lock = lock
        self._path = path

    def __enter__(self) -> None:
        self._lock.acquire()
        self._file = self._path.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.release()


class Worker:
    """The threads and tasks of this process."""

    def __init__(self, place: str, folder: Path, seed: int) -> None:
        self.world = World(folder)
        self.folder = folder
        self.counts: collections.Counter[str] = collections.Counter()
        self.rng = random.Random(seed)
        os.environ["VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS"] = "1"
        wrap(
            None,
            "soak",
            apply=True,
            rules=write_rules(folder),
            results=open_store(place, max_bytes=200_000),
            trace_file=folder / "traces.jsonl",
        )
        self.cache = ResultCache(
            INSTALLATION.runtime.cache_results, lambda: INSTALLATION.runtime, wait_seconds=5.0
        )
        self.tools = [self.make_tool(key) for key in range(KEYS)]
        self.atools = [self.make_atool(key) for key in range(KEYS)]

    def tell(self, what: str, **facts: Any) -> None:
        """Append one line to the findings, at once: the process may be killed."""
        line = json.dumps({"what": what, "at": time.time(), "process": os.getpid(), **facts}) + "\n"
        with (self.folder / "findings.jsonl").open("a") as out:
            out.write(line)

    def read(self, key: int) -> dict[str, Any]:
        """The tool: reads the world, slowly."""
        number = self.world.current(key)
        time.sleep(self.rng.random() * 0.003)
        return signed(key, number, "x" * self.rng.randint(0, 2000))

    async def aread(self, key: int) -> dict[str, Any]:
        """The same in a coroutine."""
        number = self.world.current(key)
        await asyncio.sleep(self.rng.random() * 0.003)
        return signed(key, number, "é" * self.rng.randint(0, 500))

    def make_tool(self, key: int) -> Any:
        """Return the tool of a key; its name is what tagged writers name."""

        @tool(f"key:{key}", readonly=True, replay_safe=True)
        def get() -> dict[str, Any]:
            return self.read(key)

        return get

    def make_atool(self, key: int) -> Any:
        """Return the same as a coroutine function."""

        @tool(f"key:{key}", readonly=True, replay_safe=True)
        async def get() -> dict[str, Any]:
            return await self.aread(key)

        return get

    def check(self, key: int, completed: int, value: Any) -> None:
        """Compare an answer with what was completed when it was asked for."""
        if value != signed(value["key"], value["number"], value["padding"]):
            self.tell("torn", key=key)
        if value["key"] != key:
            self.tell("another key's result", asked=key, got=value["key"])
        if value["number"] < completed:
            self.tell("stale", key=key, completed=completed, got=value["number"])

    def ask(self, key: int) -> None:
        """One read, through the cache or the decorator."""
        completed = self.world.completed(key)
        if self.rng.random() < 0.5:
            self.check(key, completed, self.tools[key]())
            return
        got = self.cache.call(*question(key), 60, lambda: self.read(key), tags=[f"key:{key}"])
        self.counts["cached" if got.cached else "ran"] += 1
        self.check(key, completed, got.value)

    async def ask_async(self, key: int) -> None:
        """The same in a coroutine, cancelled now and then."""
        completed = self.world.completed(key)

        async def ask() -> Any:
            if self.rng.random() < 0.5:
                return await self.atools[key]()
            tags = [f"key:{key}"]
            got = await self.cache.acall(*question(key), 60, lambda: self.aread(key), tags=tags)
            self.counts["cached" if got.cached else "ran"] += 1
            return got.value

        asking = asyncio.ensure_future(ask())
        if self.rng.random() < 0.05:
            await asyncio.sleep(0.001)
            asking.cancel()
        try:
            self.check(key, completed, await asking)
        except asyncio.CancelledError:
            self.counts["cancelled"] += 1

    def write(self, key: int) -> None:
        """One write, through the barrier."""
        tags = [f"key:{key}"] if self.rng.random() < 0.7 else None
        with self.world.locked(key):
            with self.cache.writing("soak", tags):
                number = self.world.current(key) + 1
                time.sleep(self.rng.random() * 0.002)
                self.world.set_current(key, number)
                time.sleep(self.rng.random() * 0.002)
            self.world.set_completed(key, number)
        self.counts["written"] += 1

    def in_thread(self, until: float) -> None:
        """Read mostly, write sometimes."""
        while time.monotonic() < until:
            try:
                key = self.rng.randrange(KEYS)
                self.write(key) if self.rng.random() < 0.03 else self.ask(key)
            except BaseException:  # noqa: BLE001 - a finding
                self.tell("exception", text=traceback.format_exc())

    async def in_task(self, until: float) -> None:
        """Read."""
        while time.monotonic() < until:
            try:
                await self.ask_async(self.rng.randrange(KEYS))
            except BaseException:  # noqa: BLE001 - a finding
                self.tell("exception", text=traceback.format_exc())
            await asyncio.sleep(0)

    async def tasks(self, number: int, until: float) -> None:
        """Run the tasks."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.tell("loop", text=str(context)))
        await asyncio.gather(*(self.in_task(until) for _ in range(number)))

    def count_on(self) -> None:
        """Write the counts every second, since the process may be killed."""
        while True:
            time.sleep(1)
            self.write_counts()

    def write_counts(self) -> None:
        """Leave the counts so far behind."""
        counts = dict(self.counts)
        for kind in Kind:
            if outcomes().of_kind(kind):
                counts[f"outcome {kind.value}"] = outcomes().of_kind(kind)
        for reason, number in outcomes().reasons(Kind.FAIL_OPEN).items():
            counts[f"fail-open: {reason}"] = number
        beside = self.folder / f"counts-{os.getpid()}-{threading.get_ident()}.tmp"
        beside.write_text(json.dumps(counts))
        beside.replace(self.folder / f"counts-{os.getpid()}.json")


def signed(key: int, number: int, padding: str) -> dict[str, Any]:
    """Return a result with the hash of what is in it."""
    text = f"{key} {number} {padding}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"number": number, "key": key, "padding": padding, "digest": digest}


def write_rules(folder: Path) -> Path:
    """Write a rule for each tool, with a verify sample now and then."""
    rules = [
        {
            "decision_id": f"r-{key}",
            "config": {
                "schema": 1,
                "rule_kind": "reuse_identity",
                "match": {
                    "tool_name": f"key:{key}",
                    "input_hash": input_hash(f"key:{key}", {}),
                    "hash_v": 1,
                },
                "guard": {"read_only": True, "replay_safe": True},
                "action": {
                    "op": "reuse_cached_result",
                    "freshness_seconds": 60,
                    "verify_sample_rate": 0.02,
                },
            },
        }
        for key in range(KEYS)
    ]
    path = folder / f"rules-{os.getpid()}.json"
    path.write_text(json.dumps({"format": 1, "rules": rules}))
    return path


def question(key: int) -> tuple[str, list[str], dict[str, int]]:
    """Return namespace, key parts and arguments."""
    return "soak", ["read"], {"key": key}


def main(place: str, folder: str, seed: str, threads: str, tasks: str, seconds: str) -> None:
    """Run until the time is over, and leave the counts behind."""
    worker = Worker(place, Path(folder), int(seed))
    until = time.monotonic() + float(seconds)
    threading.excepthook = lambda args: worker.tell("thread", text=str(args.exc_value))
    running = [
        threading.Thread(target=worker.in_thread, args=(until,)) for _ in range(int(threads))
    ]
    for thread in running:
        thread.start()
    threading.Thread(target=worker.count_on, daemon=True).start()
    asyncio.run(worker.tasks(int(tasks), until))
    for thread in running:
        thread.join()
    worker.write_counts()
    unwrap()


if __name__ == "__main__":
    main(*sys.argv[1:])
