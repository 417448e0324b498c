"""Calls made again with the user's own function, in a process of its own."""

from __future__ import annotations

import json

import pytest

from visceral_cli.contract.identity import content_hash, faithful_json
from visceral_cli.errors import UsageError
from visceral_cli.verify import execute_worker
from visceral_cli.verify.execute import ExecuteRequest
from visceral_cli.verify.outcome import Execution

SECOND = 1_000_000_000

FUNCTIONS = """
import os, sys, time

def tell(tool, arguments):
    print("a secret value")
    print("a secret value", file=sys.stderr)
    with open("made.txt", "a") as made:
        made.write(f"{tool} {arguments['x']}\\n")
    if arguments["x"] == "slow":
        time.sleep(60)
    if arguments["x"] == "raises":
        raise RuntimeError("a secret value")
    if arguments["x"] == "dies":
        os._exit(1)
    if arguments["x"] == "set":
        return {1}
    return "r" if arguments["x"] == "same" else "s"

async def tell_later(tool, arguments):
    return "r"

NOT_CALLABLE = 3
"""


@pytest.fixture
def functions(tmp_path, monkeypatch):
    """A folder with the module ``mine``, which is where we are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    return tmp_path


@pytest.fixture
def history(recorded, call):
    """Return a function that records one call for each name, with its arguments as text."""

    def record(*names, **declared):
        return recorded(
            *(call(10 * place, arguments=name, **declared) for place, name in enumerate(names)),
            texts=[(name, json.dumps({"x": name})) for name in names],
        )

    return record


def executed(history, rules, function="mine:tell", **asked):
    request = ExecuteRequest(function, now_ns=lambda: 60 * SECOND, **asked)
    return history.verify(*rules, execute=request).executions


def test_each_way_to_come_out(functions, history, rule):
    names = ("same", "other", "slow", "raises", "dies", "set")
    found = executed(history(*names), [rule(name) for name in names], timeout_seconds=3.0)
    by_rule = {one.decision_id.rpartition("-")[2]: one for one in found}
    assert {name: one.execution for name, one in by_rule.items()} == {
        "same": Execution.SAME,
        "other": Execution.DIFFERENT,
        "slow": Execution.TIMEOUT,
        "raises": Execution.FAILED,
        "dies": Execution.FAILED,
        "set": Execution.NOT_COMPARABLE,
    }
    assert by_rule["same"].age_seconds == 60
    assert by_rule["same"].within_freshness
    assert "secret" not in repr(found)


def test_a_result_older_than_the_freshness_says_so(functions, history, rule):
    (found,) = executed(history("same"), [rule("same", 59)])
    assert not found.within_freshness


def test_a_different_result_within_the_freshness_speaks_against_the_rule(functions, history, rule):
    rules = [rule("same", 60), rule("other", 60)]
    request = ExecuteRequest("mine:tell", now_ns=lambda: 60 * SECOND)
    (same, other) = history("same", "other").verify(*rules, execute=request).rules
    assert (same.judgement.samples, same.judgement.mismatches) == (1, 0)
    assert (other.judgement.samples, other.judgement.mismatches) == (1, 1)
    late = ExecuteRequest("mine:tell", now_ns=lambda: 71 * SECOND)
    (_, other) = history("same", "other").verify(*rules, execute=late).rules
    assert other.idle


def test_at_most_so_many_calls_are_made_and_always_the_same(functions, history, rule):
    names = [f"n{number}" for number in range(10)]
    first = executed(history(*names), [rule(name) for name in names], limit=3)
    second = executed(history(*names), [rule(name) for name in names], limit=3)
    assert len(first) == 3
    assert [one.span_id for one in first] == [one.span_id for one in second]
    assert len((functions / "made.txt").read_text().splitlines()) == 6


@pytest.mark.parametrize(
    "declared",
    [
        {"readonly": None},
        {"readonly": False},
        {"replay_safe": None},
        {"replay_safe": False},
    ],
)
def test_a_tool_that_is_not_declared_harmless_is_never_called(functions, history, rule, declared):
    assert executed(history("same", **declared), [rule("same")]) == ()
    assert not (functions / "made.txt").exists()


def test_nothing_is_called_unless_asked(functions, history, rule):
    assert history("same").verify(rule("same")).executions == ()
    assert not (functions / "made.txt").exists()


def test_a_coroutine_function_is_awaited(functions, history, rule):
    (found,) = executed(history("same"), [rule("same")], "mine:tell_later")
    assert found.execution is Execution.SAME


@pytest.mark.parametrize("name", ["nowhere:tell", "mine:nothing", "mine:NOT_CALLABLE", "mine"])
def test_a_function_that_cannot_be_imported_is_an_error(functions, history, rule, name):
    with pytest.raises(UsageError, match="cannot be imported"):
        executed(history("same"), [rule("same")], name)


def test_without_arguments_as_text_nothing_can_be_called(functions, recorded, call, rule):
    with pytest.raises(UsageError, match="holds no arguments as text"):
        executed(recorded(call(0, arguments="same")), [rule("same")])


def test_the_worker_says_one_word_for_each_call():
    def tell(tool, arguments):
        if arguments["x"] == "exit":
            raise SystemExit("a secret value")
        return [tool, arguments]

    expected = content_hash(faithful_json(["t", {"x": 1}]))
    assert execute_worker.execute(tell, "t", '{"x":1}', expected) == "same"
    assert execute_worker.execute(tell, "t", '{"x":1.0}', expected) == "different"
    assert execute_worker.execute(tell, "t", '{"x":"exit"}', expected) == "failed"
