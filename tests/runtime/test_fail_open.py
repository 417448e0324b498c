"""Every step of the runtime raises, hangs or returns rubbish in turn, and the tool runs."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli import node, tool
from visceral_cli.runtime import (
    binding,
    capture,
    environment,
    invocation,
    recorder,
    rule_set,
    serve,
)
from visceral_cli.runtime import wrap as wrapping
from visceral_cli.runtime.encryption import Key
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.outcome import Outcomes
from visceral_cli.runtime.recorder import RecordedSpan
from visceral_cli.runtime.run import Writers
from visceral_cli.runtime.stores.sqlite import SqliteStore

Q = {"q": 1}


class Foreign(Exception):
    """What no code of ours raises."""


def raises(*args: Any, **kwargs: Any) -> Any:
    raise Foreign("sabotage")


def returns_none(*args: Any, **kwargs: Any) -> Any:
    return None


def returns_text(*args: Any, **kwargs: Any) -> Any:
    return "rubbish"


def returns_object(*args: Any, **kwargs: Any) -> Any:
    return object()


HANG_SECONDS = 0.5


def hangs(*args: Any, **kwargs: Any) -> Any:
    time.sleep(HANG_SECONDS)
    raise Foreign("sabotage")


# Each step: where it is, and whether what it returns is looked at by a step behind it.
STEPS: dict[str, tuple[Any, str]] = {
    "bind": (binding.Binder, "bind"),
    "canonical JSON": (invocation, "canonical_json"),
    "hash": (invocation, "input_hash_of_text"),
    "plan": (invocation, "plan"),
    "switch": (environment, "serving_is_on"),
    "rules": (serve, "rules_in_force"),
    "find rule": (rule_set.Rules, "find"),
    "freshness": (serve, "freshness_ns"),
    "store key": (serve, "store_key"),
    "scopes": (serve, "entry_scopes"),
    "partition": (serve, "partition_of"),
    "lookup": (SqliteStore, "lookup"),
    "answer": (invocation, "answer"),
    "decide": (serve, "decide"),
    "covers": (serve, "covers"),
    "read entry": (serve, "read_entry"),
    "remove": (SqliteStore, "remove"),
    "claim": (SqliteStore, "claim"),
    "put": (SqliteStore, "put"),
    "release": (SqliteStore, "release"),
    "begin write": (SqliteStore, "begin_write"),
    "end write": (SqliteStore, "end_write"),
    "writers begin": (Writers, "begin"),
    "writers end": (Writers, "end"),
    "last write": (Writers, "last_write_end_ns"),
    "span": (recorder.Recorder, "start_span"),
    "name on span": (invocation, "name_on_span"),
    "attribute": (RecordedSpan, "set"),
    "span end": (RecordedSpan, "end"),
    "capture input": (capture.Capture, "write_input"),
    "capture output": (capture.Capture, "write_output"),
    "write value": (invocation, "write_value"),
    "is error": (invocation, "is_error_result"),
    "overtaken": (invocation, "is_overtaken"),
    "entry": (invocation, "make_entry"),
    "outcome": (Outcomes, "add"),
}
IN_OTHER_THREADS = ("lookup", "claim", "put", "begin write", "end write")
SABOTAGES = (raises, returns_none, returns_text, returns_object)
CASES = [
    *((step, sabotage) for step in STEPS for sabotage in SABOTAGES),
    *((step, hangs) for step in IN_OTHER_THREADS),
]


class Run:
    """One decorated call of any kind."""

    def __init__(self, name: str = "get", *, is_async: bool, readonly: bool, result: Any) -> None:
        self.runs = 0
        self.is_async = is_async

        def get(q: int = 1) -> Any:
            self.runs += 1
            if isinstance(result, BaseException):
                raise result
            return result

        async def aget(q: int = 1) -> Any:
            return get(q)

        function: Callable[..., Any] = aget if is_async else get
        self._call = tool(name, readonly=readonly, replay_safe=readonly)(function)

    def __call__(self) -> Any:
        return asyncio.run(self._call()) if self.is_async else self._call()


@pytest.mark.parametrize(
    ("step", "sabotage"), CASES, ids=lambda case: getattr(case, "__name__", case)
)
def test_the_tool_runs_once_and_its_value_or_exception_comes_through(
    agent, rule, monkeypatch, step, sabotage
):
    limit = 0.05 if sabotage is hangs else 5
    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", str(limit))
    monkeypatch.setattr("visceral_cli.runtime.results.WRITER_SECONDS", limit)
    value, error = {"fresh": [1]}, Foreign("the tool's own")
    kinds = list(itertools.product((True, False), (False, True)))
    agent.serve(*(rule(f"get-{readonly}-{is_async}", Q) for readonly, is_async in kinds))
    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step], sabotage)
        for readonly, is_async in kinds:
            name = f"get-{readonly}-{is_async}"
            bad = Run(name, is_async=is_async, readonly=readonly, result=error)
            good = Run(name, is_async=is_async, readonly=readonly, result=value)
            with pytest.raises(Foreign) as caught:
                bad()
            assert good() is value
            assert caught.value is error
            assert (good.runs, bad.runs) == (1, 1)
    reasons = [outcome.reason for outcome in agent.outcomes]
    assert len(reasons) == (0 if step == "outcome" else 2 * len(kinds))
    assert all(reasons)


@pytest.mark.parametrize("step", [step for step in STEPS if step != "outcome"])
def test_a_stored_result_or_a_real_one_reaches_the_agent(agent, rule, monkeypatch, step):
    """The same with a stored result and a verify sample: never a third thing."""
    agent.serve(rule(arguments=Q, verify=0.5))
    for drawn in (0.9, 0.1):
        agent.replace(draw=lambda drawn=drawn: drawn)
        get = Run(is_async=False, readonly=True, result={"v": 1})
        assert get() == {"v": 1}
        owner, name = STEPS[step]
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, raises)
            before, runs = len(agent.outcomes), get.runs
            assert get() == {"v": 1}
            assert get.runs - runs <= 1
            assert len(agent.outcomes) == before + 1
        agent.serve(rule(arguments=Q, verify=0.5))


@pytest.mark.parametrize("sabotage", SABOTAGES)
@pytest.mark.parametrize("step", ["clock", "draw"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_clock_or_a_draw_that_fails_runs_the_tool(agent, rule, step, sabotage, is_async):
    agent.serve(rule(arguments=Q, verify=0.5))
    agent.replace(**{step: sabotage})
    value = {"fresh": [1]}
    get = Run(is_async=is_async, readonly=True, result=value)
    for number in (1, 2):
        assert get() == value
        assert len(agent.outcomes) == number
    assert get.runs == 2


@pytest.mark.parametrize("sabotage", SABOTAGES)
@pytest.mark.parametrize("step", ["seal", "unseal", "section"])
def test_encryption_that_fails_runs_the_tool_and_writes_nothing_in_clear(
    agent, rule, monkeypatch, step, sabotage
):
    agent.serve(rule(arguments=Q), key=bytes(32))
    get = Run(is_async=False, readonly=True, result={"secret": "Secretville"})
    monkeypatch.setattr(Key, step, sabotage)
    for number in (1, 2):
        assert get() == {"secret": "Secretville"}
        assert len(agent.outcomes) == number
    if step != "section":
        assert get.runs == 2
    wrapping.unwrap()
    for path in agent.folder.rglob("*"):
        assert not path.is_file() or b"Secretville" not in path.read_bytes()


@pytest.mark.parametrize("step", ["span", "attribute", "span end"])
def test_a_step_of_the_agent_runs_without_its_span(agent, monkeypatch, step):
    agent.wrap()
    runs = []

    @node("step", run=True)
    def work(value: int) -> int:
        runs.append(value)
        if value < 0:
            raise Foreign("the step's own")
        return value

    monkeypatch.setattr(*STEPS[step], raises)
    assert work(1) == 1
    with pytest.raises(Foreign, match="own"):
        work(-1)
    assert runs == [1, -1]


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
def test_without_any_new_thread_the_tool_runs(agent, rule, monkeypatch, readonly, is_async):
    """As at the end of the interpreter, or at the limit of the system."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    agent.serve(rule(arguments=Q))
    get = Run(is_async=is_async, readonly=readonly, result="v")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert get() == "v"
    assert get.runs == 1
    assert len(agent.outcomes) == 1


def test_a_disk_that_hangs_does_not_hold_up_the_agent(agent, monkeypatch):
    agent.wrap()
    blocked = threading.Event()
    monkeypatch.setattr(recorder.Recorder, "_write", lambda self, batch: blocked.wait(5))
    get = Run(is_async=False, readonly=True, result="v")
    began = time.monotonic()
    for _ in range(1000):
        get()
    assert time.monotonic() - began < 4
    blocked.set()


def test_rules_on_a_disk_that_hangs_serve_nothing(agent, rule, monkeypatch):
    agent.serve(rule(arguments=Q))
    monkeypatch.setenv("VISCERAL_TOOL_SERVE_TIMEOUT_SECONDS", "0.05")
    monkeypatch.setattr(rule_set, "LOOK_SECONDS", 0.0)
    blocked = threading.Event()
    rules = INSTALLATION.runtime.rules
    monkeypatch.setattr(rule_set.RulesFile, "look", lambda self: blocked.wait(5))
    get = Run(is_async=False, readonly=True, result="v")
    began = time.monotonic()
    assert get() == "v"
    assert time.monotonic() - began < 2
    assert agent.last == ("miss", "rules-broken")
    assert rules.current() is None
    blocked.set()
