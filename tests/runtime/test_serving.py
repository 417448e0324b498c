"""When a stored result is served, and when the tool runs: rules, switches, writers, time."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from visceral_cli import acting_for, node, tool
from visceral_cli.runtime import rule_set
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.run import Writers
from visceral_cli.runtime.stores.open_store import open_store

Q = {"q": 1}


class Tools:
    """A reader that says how often it ran, and writers."""

    def __init__(self) -> None:
        self.runs = 0
        self.during: list[Any] = []

    def reader(self, **options: Any) -> Any:
        @tool("get", **{"readonly": True, "replay_safe": True, **options})
        def get(q: int = 1) -> int:
            self.runs += 1
            for step in self.during:
                step()
            return self.runs

        return get

    def writer(self, **options: Any) -> Any:
        @tool("put", **options)
        def put(step: Any = None) -> None:
            if step is not None:
                step()

        return put


@pytest.fixture
def tools() -> Tools:
    return Tools()


# Rules and switches.


def test_nothing_is_served_without_apply(agent, tools, rule):
    agent.write_rules(rule(arguments=Q))
    agent.wrap(rules=agent.folder / "rules.json", results=agent.folder / "r")
    get = tools.reader()
    assert [get(), get()] == [1, 2]
    assert agent.last == ("miss", "not-applied")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"readonly": False}, "not-read-only"),
        ({"replay_safe": False}, "not-replay-safe"),
    ],
)
def test_serving_needs_both_attestations(agent, tools, rule, options, reason):
    agent.serve(rule(arguments=Q))
    get = tools.reader(**options)
    assert [get(), get()] == [1, 2]
    assert agent.last == ("miss", reason)


@pytest.mark.parametrize(
    "change",
    [
        {"match": {"hash_v": 2}},
        {"guard": {"read_only": 1}},
        {"guard": {"replay_safe": False}},
        {"action": {"op": "serve_stored_result"}},
        {"action": {"op": "other"}},
        {"action": {"freshness_seconds": None}},
        {"match": {"tool_name": "other"}},
        {"match": {"namespace": "another-agent"}},
        {"match": {"namespaces": ["another-agent", "a-third"]}},
    ],
    ids=str,
)
def test_a_rule_that_does_not_hold_serves_nothing(agent, tools, rule, change):
    built = rule(arguments=Q)
    for part, values in change.items():
        built["config"][part].update(values)
    agent.serve(built)
    get = tools.reader()
    assert [get(), get()] == [1, 2]


def test_a_candidate_serves_nothing(agent, tools, rule):
    agent.serve({**rule(arguments=Q), "status": "candidate"})
    get = tools.reader()
    assert [get(), get()] == [1, 2]


def test_a_rule_of_this_agent_serves(agent, tools, rule):
    agent.serve(rule(arguments=Q, namespace="agent"))
    get = tools.reader()
    assert [get(), get()] == [1, 1]


def test_a_rule_of_several_agents_serves_each_of_them(agent, tools, rule):
    built = rule(arguments=Q)
    built["config"]["match"]["namespaces"] = ["agent", "another-agent"]
    agent.serve(built)
    get = tools.reader()
    assert [get(), get()] == [1, 1]


@pytest.mark.parametrize("off", ["0", "false", " No ", "OFF"])
def test_serving_can_be_switched_off_at_once(agent, tools, rule, monkeypatch, off):
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]
    monkeypatch.setenv("VISCERAL_TOOL_APPLY", off)
    assert get() == 2
    assert agent.last == ("miss", "switched-off")
    monkeypatch.setenv("VISCERAL_TOOL_APPLY", "1")
    assert get() == 1


def test_a_changed_rules_file_is_read_again(agent, tools, rule, monkeypatch):
    monkeypatch.setattr(rule_set, "LOOK_SECONDS", 0.0)
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]
    agent.write_rules()
    assert get() == 2
    agent.write_rules(rule(arguments=Q))
    assert get() == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"rules": 1}', '{"format": 2, "rules": []}', None])
def test_a_broken_rules_file_serves_nothing_and_says_so_once(
    agent, tools, rule, monkeypatch, caplog, text
):
    monkeypatch.setattr(rule_set, "LOOK_SECONDS", 0.0)
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]
    path = agent.folder / "rules.json"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    assert [get(), get()] == [2, 3]
    assert agent.last == ("miss", "rules-broken")
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    agent.write_rules(rule(arguments=Q))
    assert get() == 1


def test_one_broken_rule_does_not_turn_off_another_tool(agent, tools, rule):
    agent.serve({"decision_id": 7}, {**rule("other"), "config": []}, rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]


# Between whom a result may pass.


def limited(built: Any, scope: str) -> Any:
    built["config"]["schema"] = 2
    built["config"]["match"]["scope"] = scope
    return built


@pytest.mark.parametrize("scope", ["user", "session"])
def test_a_limited_rule_serves_only_whom_the_result_was_made_for(agent, tools, rule, scope):
    agent.serve(limited(rule(arguments=Q), scope))
    get = tools.reader()

    def ask(name: str) -> int:
        with acting_for(**{scope: name}):
            return int(get())

    assert [ask("one"), ask("one"), ask("two"), ask("one"), ask("two")] == [1, 1, 2, 1, 2]
    assert [get(), get()] == [3, 4]
    assert agent.last == ("miss", f"no-{scope}")


def test_a_rule_for_a_run_serves_within_a_declared_run_or_a_trace(agent, tools, rule):
    agent.serve(limited(rule(arguments=Q), "run"))
    get = tools.reader()
    declared = node("run", run=True)(lambda: [get(), get()])
    traced = node("step")(lambda: [get(), get()])
    assert [declared(), declared(), traced(), traced()] == [[1, 1], [2, 2], [3, 3], [4, 4]]
    assert [get(), get()] == [5, 6]
    assert agent.last == ("miss", "no-run")


def test_a_rule_for_a_service_serves_all_who_ask_its_agent(agent, tools, rule):
    agent.serve(limited(rule(arguments=Q), "service"))
    get = tools.reader()
    with acting_for(user="one"):
        assert get() == 1
    with acting_for(user="two"):
        assert get() == 1


@pytest.mark.parametrize("scope", ["session", "run"])
def test_in_a_session_or_run_of_several_users_each_has_its_own_results(agent, tools, rule, scope):
    agent.serve(limited(rule(arguments=Q), scope))
    get = tools.reader()

    @node("run", run=True)
    def ask_for_both() -> list[int]:
        found = []
        for user in ("one", "two", "one", "two"):
            with acting_for(user=user, session="shared"):
                found.append(int(get()))
        return found

    assert ask_for_both() == [1, 2, 1, 2]


def test_a_scope_that_is_not_known_is_the_narrowest(agent, tools, rule):
    agent.serve(limited(rule(arguments=Q), "galaxy"))
    get = tools.reader()
    assert [get(), get()] == [1, 2]


def test_a_rule_for_all_serves_all(agent, tools, rule):
    agent.serve(rule(arguments=Q, scope="all"))
    get = tools.reader()
    with acting_for(user="one"):
        assert get() == 1
    with acting_for(user="two"):
        assert get() == 1


def test_spans_name_for_whom_the_agent_acts(agent, tools):
    agent.wrap()
    get = tools.reader()
    with acting_for(user="u"), acting_for(session="s"):
        get()
    get()
    first, second = agent.trace.attributes()
    assert (first["user.id"], first["session.id"]) == ("u", "s")
    assert "user.id" not in second


# Age.


@pytest.mark.parametrize(
    ("rule_allows", "tool_allows", "age", "is_served"),
    [(60, None, 59, True), (60, None, 61, False), (60, 10, 11, False), (10, 60, 11, False)],
)
def test_the_shorter_freshness_counts(
    agent, tools, rule, clock, rule_allows, tool_allows, age, is_served
):
    agent.serve(rule(arguments=Q, freshness=rule_allows))
    agent.replace(clock=clock, writers=Writers(clock))
    INSTALLATION.runtime.results.store._clock = clock
    get = tools.reader(freshness_seconds=tool_allows)
    get()
    clock.advance(age)
    assert get() == (1 if is_served else 2)
    assert agent.last[0] == ("hit" if is_served else "stale")


def test_age_counts_from_the_start_of_the_execution(agent, tools, rule, clock):
    agent.serve(rule(arguments=Q, freshness=60))
    agent.replace(clock=clock, writers=Writers(clock))
    INSTALLATION.runtime.results.store._clock = clock
    tools.during.append(lambda: clock.advance(50))
    get = tools.reader()
    get()
    clock.advance(11)
    assert get() == 2


def test_failures_are_never_stored(agent, rule):
    agent.serve(rule(arguments=Q))
    results = iter(["Error: no", {"error": 1}, "good", "never"])

    @tool("get", readonly=True, replay_safe=True)
    def get(q: int = 1) -> Any:
        return next(results)

    assert [get(), get(), get(), get()] == ["Error: no", {"error": 1}, "good", "good"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("value", "not JSON"),
        ("value", "2"),
        ("value", b"\x00"),
        ("content_hash", "0" * 64),
        ("checksum", ""),
        ("tool", "other"),
        ("namespace", "other"),
        ("hash_v", 2),
        ("started_ns", "yesterday"),
        ("started_ns", 2**62),
        ("scopes", "[1]"),
        ("scopes", "[]"),
        ("generations", "[]"),
    ],
)
def test_a_row_that_was_changed_is_a_miss_and_overwritten(agent, tools, rule, column, value):
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]
    base = sqlite3.connect(agent.folder / "results.sqlite3", isolation_level=None)
    base.execute(f"UPDATE entry SET {column} = ?", (value,))
    base.close()
    assert [get(), get()] == [2, 2]


def test_a_row_that_no_writer_could_void_is_a_miss(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    get()
    base = sqlite3.connect(agent.folder / "results.sqlite3", isolation_level=None)
    base.execute("UPDATE entry SET scopes = '[]', generations = '[]'")
    base.close()
    assert [get(), get()] == [2, 2]


# Writers.


def test_a_writer_voids_older_results(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()
    assert [get(), get()] == [1, 1]
    put()
    assert get() == 2
    assert agent.last[0] == "invalidated"
    assert get() == 2


def test_a_writer_that_raises_voids_as_well(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()
    get()
    with pytest.raises(ZeroDivisionError):
        put(lambda: 1 / 0)
    assert get() == 2


def test_the_barrier_holds_until_the_writer_has_ended(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()
    seen = []
    put(lambda: seen.extend([get(), get()]))
    assert seen == [1, 2]
    assert [get(), get()] == [3, 3]


def test_a_result_read_while_a_writer_ran_is_never_served(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()
    tools.during.append(put)
    assert get() == 1
    tools.during.clear()
    assert get() == 2


def test_a_writer_in_a_plain_thread_counts(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()

    @node("agent", run=True)
    def run() -> list[int]:
        first = get()
        thread = threading.Thread(target=put)
        thread.start()
        thread.join()
        return [first, get(), get()]

    assert run() == [1, 2, 2]


def test_a_writer_in_a_pool_thread_counts_for_readers_in_threads(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()
    with ThreadPoolExecutor(2) as pool:
        assert pool.submit(get).result() == 1
        pool.submit(put).result()
        assert pool.submit(get).result() == 2


@pytest.mark.parametrize("steps", [False, True], ids=["bare", "each in a node of its own"])
def test_sibling_tasks_see_each_others_writers(agent, rule, steps):
    """Nothing of the runtime has run before the tasks are made."""
    agent.serve(rule(arguments=Q))
    runs = []

    @tool("get", readonly=True, replay_safe=True)
    async def get(q: int = 1) -> int:
        runs.append(q)
        return len(runs)

    @tool("put")
    async def put() -> None:
        await asyncio.sleep(0)

    async def read(first: asyncio.Event, written: asyncio.Event) -> list[int]:
        got = [await get()]
        first.set()
        await written.wait()
        return [*got, await get()]

    async def write(first: asyncio.Event, written: asyncio.Event) -> None:
        await first.wait()
        await put()
        written.set()

    async def main() -> list[int]:
        events = asyncio.Event(), asyncio.Event()
        reading, writing = (read, write) if not steps else (node("r")(read), node("w")(write))
        got, _ = await asyncio.gather(reading(*events), writing(*events))
        return got

    assert asyncio.run(main()) == [1, 2]


def test_a_writer_in_a_declared_run_voids_results_for_that_run_only(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get, put = tools.reader(), tools.writer()

    @node("run", run=True)
    def read() -> int:
        return get()

    @node("run", run=True)
    def read_write_read() -> list[int]:
        first = get()
        put()
        return [first, get(), get()]

    assert [read(), read()] == [1, 1]
    assert read_write_read() == [1, 2, 2]
    assert [read(), read()] == [2, 2]

    @node("run", run=True)
    def write() -> None:
        put()

    write()
    assert read() == 2


def test_a_writer_in_another_process_counts(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]
    code = f"""
        from visceral_cli import tool, wrap
        wrap(None, "agent", apply=True, rules={str(agent.folder / "rules.json")!r},
             results={str(agent.folder / "results.sqlite3")!r})
        tool("put")(lambda: None)()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
    assert [get(), get()] == [2, 2]


def test_a_writer_of_a_process_that_only_records_counts_for_those_who_serve(agent, tools):
    path = agent.folder / "results.sqlite3"
    agent.wrap(results=path)  # without apply
    store = open_store(path)
    before = store.claim("k", ["agent"], "o").generations
    tools.writer()()
    assert store.claim("k", ["agent"], "o").generations != before
    store.close()


def test_declared_invalidation_narrows_the_barrier(agent, tools, rule):
    agent.serve(rule(arguments=Q), rule("other", Q))
    get = tools.reader()
    runs = []

    @tool("other", readonly=True, replay_safe=True)
    def other(q: int = 1) -> int:
        runs.append(q)
        return len(runs)

    get(), other()
    tools.writer(invalidates=["other"])()
    assert (get(), other()) == (1, 2)
    tools.writer(invalidates=[])()
    assert (get(), other()) == (1, 2)
    tools.writer()()
    assert (get(), other()) == (2, 3)


def test_a_writing_generator_holds_its_barrier_until_it_is_gone(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get = tools.reader()

    @tool("put")
    def put() -> Any:
        yield 1
        yield 2

    get()
    running = put()
    next(running)
    assert [get(), get()] == [2, 3]
    del running
    for _ in range(200):
        get()
        if get() == tools.runs and agent.last[0] == "hit":
            return
        time.sleep(0.05)
    raise AssertionError("the barrier was never lifted")


def test_a_cancelled_writer_lifts_its_barrier(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get = tools.reader()

    @tool("put")
    async def put() -> None:
        await asyncio.sleep(30)

    async def main() -> None:
        task = asyncio.create_task(put())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    get()
    asyncio.run(main())
    assert get() == 2
    for _ in range(100):
        if get() == tools.runs and agent.last[0] == "hit":
            return
        time.sleep(0.02)
    raise AssertionError("the barrier was never lifted")


# Time limits.


@pytest.mark.parametrize("is_async", [False, True])
def test_a_store_that_hangs_costs_at_most_the_time_limit(agent, rule, monkeypatch, is_async):
    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", "0.1")
    agent.serve(rule(arguments=Q))
    hangs = threading.Event()
    monkeypatch.setattr(
        INSTALLATION.runtime.results.store, "lookup", lambda key: hangs.wait(30), raising=False
    )
    beats = []

    @tool("get", readonly=True, replay_safe=True)
    def get(q: int = 1) -> str:
        return "real"

    @tool("get", readonly=True, replay_safe=True)
    async def aget(q: int = 1) -> str:
        return "real"

    async def main() -> str:
        async def beat() -> None:
            while True:
                beats.append(time.monotonic())
                await asyncio.sleep(0.005)

        beating = asyncio.create_task(beat())
        try:
            return await aget()
        finally:
            beating.cancel()

    began = time.monotonic()
    assert (asyncio.run(main()) if is_async else get()) == "real"
    assert 0.09 < time.monotonic() - began < 2
    assert agent.last == ("fail-open", "timeout")
    if is_async:
        assert len(beats) > 5  # the event loop went on meanwhile
    hangs.set()


def test_many_hanging_fetches_do_not_pile_up(agent, tools, rule, monkeypatch):
    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", "0.01")
    agent.serve(rule(arguments=Q))
    hangs = threading.Event()
    store = INSTALLATION.runtime.results.store
    monkeypatch.setattr(store, "lookup", lambda key: hangs.wait(30), raising=False)
    get = tools.reader()
    before = threading.active_count()
    for _ in range(50):
        get()
    assert tools.runs == 50
    assert threading.active_count() - before < 40
    hangs.set()


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "soon"])
def test_a_time_limit_that_is_none_is_the_default(monkeypatch, text):
    from visceral_cli.runtime import environment

    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", text)
    assert environment.serve_timeout_seconds() == 0.15


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_serving_goes_on_after_a_fork(agent, tools, rule):
    agent.serve(rule(arguments=Q))
    get = tools.reader()
    assert [get(), get()] == [1, 1]
    child = os.fork()
    if child == 0:
        os._exit(0 if get() == 1 and agent.last[0] == "hit" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert get() == 1
