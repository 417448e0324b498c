"""What a cache of tool results must do, one test or more per requirement, over any store.

The file that runs them gives the fixture ``open_store``: called without arguments it opens the one
store of the test anew, as another process would; with options it passes them on.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.contract.identity import (
    NotCanonical,
    content_hash,
    faithful_json,
    input_hash,
)
from visceral_cli.contract.key_order import key_order
from visceral_cli.contract.rule import Sharing
from visceral_cli.contract.seed import Seed
from visceral_cli.runtime.call_arguments import call_identity, canonical_arguments
from visceral_cli.runtime.clock import now_ns
from visceral_cli.runtime.encryption import Key
from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.kept_value import read_entry
from visceral_cli.runtime.outcome import Kind, Outcome, Outcomes
from visceral_cli.runtime.result_cache import CachedToolResult, ResultCache
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.run import Writers
from visceral_cli.runtime.seeding import seed_results
from visceral_cli.runtime.serve import make_entry, store_key
from visceral_cli.runtime.sharing import acting_for, partition_of
from visceral_cli.runtime.stores.result_store import Entry, Found, Kept, ResultStore, StoreFailed
from visceral_cli.runtime.writer_log import entry_scopes, writer_scopes

WORKER = Path(__file__).with_name("cache_worker.py")
OpenStore = Callable[..., ResultStore]


class Watched:
    """A store that remembers what was put into it."""

    def __init__(self, store: ResultStore) -> None:
        self._store = store
        self.kept: list[Entry] = []

    def put(self, entry: Entry, owner: str) -> Any:
        self.kept.append(entry)
        return self._store.put(entry, owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Cache:
    """A cache as one process has it, with a clock and all its outcomes."""

    def __init__(self, store: ResultStore, clock: Callable[[], int], **options: Any) -> None:
        self.store = Watched(store)
        self.seen: list[Outcome] = []
        self.runtime = Runtime(
            agent_id="tests",
            outcomes=Outcomes(self.seen.append),
            clock=clock,
            writers=Writers(clock),
        )
        results = Results(self.store, clock=clock, seconds=lambda: 5.0, **options)
        self.results = results
        self.cache = ResultCache(results, lambda: self.runtime)

    def get(self, value: Any = "v", **changes: Any) -> CachedToolResult[Any]:
        """One call for the usual question; ``value`` may be a function."""
        asked: dict[str, Any] = {
            "namespace": "ns",
            "key": ["get"],
            "arguments": {"q": 1},
            "timeout": 60,
            "call": value if callable(value) else lambda: value,
            **changes,
        }
        return self.cache.call(**asked)

    async def aget(self, call: Callable[[], Any], **changes: Any) -> CachedToolResult[Any]:
        asked: dict[str, Any] = {
            "namespace": "ns",
            "key": ["get"],
            "arguments": {"q": 1},
            "timeout": 60,
            "call": call,
            **changes,
        }
        return await self.cache.acall(**asked)

    @property
    def last(self) -> Kind:
        return self.seen[-1].kind

    def kinds(self) -> list[str]:
        return [outcome.kind.value for outcome in self.seen]


@pytest.fixture
def new_cache(open_store: OpenStore, clock: Any) -> Iterator[Callable[..., Cache]]:
    made: list[Cache] = []

    def make(*, key: Key | None = None, lease_seconds: float = 10.0, **options: Any) -> Cache:
        store = open_store(clock=clock, lease_seconds=lease_seconds, **options)
        cache = Cache(store, clock, key=key, lease_seconds=lease_seconds)
        made.append(cache)
        return cache

    yield make
    for cache in made:
        cache.results.close()


@pytest.fixture
def cache(new_cache: Callable[..., Cache]) -> Cache:
    return new_cache()


class Counter:
    """A tool that says how often it ran."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.runs = 0
        self.seconds = seconds
        self._lock = threading.Lock()

    def __call__(self) -> int:
        with self._lock:
            self.runs += 1
            number = self.runs
        time.sleep(self.seconds)
        return number


# C1: distinct calls never share a key.

DIFFERENT = [
    ("a", ["b:c"], {}),
    ("a:b", ["c"], {}),
    ("a", ["x"], {}),
    ("a", ["x", ""], {}),
    ("a", ["x", None], {}),
    ("a", "x", {}),
    ("a", [["x"]], {}),
    ("a", [1], {}),
    ("a", [1.0], {}),
    ("a", [True], {}),
    ("a", ["1"], {}),
    ("a", [None], {}),
    ("a", [], {}),
    ("a", [""], {}),
    ("a", None, {}),
    ("a", "", {}),
    ("a", ["k"], {"v": 1}),
    ("a", ["k"], {"v": 1.0}),
    ("a", ["k"], {"v": True}),
    ("a", ["k"], {"v": "1"}),
    ("a", ["k"], {"v": None}),
    ("a", ["k"], {"v": ""}),
    ("a", ["k"], '{"v":1}'),
    ("a", ["k"], [{"v": 1}]),
    ("a", ["k"], None),
    ("a", ["k", '{"v":1}'], {}),
]


def test_c1_calls_that_differ_in_any_part_have_different_keys():
    hashes = []
    for namespace, key, arguments in DIFFERENT:
        try:
            hashes.append(call_identity(namespace, key, arguments, tool="t")[0])
        except NotCanonical:
            hashes.append(("refused", str(key)))
    assert len(set(hashes)) == len(DIFFERENT)


def test_c1_calls_that_differ_in_any_part_never_meet_in_the_store(cache: Cache):
    for number, (namespace, key, arguments) in enumerate(DIFFERENT):
        got = cache.get(number, namespace=namespace, key=key, arguments=arguments, tool="t")
        assert got == CachedToolResult(number, False)


def test_c1_a_model_and_an_object_of_the_same_text_have_different_keys():
    pydantic = pytest.importorskip("pydantic", reason="pydantic not installed")

    class Arguments(pydantic.BaseModel):
        a: int

    model, plain = Arguments(a=1), {"a": 1}
    assert canonical_arguments(model) == canonical_arguments(plain) == '{"a":1}'
    assert call_identity("n", "k", model, tool="t") != call_identity("n", "k", plain, tool="t")


# C2: the key is that of the arguments as they were asked.


def test_c2_a_call_that_changes_its_arguments_is_filed_under_what_was_asked(cache: Cache):
    arguments: dict[str, Any] = {"q": [1]}

    def change() -> str:
        arguments["q"].append(2)
        return "for 1"

    cache.get(change, arguments=arguments)
    assert cache.get("?", arguments={"q": [1]}) == CachedToolResult("for 1", True)
    assert cache.get("other", arguments={"q": [1, 2]}) == CachedToolResult("other", False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"q": math.nan},
        {1: 2},
        {"q": object()},
        {"q": {1, 2}},
        {"q": lambda: 1},
        {"q": iter([1])},
        dataclasses.make_dataclass("Point", ["x"])(1),
    ],
    ids=["NaN", "key", "object", "set", "function", "iterator", "dataclass"],
)
def test_c2_arguments_without_a_faithful_text_run_uncached_and_are_counted(cache, arguments):
    tool = Counter()
    assert cache.get(tool, arguments=arguments) == CachedToolResult(1, False)
    assert cache.get(tool, arguments=arguments) == CachedToolResult(2, False)
    assert cache.kinds() == ["uncacheable", "uncacheable"]
    assert cache.store.bytes_used() == 0


# C3: a timeout of zero or less runs past the cache.


@pytest.mark.parametrize("timeout", [0, 0.0, -0.0, -1, -math.inf])
def test_c3_a_timeout_of_zero_or_less_neither_reads_writes_nor_deletes(cache: Cache, timeout):
    cache.get("stored")
    assert cache.get("fresh", timeout=timeout) == CachedToolResult("fresh", False)
    assert cache.last is Kind.BYPASS
    assert cache.get("?") == CachedToolResult("stored", True)


def test_c3_the_smallest_timeout_above_zero_is_no_bypass(cache: Cache):
    cache.get("v", timeout=5e-324)
    assert cache.last is Kind.BYPASS  # less than a nanosecond
    cache.get("v", timeout=1e-6)
    assert cache.last is Kind.MISS


def test_c3_a_bypass_waits_for_nobody(cache: Cache):
    started, may_end = threading.Event(), threading.Event()

    def slow() -> str:
        started.set()
        may_end.wait(10)
        return "slow"

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(cache.get, slow)
        assert started.wait(10)
        assert cache.get("now", timeout=0).value == "now"
        may_end.set()
        assert running.result(10).value == "slow"


def test_c3_none_is_the_default_timeout_and_not_for_ever(cache: Cache, clock: Any):
    cache.get("v", timeout=None)
    clock.advance(299)
    assert cache.get("?", timeout=None).cached
    clock.advance(2)
    assert not cache.get("w", timeout=None).cached


@pytest.mark.parametrize("timeout", [math.nan, True, False, "60"])
def test_c3_a_timeout_that_is_no_number_is_refused(cache: Cache, timeout: Any):
    tool = Counter()
    with pytest.raises(ValueError, match="timeout"):
        cache.get(tool, timeout=timeout)
    assert tool.runs == 0


# C4: failures are never stored.


@pytest.mark.parametrize("kind", [ValueError, TimeoutError, KeyboardInterrupt, SystemExit])
def test_c4_an_exception_propagates_and_the_next_call_runs(cache: Cache, kind):
    error = kind("boom")

    def fail() -> None:
        raise error

    with pytest.raises(kind) as caught:
        cache.get(fail)
    assert caught.value is error
    assert cache.last is Kind.ERROR
    assert cache.get("good") == CachedToolResult("good", False)


@pytest.mark.parametrize(
    "failure",
    [
        "Error: no such city",
        {"error": None},
        '{"error": "x"}',
        ' {"error": "x"}',
        '{"err\\u006fr": "x"}',
        {"isError": True, "content": []},
    ],
)
def test_c4_a_result_that_says_it_failed_is_returned_and_not_stored(cache: Cache, failure):
    assert cache.get(failure) == CachedToolResult(failure, False)
    assert cache.last is Kind.ERROR
    assert cache.get("good") == CachedToolResult("good", False)


def test_c4_the_callers_own_check_decides(cache: Cache):
    assert not cache.get(-1, is_error=lambda value: value == -1).cached
    assert not cache.get("Error: kept", is_error=lambda value: value == -1).cached
    assert cache.get("?", is_error=lambda value: value == -1).value == "Error: kept"


def test_c4_a_check_that_raises_counts_as_a_failure(cache: Cache):
    def check(value: object) -> bool:
        raise RuntimeError

    assert cache.get("v", is_error=check) == CachedToolResult("v", False)
    assert not cache.get("w").cached


def test_c4_a_cancelled_call_stores_nothing(cache: Cache):
    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def good() -> str:
        return "good"

    async def main() -> CachedToolResult[Any]:
        with pytest.raises(asyncio.CancelledError):
            await cache.aget(cancelled)
        return await cache.aget(good)

    assert asyncio.run(main()) == CachedToolResult("good", False)


# C5: what is stored and empty is a hit.


@pytest.mark.parametrize(
    "value", [None, False, 0, 0.0, "", [], {}, "null", "None", "miss", "\x00", "NO_VALUE"], ids=repr
)
def test_c5_an_empty_value_is_a_hit_and_no_text_is_special(cache: Cache, value):
    tool = Counter()

    def run() -> Any:
        tool()
        return value

    assert cache.get(run) == CachedToolResult(value, False)
    got = cache.get(run)
    assert got == CachedToolResult(value, True)
    assert type(got.value) is type(value)
    assert tool.runs == 1


# C6: only what JSON gives back is stored, in its order.


@pytest.mark.parametrize(
    "value",
    [(1,), {1: 2}, b"x", {1, 2}, math.nan, math.inf, object(), 1 + 2j],
    ids=lambda value: type(value).__name__,
)
def test_c6_what_json_does_not_give_back_is_returned_and_counted(cache: Cache, value):
    assert cache.get(lambda: value).value is value
    assert cache.last is Kind.UNCACHEABLE
    assert not cache.get("v").cached


def test_c6_the_order_of_keys_survives(cache: Cache):
    value = {"z": 1, "a": {"y": [1.0, -0.0, 1e300, 2**70], "b": "\ud800é\x00"}, "m": None}
    cache.get(value)
    got = cache.get("?")
    assert got.cached
    assert repr(got.value) == repr(value)


# C7: everybody has a value of his own.


def test_c7_changing_a_value_changes_no_other(cache: Cache):
    own = {"items": [1]}
    first = cache.get(own).value
    assert first is own
    first["items"].append(2)
    second, third = cache.get("?").value, cache.get("?").value
    second["items"].append(3)
    assert third == {"items": [1]}
    assert cache.get("?").value == {"items": [1]}


# C8: what is kept, and how its age is counted.


def test_c8_an_entry_says_where_it_comes_from(cache: Cache, clock: Any):
    def take_a_while() -> str:
        clock.advance(5)
        return "v"

    before = clock.now
    cache.get(take_a_while, version="2", freshness_seconds=30)
    entry = only_entry(cache)
    assert (entry.namespace, entry.tool, entry.version, entry.hash_v) == ("ns", "get", "2", 1)
    assert entry.value == '"v"'
    assert before < entry.started_ns < before + 1_000
    assert entry.stored_ns - entry.started_ns >= 5_000_000_000
    assert entry.expires_ns == entry.started_ns + 30_000_000_000
    assert len(entry.content_hash) == 64
    assert 0 < cache.store.bytes_used() == entry.size


def test_c8_age_counts_from_the_beginning_of_the_execution(cache: Cache, clock: Any):
    def take_a_while() -> str:
        clock.advance(50)
        return "v"

    cache.get(take_a_while)
    clock.advance(9)
    assert cache.get("?").cached
    clock.advance(2)
    assert not cache.get("new").cached


def test_c8_an_execution_that_began_earlier_never_replaces_one_that_began_later(
    open_store: OpenStore, clock: Any
):
    store = open_store(clock=clock)
    began = clock()
    claims = []
    for _ in range(3):
        claims.append(store.claim("key", ("ns",), f"owner-{len(claims)}"))
        clock.advance(1)

    def put(nth: int) -> Kept:
        started = began + nth * SECOND
        entry = make_entry(
            key="key",
            namespace="ns",
            tool="t",
            version=None,
            kept_text=f'"{nth}"',
            content="0" * 64,
            started_ns=started,
            stored_ns=clock(),
            freshness_ns=60 * SECOND,
            scopes=("ns",),
            generations=claims[nth].generations,
        )
        return store.put(entry, f"owner-{nth}")[0]

    def kept() -> str | None:
        entry = store.lookup("key").entry
        return None if entry is None else entry.value

    assert [put(1), put(0), kept()] == [Kept.KEPT, Kept.OLDER, '"1"']
    assert [put(2), kept()] == [Kept.KEPT, '"2"']
    clock.advance(-3600)  # now it is from the future
    assert [put(1), kept()] == [Kept.KEPT, '"1"']
    store.close()


# C9: the smallest of three bounds, and a clock that is set back.


@pytest.mark.parametrize(
    ("stored_with", "asked_with", "bound", "age", "is_hit"),
    [
        (60, 60, None, 59, True),
        (60, 60, None, 61, False),
        (60, 10, None, 9, True),
        (60, 10, None, 11, False),
        (10, 60, None, 9, True),
        (10, 60, None, 11, False),
        (60, 60, 10, 9, True),
        (60, 60, 10, 11, False),
    ],
)
def test_c9_the_smallest_bound_counts(cache, clock, stored_with, asked_with, bound, age, is_hit):
    cache.get("v", timeout=stored_with)
    clock.advance(age)
    assert cache.get("w", timeout=asked_with, freshness_seconds=bound).cached is is_hit
    assert cache.last is (Kind.HIT if is_hit else Kind.STALE)


def test_c9_the_bound_itself_is_sharp(cache: Cache, clock: Any):
    cache.get("v", timeout=10)
    clock.now = only_entry(cache).expires_ns - 50  # every look at this clock is a nanosecond
    assert cache.get("?", timeout=10).cached
    clock.now = only_entry(cache).expires_ns + 1
    assert not cache.get("w", timeout=10).cached


def test_c9_an_entry_from_the_future_is_a_miss_for_good(cache: Cache, clock: Any):
    cache.get("future")
    clock.advance(-3600)
    assert cache.get("now", timeout=1) == CachedToolResult("now", False)
    clock.advance(3605)
    assert not cache.get("later").cached


# C10: writers.


def test_c10_a_writer_voids_what_began_before_it_ended(cache: Cache):
    cache.get("old")
    with cache.cache.writing("ns"):
        assert cache.get("during") == CachedToolResult("during", False)
        assert cache.get("again") == CachedToolResult("again", False)
    assert cache.get("new") == CachedToolResult("new", False)
    assert cache.get("?") == CachedToolResult("new", True)


def test_c10_a_result_read_while_a_writer_runs_is_never_served_after_it(cache: Cache):
    reading, written = threading.Event(), threading.Event()

    def read() -> str:
        reading.set()
        assert written.wait(10)
        return "before the write"

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(cache.get, read)
        assert reading.wait(10)
        with cache.cache.writing("ns"):
            pass
        written.set()
        assert running.result(10).value == "before the write"
    assert cache.get("after") == CachedToolResult("after", False)


def test_c10_writers_of_other_processes_count(new_cache: Callable[..., Cache]):
    here, there = new_cache(), new_cache()
    here.get("old")
    assert there.get("?").cached
    with there.cache.writing("ns"):
        assert here.get("during").value == "during"
    assert here.get("new").value == "new"
    assert there.get("?") == CachedToolResult("new", True)


@pytest.mark.parametrize("how", ["ends", "is killed"])
def test_c10_a_writer_in_a_process_of_its_own_counts(open_store, place, tmp_path, how):
    cache = Cache(open_store(), now_ns)
    assert cache.get("before").value == "before"
    assert cache.get("?").cached
    command = [sys.executable, str(WORKER), "write", place, str(tmp_path / "ran")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"writing\n"
        assert not cache.get("meanwhile").cached
        assert not cache.get("meanwhile").cached
        if how == "ends":
            writer.communicate(b"\n", timeout=30)
        else:
            writer.kill()
    assert not cache.get("after").cached
    until = time.monotonic() + 20
    while not (got := cache.get("later")).cached and time.monotonic() < until:
        time.sleep(0.1)  # until the lease of one that was killed has lapsed
    assert got.value in ("after", "later")
    assert got.cached
    cache.results.close()


def test_c10_a_writer_touches_no_other_namespace(cache: Cache):
    cache.get("v", namespace="other")
    with cache.cache.writing("ns"):
        assert cache.get("?", namespace="other").cached


def test_c10_tags_narrow_a_writer_to_what_may_depend_on_it(cache: Cache):
    ask = {
        "tagged": {"arguments": 1, "tags": ["user:1"]},
        "other": {"arguments": 2, "tags": ["user:2"]},
        "untagged": {"arguments": 3},
    }
    for question in ask.values():
        cache.get("old", **question)
    with cache.cache.writing("ns", tags=["user:1"]):
        pass
    got = {name: cache.get("new", **question).value for name, question in ask.items()}
    assert got == {"tagged": "new", "other": "old", "untagged": "new"}


def test_c10_a_writer_that_fails_counts_all_the_same(cache: Cache):
    cache.get("old")
    with pytest.raises(ValueError), cache.cache.writing("ns"):  # noqa: PT011
        raise ValueError
    assert cache.get("new").value == "new"


def test_c10_a_writer_that_died_blocks_only_until_its_lease_ends(new_cache, clock):
    cache = new_cache(lease_seconds=0.5)
    cache.store.begin_write(["ns"], "died")
    assert not cache.get("v").cached
    assert not cache.get("w").cached
    clock.advance(1)
    time.sleep(0.6)
    assert not cache.get("x").cached
    assert cache.get("?") == CachedToolResult("x", True)


def test_c10_coroutines_write_too(cache: Cache):
    async def main() -> None:
        cache.get("old")
        async with cache.cache.awriting("ns"):
            assert not cache.get("during").cached
        for _ in range(500):
            if cache.get("new").cached:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the barrier was never lifted")

    asyncio.run(main())


# C11: one execution at a time.


def test_c11_threads_share_one_execution(cache: Cache):
    tool = Counter(0.2)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: cache.get(tool), range(8)))
    assert tool.runs == 1
    assert {result.value for result in got} == {1}
    assert [result.cached for result in got].count(False) == 1
    assert cache.kinds().count("coalesced") + cache.kinds().count("hit") == 7


def test_c11_tasks_share_one_execution_and_get_copies(cache: Cache):
    runs = 0

    async def tool() -> list[int]:
        nonlocal runs
        runs += 1
        await asyncio.sleep(0.1)
        return [runs]

    async def main() -> list[CachedToolResult[Any]]:
        return await asyncio.gather(*(cache.aget(tool) for _ in range(8)))

    got = asyncio.run(main())
    assert runs == 1
    assert len({id(result.value) for result in got}) == 8
    assert all(result.value == [1] for result in got)


def test_c11_threads_and_tasks_of_several_loops_share_one_execution(cache: Cache):
    tool = Counter(0.3)

    async def run() -> int:
        return await asyncio.to_thread(tool)

    def in_loop(_: int) -> int:
        async def main() -> list[int]:
            got = await asyncio.gather(*(cache.aget(run) for _ in range(2)))
            return [result.value for result in got]

        first, second = asyncio.run(main())
        assert first == second
        return first

    with ThreadPoolExecutor(6) as pool:
        loops = [pool.submit(in_loop, number) for number in range(3)]
        plain = [pool.submit(lambda: cache.get(tool).value) for _ in range(3)]
        assert {done.result(20) for done in (*loops, *plain)} == {1}
    assert tool.runs == 1


def test_c11_a_blocking_call_on_the_loop_of_the_execution_does_not_wait_for_it(cache: Cache):
    async def slow() -> str:
        await asyncio.sleep(0.2)
        return "slow"

    async def main() -> list[Any]:
        running = asyncio.create_task(cache.aget(slow))
        await asyncio.sleep(0.05)
        return [cache.get("now").value, (await running).value]

    assert asyncio.run(asyncio.wait_for(main(), 10)) == ["now", "slow"]


def test_c11_processes_share_one_execution(cache: Cache, place: str, tmp_path: Path):
    ran = tmp_path / "ran"
    workers = [
        subprocess.Popen(
            [sys.executable, str(WORKER), "once", place, str(ran)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = {worker.communicate(timeout=60)[0].strip() for worker in workers}
    assert answers == {"the only answer"}
    assert ran.read_text() == "ran\n"


def test_c11_a_failure_is_seen_by_all_who_waited(cache: Cache):
    runs = Counter()

    def fail() -> None:
        runs()
        time.sleep(0.3)
        raise ValueError("all of them")

    def ask(_: int) -> str:
        with pytest.raises(ValueError, match="all of them"):
            cache.get(fail)
        return "failed"

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == ["failed"] * 4
    assert runs.runs == 1


def test_c11_by_option_one_of_those_who_waited_tries_again(cache: Cache):
    runs = Counter()

    def fail_once() -> str:
        number = runs()
        time.sleep(0.2)
        if number == 1:
            raise ValueError
        return "second"

    def ask(_: int) -> object:
        try:
            return cache.get(fail_once, retry_failed=True).value
        except ValueError:
            return "failed"

    with ThreadPoolExecutor(4) as pool:
        got = sorted(map(str, pool.map(ask, range(4))))
    assert got == ["failed", "second", "second", "second"]
    assert runs.runs == 2


def test_c11_a_cancelled_waiter_cancels_nobody_else(cache: Cache):
    runs = 0

    async def tool() -> str:
        nonlocal runs
        runs += 1
        await asyncio.sleep(0.2)
        return "v"

    async def main(who: int) -> list[Any]:
        tasks = [asyncio.create_task(cache.aget(tool)) for _ in range(3)]
        await asyncio.sleep(0.1)
        tasks[who].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    for who in range(3):  # the one who runs it, and those who wait
        runs = 0
        got = asyncio.run(main(who))
        assert isinstance(got.pop(who), asyncio.CancelledError)
        assert [result.value for result in got] == ["v", "v"]
        assert runs == 1
        cache.cache.clear("ns")


def test_c11_an_execution_that_nobody_wants_is_cancelled(cache: Cache):
    ended: list[str] = []

    async def tool() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def main() -> None:
        tasks = [asyncio.create_task(cache.aget(tool)) for _ in range(2)]
        await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert ended == ["cancelled"]


def test_c11_a_call_inside_itself_does_not_wait_for_itself(cache: Cache):
    def outer() -> Any:
        return ["outer", cache.get("inner").value]

    assert cache.get(outer).value == ["outer", "inner"]
    assert cache.get("?") == CachedToolResult(["outer", "inner"], True)

    async def outer_async() -> Any:
        async def inner() -> str:
            return "inner"

        return ["outer", (await cache.aget(inner, arguments=2)).value]

    got = asyncio.run(asyncio.wait_for(cache.aget(outer_async, arguments=2), 10))
    assert got.value == ["outer", "inner"]


def test_c11_a_waiter_does_not_take_what_a_writer_has_overtaken(cache: Cache):
    reading, written = threading.Event(), threading.Event()

    def read() -> str:
        reading.set()
        assert written.wait(10)
        return "before the write"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, read)
        assert reading.wait(10)
        with cache.cache.writing("ns"):
            pass
        second = pool.submit(cache.get, "after the write")
        time.sleep(0.1)
        written.set()
        assert first.result(10).value == "before the write"
        assert second.result(10).value == "after the write"


def test_c11_who_comes_after_a_write_elsewhere_does_not_take_a_result_that_was_just_kept(new_cache):
    """Between keeping a result and telling those who wait another process may have written."""
    here, there = new_cache(), new_cache()
    kept, may_land = threading.Event(), threading.Event()
    put = here.store.put

    def put_and_dawdle(entry: Entry, owner: str) -> Any:
        answer = put(entry, owner)
        kept.set()
        assert may_land.wait(10)
        return answer

    here.store.put = put_and_dawdle  # type: ignore[method-assign]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(here.get, "before the write")
        assert kept.wait(10)
        with there.cache.writing("ns"):
            pass
        here.store.put = put  # type: ignore[method-assign]
        second = pool.submit(here.get, "after the write")
        time.sleep(0.1)
        may_land.set()
        assert first.result(10).value == "before the write"
        assert second.result(10).value == "after the write"


# C12: a store that fails never shows.


class BrokenStore:
    """Fails in one way at everything."""

    def __init__(self, fail: Callable[[], Any]) -> None:
        self._fail = fail

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name == "close":
            return lambda: None
        return lambda *args, **kwargs: self._fail()


def raising(error: Exception) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    "fail",
    [
        raising(StoreFailed("SQLITE_BUSY")),
        raising(OSError(28, "No space left on device")),
        raising(RuntimeError("foreign")),
        lambda: None,
        lambda: "rubbish",
        lambda: Found("rubbish"),  # type: ignore[arg-type]
    ],
    ids=["failed", "no room", "foreign", "nothing", "text", "rubbish"],
)
def test_c12_a_broken_store_runs_the_tool(clock, caplog, fail):
    broken = Cache(BrokenStore(fail), clock)  # type: ignore[arg-type]
    tool = Counter()
    assert broken.get(tool) == CachedToolResult(1, False)
    assert broken.get(tool) == CachedToolResult(2, False)
    with broken.cache.writing("ns"):
        pass
    assert asyncio.run(broken.aget(as_coroutine(tool))) == CachedToolResult(3, False)
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) <= 1


def test_c12_a_store_that_hangs_costs_its_time_limit(clock):
    hangs = threading.Event()
    broken = Cache(BrokenStore(lambda: hangs.wait(30)), clock)  # type: ignore[arg-type]
    broken.results._seconds = lambda: 0.05
    began = time.monotonic()
    assert broken.get("v").value == "v"
    assert time.monotonic() - began < 2
    assert broken.last is Kind.FAIL_OPEN
    hangs.set()


# C13: what was not written by us is a miss.


@pytest.mark.parametrize(
    "changes",
    [
        {"value": "not JSON"},
        {"value": '{"v": NaN}'},
        {"value": '"another"'},
        {"value": ""},
        {"content_hash": "0" * 64},
        {"check": ""},
        {"hash_v": 2},
        {"namespace": "other"},
    ],
    ids=str,
)
def test_c13_a_changed_entry_is_a_miss_and_overwritten(cache: Cache, changes):
    cache.get("good")
    entry = only_entry(cache)
    cache.store.put(entry._replace(**changes), "")
    assert cache.get("new") == CachedToolResult("new", False)
    assert cache.get("?") == CachedToolResult("new", True)


def test_c13_with_a_key_results_are_encrypted_and_clear_ones_are_refused(new_cache):
    pytest.importorskip("cryptography", reason="cryptography not installed")
    sealed, clear = new_cache(key=Key(b"k" * 32)), new_cache()
    sealed.get("a secret value")
    assert "secret" not in only_entry(sealed).value
    assert sealed.get("?") == CachedToolResult("a secret value", True)
    assert not clear.get("clear").cached
    assert not sealed.get("sealed again").cached
    other = new_cache(key=Key(b"o" * 32))
    assert not other.get("of another key").cached


# C14: namespaces.


def test_c14_namespaces_see_nothing_of_each_other(cache: Cache):
    cache.get("a", namespace="a")
    cache.get("b", namespace="b")
    assert cache.get("?", namespace="a").value == "a"
    cache.cache.clear("a")
    assert cache.get("new", namespace="a") == CachedToolResult("new", False)
    assert cache.get("?", namespace="b") == CachedToolResult("b", True)


def test_c14_without_a_namespace_nothing_is_shared(cache: Cache):
    assert not cache.get("one principal", namespace="").cached
    assert not cache.get("another", namespace="").cached
    assert cache.last is Kind.UNCACHEABLE


# C15: bounds.


def test_c15_a_result_above_the_size_limit_is_not_stored(new_cache):
    cache = new_cache(max_entry_bytes=1000)
    cache.get("x" * 100)
    assert cache.get("?").cached
    cache.get("x" * 1000, arguments=2)
    assert cache.last is Kind.UNCACHEABLE
    assert not cache.get("y", arguments=2).cached


def test_c15_the_least_recently_used_goes_first(new_cache):
    cache = new_cache(max_bytes=5000, max_entry_bytes=3000)
    for number in range(3):
        cache.get("x" * 1000, arguments=number)
    assert cache.get("?", arguments=0).cached  # used last
    for number in range(3, 5):
        cache.get("x" * 1000, arguments=number)
    assert cache.store.bytes_used() <= 5000
    assert cache.get("?", arguments=0).cached
    assert cache.get("?", arguments=4).cached
    assert not cache.get("gone", arguments=1).cached
    assert Kind.EVICTED in [outcome.kind for outcome in cache.seen]


def test_c15_expired_results_are_removed_without_being_read(cache: Cache, clock: Any):
    for number in range(10):
        cache.get("x" * 100, arguments=number, timeout=10 + number)
    assert cache.store.remove_expired(clock.now + 15 * 1_000_000_000) == 6
    used = cache.store.bytes_used()
    assert cache.store.remove_expired(clock.now + 100 * 1_000_000_000) == 4
    assert (used > 0, cache.store.bytes_used()) == (True, 0)


def test_c15_every_new_result_sweeps_some_expired_ones(cache: Cache, clock: Any):
    for number in range(5):
        cache.get("x" * 100, arguments=number, timeout=10)
    before = cache.store.bytes_used()
    clock.advance(20)
    cache.get("x" * 100, arguments="new")
    assert cache.store.bytes_used() < before


# C16: outcomes.


def test_c16_every_outcome_is_reported_with_age_and_remaining_life(cache: Cache, clock: Any):
    cache.get("v")
    clock.advance(20)
    cache.get("?")
    hit = cache.seen[-1]
    assert (hit.kind, hit.tool, hit.namespace) == (Kind.HIT, "get", "ns")
    assert hit.age_seconds == pytest.approx(20, abs=0.01)
    assert hit.remaining_seconds == pytest.approx(40, abs=0.01)
    clock.advance(50)
    cache.get("w")
    assert cache.seen[-1].kind is Kind.STALE
    assert cache.seen[-1].age_seconds == pytest.approx(70, abs=0.01)
    with cache.cache.writing("ns"):
        pass
    cache.get("w")
    cache.get("w", timeout=0)
    cache.get("w", arguments=object())
    cache.get("Error: x", arguments=2)
    assert cache.kinds() == [
        "miss",
        "hit",
        "stale",
        "invalidated",
        "bypass",
        "uncacheable",
        "error",
    ]


def test_c16_a_listener_that_raises_is_ignored(cache: Cache, clock: Any):
    def listen(outcome: Outcome) -> None:
        raise RuntimeError

    cache.runtime = Runtime(outcomes=Outcomes(listen), clock=clock, writers=Writers(clock))
    assert cache.get("v").value == "v"
    assert cache.runtime.outcomes.of_kind(Kind.MISS) == 1


# Results that were recorded elsewhere.

SECOND = 1_000_000_000


def seed(clock: Any, value: Any = "recorded", *, ago: float = 10, **changes: Any) -> Seed:
    """The result of an execution that began so many seconds ago and took one."""
    canonical = faithful_json(value)
    fields: dict[str, Any] = {
        "tool": "get",
        "namespace": "tests",
        "version": None,
        "input_hash": input_hash("get", {"q": 1}),
        "scope": Sharing.ALL,
        "user": None,
        "session": None,
        "canonical": canonical,
        "content": content_hash(canonical),
        "order": key_order(value),
        "start_ns": clock.now - int(ago * SECOND),
        "end_ns": clock.now - int((ago - 1) * SECOND),
        "freshness_ns": 60 * SECOND,
        **changes,
    }
    return Seed(**fields)


def put(cache: Cache, clock: Any, *seeds: Seed) -> str:
    """Seed the store; returns what became of the last seed."""
    done = seed_results(cache.store, seeds, key=cache.results.key, now_ns=clock.now)
    return "seeded" if done.seeded else next(reason.name for _, reason in done.left_out)


def kept(cache: Cache, *partition: str, tool: str = "get") -> Found:
    identity = input_hash(tool, {"q": 1})
    return cache.store.lookup(store_key("tests", tool, identity, partition))


def test_a_recorded_result_is_kept_as_an_execution_of_then(new_cache, clock):
    cache = new_cache(key=Key(bytes(32)))
    value = {"b": [{"d": 1.0, "c": None}], "a": "é"}
    one = seed(clock, value, version="2")
    assert put(cache, clock, one) == "seeded"
    entry = kept(new_cache()).entry
    assert (entry.started_ns, entry.stored_ns) == (one.start_ns, one.end_ns)
    assert (entry.freshness_ns, entry.version) == (one.freshness_ns, "2")
    assert entry.scopes == entry_scopes("tests", ("get",))
    assert "é" not in entry.value
    assert repr(read_entry(entry, Key(bytes(32)))) == repr(value)


@pytest.mark.parametrize("scope", [Sharing.USER, Sharing.SESSION])
@pytest.mark.parametrize("user", ["ann", None])
def test_a_recorded_result_of_one_is_kept_for_whom_the_runtime_keeps_it(cache, clock, scope, user):
    became = put(cache, clock, seed(clock, scope=scope, user=user, session="s-1"))
    with acting_for(user=user, session="s-1"):
        partition = partition_of(scope)
    if partition is None:
        assert became == "NOBODY"
    else:
        assert kept(cache, *partition).entry is not None
    assert kept(cache).entry is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ago": 60}, "seeded"),
        ({"ago": 60.1}, "EXPIRED"),
        ({"ago": -1}, "FUTURE"),
        ({"ago": 0.5}, "FUTURE"),  # had not ended
        ({"value": {"b": 1, "a": 2}, "order": None}, "NO_ORDER"),
        ({"value": {"a": [{"b": 1}]}, "order": None}, "seeded"),
        ({"value": {"b": 1, "a": 2}, "order": "1"}, "NOT_EXACT"),
        ({"canonical": '{"a": 1}'}, "NOT_EXACT"),
        ({"canonical": "[1"}, "NOT_EXACT"),
        ({"content": "0" * 64}, "NOT_EXACT"),
        ({"value": "Error: no"}, "FAILED"),
        ({"value": {"error": None}}, "FAILED"),
        ({"value": "x" * 3000}, "TOO_LARGE"),
    ],
)
def test_a_recorded_result_is_left_out_on_any_doubt(new_cache, clock, changes, reason):
    cache = new_cache(max_entry_bytes=2000)
    assert put(cache, clock, seed(clock, **changes)) == reason


def test_a_recorded_result_gives_way_to_a_newer_one(cache, clock):
    newest, older = seed(clock, "new", ago=5), seed(clock, "old", ago=8)
    assert put(cache, clock, older) == "seeded"
    assert put(cache, clock, newest) == "seeded"
    assert put(cache, clock, older) == put(cache, clock, newest) == "NEWER"
    assert read_entry(kept(cache).entry, None) == "new"


def test_a_recorded_result_that_a_writer_has_overtaken_stays_out(new_cache, clock):
    cache = new_cache()
    agents = new_cache()
    scopes = writer_scopes("tests")
    before = seed(clock, ago=10)
    clock.advance(1)
    agents.store.begin_write(scopes, "writer")
    assert put(cache, clock, before) == "WRITER"  # it runs
    agents.store.end_write(scopes, "writer")
    assert put(cache, clock, before) == "WRITER"
    clock.advance(30)
    after = seed(clock, ago=10)
    assert put(cache, clock, after) == "seeded"
    with agents.cache.writing("tests", ["other"]):
        pass
    assert kept(cache).entry is not None
    with agents.cache.writing("tests", ["get"]):
        pass
    assert kept(cache).overtaken
    assert put(cache, clock, after) == "WRITER"


def test_a_call_that_somebody_is_executing_is_left_to_him(new_cache, clock):
    cache, agent = new_cache(), new_cache()
    place = store_key("tests", "get", input_hash("get", {"q": 1}))
    agent.store.claim(place, entry_scopes("tests", ("get",)), "owner")
    assert put(cache, clock, seed(clock)) == "BUSY"
    agent.store.release(place, "owner")
    assert put(cache, clock, seed(clock)) == "seeded"


def test_a_result_that_was_left_out_blocks_nobody(cache, clock):
    scopes = entry_scopes("tests", ("get",))
    with cache.cache.writing("tests"):
        pass
    assert put(cache, clock, seed(clock)) == "WRITER"
    assert cache.store.claim(store_key("tests", "get", seed(clock).input_hash), scopes, "o").granted


def only_entry(cache: Cache) -> Entry:
    """The entry that was put last, as the store gives it back."""
    entry = cache.store.lookup(cache.store.kept[-1].key).entry
    assert entry is not None
    return entry


def as_coroutine(call: Callable[[], Any]) -> Callable[[], Any]:
    async def run() -> Any:
        return call()

    return run
