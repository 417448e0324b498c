"""What `wrap` installs, from arguments and environment, and what it leaves alone."""

from __future__ import annotations

import base64
import json
import threading
import time

import pytest

from visceral_cli import cached_tool_call, node, tool, wrap, writing
from visceral_cli.runtime import wrap as wrapping
from visceral_cli.runtime.capture import CaptureMode
from visceral_cli.runtime.encryption import parse_key
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.rule_set import RulesFile
from visceral_cli.runtime.serve import look_at
from visceral_cli.runtime.wrap import outcomes, unwrap

KEY = base64.b64encode(bytes(range(32))).decode()


def test_the_client_comes_back_as_it_is(agent):
    client = object()
    assert wrap(client, "agent") is client
    assert wrap(None, "agent") is None


@pytest.mark.parametrize("agent_id", ["", None, 7])
def test_an_agent_has_a_name(agent_id):
    with pytest.raises(ValueError, match="agent_id"):
        wrap(None, agent_id)


def test_an_unknown_capture_is_refused(agent):
    with pytest.raises(ValueError, match="everything"):
        agent.wrap(capture="everything")


def test_the_environment_names_files_store_and_key(agent, rule, monkeypatch):
    agent.write_rules(rule(arguments={"q": 1}))
    monkeypatch.setenv("VISCERAL_TRACE_FILE", str(agent.trace.path))
    monkeypatch.setenv("VISCERAL_RULES_FILE", str(agent.folder / "rules.json"))
    monkeypatch.setenv("VISCERAL_RESULTS_STORE", str(agent.folder / "store"))
    monkeypatch.setenv("VISCERAL_CAPTURE_KEY", f"k1={KEY}")
    wrap(None, "agent", apply=True)
    runs: list[int] = []

    @tool("get", readonly=True, replay_safe=True)
    def get(q: int) -> str:
        runs.append(q)
        return "find me"

    assert [get(1), get(1)] == ["find me", "find me"]
    assert runs == [1]
    assert (agent.folder / "store").exists()
    written = agent.trace.text() + (agent.folder / "store").read_bytes().decode("latin-1")
    assert "find me" not in written
    assert agent.trace.attributes()[0]["visceral.input.key_id"] == "k1"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (KEY, (bytes(range(32)), None)),
        (KEY.rstrip("="), (bytes(range(32)), None)),
        (f" k 1 = {KEY}\n", (bytes(range(32)), "k 1")),
        ("", None),
        ("k1=", None),
        (base64.b64encode(b"x" * 31).decode(), None),
        (base64.b64encode(b"x" * 33).decode(), None),
        ("not base64 !", None),
    ],
)
def test_a_key_is_the_base64_text_of_32_bytes(text, found):
    assert parse_key(text) == found


def test_a_key_is_in_no_representation(agent):
    agent.wrap(key=KEY)
    assert "AQID" not in repr(INSTALLATION.runtime)
    assert repr(bytes(range(8)))[2:-1] not in repr(INSTALLATION.runtime)
    assert INSTALLATION.runtime.capture.mode is CaptureMode.ENCRYPTED


def test_apply_without_rules_serves_nothing_and_says_so(agent, caplog):
    agent.wrap(apply=True, results=agent.folder / "r")
    tool("get", readonly=True, replay_safe=True)(lambda: 1)()
    assert agent.last == ("miss", "not-applied")
    assert "rules" in caplog.text


def test_a_store_that_cannot_be_opened_is_said_once_and_tools_run(agent, rule, caplog):
    agent.serve(rule(arguments={}), results="mysql://localhost/x")
    assert tool("get", readonly=True, replay_safe=True)(lambda: 1)() == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_wrapping_again_replaces_what_was_installed(agent):
    agent.wrap()
    get = tool("get")(lambda: 1)
    get()
    other = agent.folder / "other.jsonl"
    wrap(None, "other", trace_file=other)
    get()
    unwrap()
    assert len(agent.trace.spans()) == 1
    (line,) = other.read_text().splitlines()
    resource = json.loads(line)["resourceSpans"][0]["resource"]["attributes"][0]
    assert resource == {"key": "service.name", "value": {"stringValue": "other"}}


def test_outcomes_are_counted_since_wrap(agent):
    agent.wrap()
    tool("get", readonly=True)(lambda: 1)()
    assert outcomes().counts() == {("get", "miss", "not-replay-safe"): 1}


def test_the_cache_writes_the_same_spans(agent):
    agent.wrap(results=agent.folder / "r")

    @node("step")
    def ask() -> str:
        return cached_tool_call("ns", ["get", 7], {"q": 1}, 60, lambda: "v").value

    assert [ask(), ask()] == ["v", "v"]
    ran, served = (a for a in agent.trace.attributes() if "visceral.tool.name" in a)
    assert ran["visceral.tool.name"] == served["visceral.tool.name"] == "get"
    assert ran["visceral.tool.readonly"] is ran["visceral.tool.replay_safe"] is True
    assert len(ran["visceral.tool.input_hash"]) == 64
    assert "visceral.tool.input_hash" not in served
    assert served["visceral.tool.served_decision_id"].startswith("r-")
    assert "visceral.tool.verify_match" not in served


def test_a_writing_tool_voids_what_the_cache_holds(agent):
    agent.wrap(results=agent.folder / "r")
    ask = lambda value: cached_tool_call("ns", ["get"], {}, 60, lambda: value).value  # noqa: E731
    assert [ask("old"), ask("?")] == ["old", "old"]
    tool("put")(lambda: None)()
    assert [ask("new"), ask("?")] == ["new", "new"]
    with writing("ns"):
        pass
    assert ask("newer") == "newer"


def test_rules_on_a_disk_that_hangs_do_not_hold_up_the_start(agent, rule, monkeypatch):
    monkeypatch.setattr(wrapping, "START_SECONDS", 0.05)
    blocked = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(RulesFile, "look", lambda self: blocked.wait(5))
        began = time.monotonic()
        agent.serve(rule())
        assert time.monotonic() - began < 2
        assert INSTALLATION.runtime.rules.current() is None
    blocked.set()
    assert look_at(INSTALLATION.runtime.rules, seconds=5) is not None
