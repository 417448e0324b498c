"""Which attributes a span has in each case, and what the agent receives."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import math
from typing import Any

import pytest

from visceral_cli import node, tool
from visceral_cli.contract.identity import content_hash, faithful_json, input_hash
from visceral_cli.runtime.encryption import Key

STATIC = {"openinference.span.kind", "visceral.tool.name", "tool.name"} | {
    f"visceral.tool.{flag}" for flag in ("readonly", "replay_safe")
}
H = {"visceral.tool.input_hash", "visceral.tool.hash_v"}
IN = {f"visceral.input.{part}" for part in ("ciphertext", "iv", "tag")}
OUT = {f"visceral.output.{part}" for part in ("ciphertext", "iv", "tag")}
SID = {"visceral.tool.served_decision_id"}
VM = {"visceral.tool.verify_match"}
START = {"visceral.tool.served_start_ns"}
KEY = bytes(range(32))


class Boom(Exception):
    """Raised by tools of this page."""


def make(result: Any = None, *, asynchronous: bool = False, **options: Any) -> Any:
    """A decorated tool ``get(q)`` that returns or raises ``result`` and counts its runs."""
    settings = {"readonly": True, "replay_safe": True, **options}
    runs: list[Any] = []

    def answer() -> Any:
        value = result[len(runs) - 1] if isinstance(result, Steps) else result
        if isinstance(value, BaseException):
            raise value
        return value() if callable(value) else value

    def get(q: Any = 1) -> Any:
        runs.append(q)
        return answer()

    async def get_async(q: Any = 1) -> Any:
        runs.append(q)
        await asyncio.sleep(0)
        return answer()

    decorated = tool("get", **settings)(get_async if asynchronous else get)

    def call(*args: Any) -> Any:
        return asyncio.run(decorated(*args)) if asynchronous else decorated(*args)

    call.runs = runs  # type: ignore[attr-defined]
    return call


class Steps(list[Any]):
    """One result for each run."""


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize(
    ("result", "options", "expected", "status"),
    [
        ({"a": 1}, {"readonly": False}, set(), {}),
        (Boom(), {"readonly": False}, set(), {"code": 2}),
        ({"a": 1}, {}, H | IN | OUT, {}),
        (None, {}, H | IN | OUT, {}),
        ("", {"replay_safe": False}, H | IN | OUT, {}),
        ((1, 2), {}, H | IN, {}),
        (math.nan, {}, H | IN, {}),
        (object(), {}, H | IN, {}),
        (Boom(), {}, H | IN, {"code": 2}),
    ],
    ids=["writer", "writer raised", "object", "None", "text", "tuple", "NaN", "object()", "raised"],
)
def test_a_real_run_records_what_its_case_allows(
    agent, is_async, result, options, expected, status
):
    agent.wrap(key=KEY)
    get = make(result, asynchronous=is_async, **options)
    if isinstance(result, Boom):
        with pytest.raises(Boom) as caught:
            get()
        assert caught.value is result
    else:
        assert get() is result
    (span,) = agent.trace.spans()
    (attributes,) = agent.trace.attributes()
    assert set(attributes) == STATIC | expected
    assert span["status"] == status
    assert (span["name"], span["kind"]) == ("get", 1)


@pytest.mark.parametrize("arguments", [({1: 2},), (math.nan,), ("a", "too many")])
def test_a_call_that_cannot_be_hashed_has_neither_hash_nor_captures(agent, arguments):
    agent.wrap(key=KEY)
    get = make("v")
    if len(arguments) == 2:
        with pytest.raises(TypeError, match="positional"):
            get(*arguments)
    else:
        assert get(*arguments) == "v"
    (attributes,) = agent.trace.attributes()
    assert set(attributes) == STATIC
    assert agent.last[0] == ("error" if len(arguments) == 2 else "uncacheable")


def test_a_served_call_names_its_rule_and_when_the_result_was_made_and_nothing_else(
    agent, is_async, rule
):
    agent.serve(rule(arguments={"q": 1}), key=KEY)
    get = make({"b": [1.0], "a": None}, asynchronous=is_async)
    first, second = get(), get()
    assert repr(first) == repr(second) == "{'b': [1.0], 'a': None}"
    assert first is not second
    assert len(get.runs) == 1
    ran, served = agent.trace.attributes()
    assert set(ran) == STATIC | H | IN | OUT | {"visceral.tool.output_order"}
    assert set(served) == STATIC | SID | START
    (execution, _) = agent.trace.spans()
    made_ns = served["visceral.tool.served_start_ns"]
    assert int(execution["startTimeUnixNano"]) <= made_ns <= int(execution["endTimeUnixNano"])
    assert served["visceral.tool.served_decision_id"] == "r-1"
    assert agent.last == ("hit", "r-1")


@pytest.mark.parametrize(("second", "matches"), [("v", True), ("w", False), ((1,), False)])
def test_a_verify_sample_runs_the_tool_and_the_agent_gets_the_stored(
    agent, is_async, rule, second, matches
):
    agent.serve(rule(arguments={"q": 1}, verify=1), key=KEY)
    get = make(Steps(["v", second]), asynchronous=is_async)
    assert get() == "v"
    assert get() == "v"
    assert len(get.runs) == 2
    _, sample = agent.trace.attributes()
    assert set(sample) == STATIC | H | IN | VM | START | (OUT if second != (1,) else set())
    assert sample["visceral.tool.verify_match"] is matches
    assert agent.last == ("verified", "match" if matches else "mismatch")


def test_a_verify_sample_refreshes_what_is_stored(agent, rule):
    agent.serve(rule(arguments={"q": 1}, verify=1))
    get = make(Steps(["v", "w", "x"]))
    assert [get(), get(), get()] == ["v", "v", "w"]


def test_a_verify_sample_whose_tool_raises_gives_the_exception(agent, is_async, rule):
    agent.serve(rule(arguments={"q": 1}, verify=1), key=KEY)
    error = Boom()
    get = make(Steps(["v", error]), asynchronous=is_async)
    get()
    with pytest.raises(Boom) as caught:
        get()
    assert caught.value is error
    assert set(agent.trace.attributes()[1]) == STATIC | H | IN


@pytest.mark.parametrize(("drawn", "runs"), [(0.0, 2), (0.0499, 2), (0.05, 1), (0.9, 1)])
def test_the_verify_rate_is_the_share_of_draws_below_it(agent, rule, drawn, runs):
    agent.serve(rule(arguments={"q": 1}, verify=0.05))
    agent.replace(draw=lambda: drawn)
    get = make("v")
    get()
    get()
    assert len(get.runs) == runs


def test_everything_that_was_declared_is_on_the_span(agent):
    agent.wrap()
    make("v", vary=["q"], version="2", freshness_seconds=30)()
    (attributes,) = agent.trace.attributes()
    assert attributes["visceral.tool.vary"] == "q"
    assert attributes["visceral.tool.version"] == "2"
    assert attributes["visceral.tool.freshness_override"] == 30.0
    expected = input_hash("get", {"q": 1}, vary=["q"], version="2")
    assert attributes["visceral.tool.input_hash"] == expected
    assert attributes["visceral.tool.hash_v"] == 1
    tool("put", invalidates=["get", "list"])(lambda: None)()
    assert agent.trace.attributes()[1]["visceral.tool.invalidates"] == "get,list"


def test_without_a_key_a_hash_stands_for_the_result(agent):
    agent.wrap()
    make({"b": 1, "a": 2})()
    make("Error: no")()
    ran, failed = agent.trace.attributes()
    assert set(ran) == STATIC | H | {"visceral.tool.output_hash"}
    assert ran["visceral.tool.output_hash"] == content_hash(faithful_json({"b": 1, "a": 2}))
    assert set(failed) == STATIC | H


@pytest.mark.parametrize(
    ("result", "order"),
    [({"b": 1, "a": [{"d": 1, "c": 2}]}, "1,0*2"), ({"a": 1, "b": 2}, ""), ({"a": [1]}, None)],
)
def test_a_capture_tells_the_order_of_keys_where_its_text_does_not(agent, result, order):
    for options in ({"capture": "clear"}, {"key": KEY}):
        agent.wrap(**options)
        make(result)()
        assert agent.trace.attributes()[-1].get("visceral.tool.output_order") == order
    agent.wrap()
    make(result)()
    assert "visceral.tool.output_order" not in agent.trace.attributes()[-1]


def test_values_are_written_in_clear_only_when_asked(agent):
    agent.wrap(capture="clear")
    make({"b": 1})("find me")
    (attributes,) = agent.trace.attributes()
    assert attributes["input.value"] == '{"q":"find me"}'
    assert attributes["output.value"] == '{"b":1}'


@pytest.mark.parametrize("options", [{"key": "too short"}, {"key": b""}, {"capture": "encrypted"}])
def test_a_key_that_is_missing_never_means_clear_text(agent, rule, options, caplog):
    agent.serve(rule(arguments={"q": "find me"}), **options)
    get = make("find me too")
    get("find me")
    get("find me")
    assert len(get.runs) == 2
    assert "find me" not in agent.trace.text() + caplog.text
    assert all(set(attributes) == STATIC | H for attributes in agent.trace.attributes())
    assert not (agent.folder / "results.sqlite3").exists()


def test_encrypted_sections_open_with_the_key(agent):
    agent.wrap(key=KEY, key_id="k7")
    make({"b": "é", "a": 1})()
    (attributes,) = agent.trace.attributes()
    assert attributes["visceral.output.key_id"] == "k7"
    assert decrypted(attributes, "output") == '{"a":1,"b":"\\u00e9"}'
    assert decrypted(attributes, "input") == '{"q":1}'


def decrypted(attributes: dict[str, Any], side: str) -> str:
    import base64

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    parts = (attributes[f"visceral.{side}.{part}"] for part in ("iv", "ciphertext", "tag"))
    iv, ciphertext, tag = (base64.b64decode(part) for part in parts)
    return AESGCM(KEY).decrypt(iv, ciphertext + tag, None).decode()


def test_a_section_is_the_one_of_the_test_vector():
    section = Key(KEY).section('{"id":"c-1","v":1.0}', iv=bytes(range(12)))
    assert section.ciphertext == "PCC/f+ff4HigcLWnk59aV7L4t0k="
    assert section.iv == "AAECAwQFBgcICQoL"
    assert section.tag == "ot6m3DLZDVnHad19xfQkuA=="


def test_an_exception_leaves_only_its_type(agent):
    agent.wrap()
    with pytest.raises(Boom):
        make(Boom("a secret message"))()
    (span,) = agent.trace.spans()
    (event,) = span["events"]
    assert event["name"] == "exception"
    written = {item["key"]: item["value"]["stringValue"] for item in event["attributes"]}
    assert written == {"exception.type": f"{__name__}.Boom", "exception.escaped": "False"}
    assert "secret" not in agent.trace.text()


def test_no_argument_is_in_any_attribute_log_or_outcome(agent, rule, caplog):
    agent.serve(rule(arguments={"q": "find me"}))
    get = make(Steps(["find me too", "find me too", Boom("find me as well")]))
    get("find me")
    get("find me")
    get({"find me": math.nan})
    with pytest.raises(Boom):
        get("find me not")
    seen = agent.trace.text() + caplog.text + repr(agent.outcomes)
    assert "find me" not in seen


# What kinds of functions there are.


def test_methods_bind_self_like_any_argument(agent):
    @dataclasses.dataclass
    class Desk:
        name: str

        @tool("get", readonly=True)
        def get(self, q: int) -> int:
            return q

    agent.wrap()
    assert Desk("a").get(1) == 1
    (attributes,) = agent.trace.attributes()
    expected = input_hash("get", {"self": str(Desk("a")), "q": 1})
    assert attributes["visceral.tool.input_hash"] == expected


@pytest.mark.parametrize("readonly", [True, False])
def test_generators_pass_through_untouched(agent, readonly):
    @tool("get", readonly=readonly, replay_safe=readonly)
    def numbers(q: int) -> Any:
        """Count."""
        yield from range(q)

    @tool("aget", readonly=readonly)
    async def anumbers(q: int) -> Any:
        for number in range(q):
            yield number

    async def collect() -> list[int]:
        return [number async for number in anumbers(3)]

    agent.wrap(key=KEY)
    assert inspect.isgenerator(numbers(3))
    assert list(numbers(3)) == [0, 1, 2]
    assert asyncio.run(collect()) == [0, 1, 2]
    assert all(
        set(attributes) == STATIC | (H | IN if readonly else set())
        for attributes in agent.trace.attributes()
    )


def test_a_decorated_function_keeps_its_name_and_signature():
    @node("step")
    @tool("get")
    async def get(q: int, *, k: str = "x") -> int:
        """Find it."""
        return q

    assert (get.__name__, get.__doc__) == ("get", "Find it.")
    assert str(inspect.signature(get)) == "(q: 'int', *, k: 'str' = 'x') -> 'int'"
    assert inspect.iscoroutinefunction(get)


@pytest.mark.parametrize("tool_is_outside", [True, False])
def test_tool_and_node_compose_in_either_order(agent, tool_is_outside):
    def get(q: int, k: int = 2) -> int:
        return q + k

    decorators = [node("step"), tool("get", readonly=True)]
    for decorate in decorators if tool_is_outside else reversed(decorators):
        get = decorate(get)
    agent.wrap()
    assert get(1) == 3
    spans = {span["name"]: span for span in agent.trace.spans()}
    outer, inner = ("get", "step") if tool_is_outside else ("step", "get")
    assert spans[inner]["parentSpanId"] == spans[outer]["spanId"]
    assert "parentSpanId" not in spans[outer]
    assert spans[inner]["traceId"] == spans[outer]["traceId"]
    (identity,) = {
        attribute["value"]["stringValue"]
        for attribute in spans["get"]["attributes"]
        if attribute["key"] == "visceral.tool.input_hash"
    }
    assert identity == input_hash("get", {"q": 1, "k": 2})


def test_without_wrap_the_tool_just_runs(tmp_path):
    get = make({"a": 1})
    assert get() == {"a": 1}
    assert list(tmp_path.iterdir()) == []


def test_two_calls_spelt_differently_are_one_identity(agent, rule):
    agent.serve(rule(arguments={"a": 1, "b": 2}))
    runs = []

    @tool("get", readonly=True, replay_safe=True)
    def get(a: int, b: int = 2) -> int:
        runs.append(a)
        return a + b

    assert [get(1), get(a=1), get(1, 2), get(b=2, a=1)] == [3, 3, 3, 3]
    assert runs == [1]


# Declarations.


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": None},
        {"vary": "q"},
        {"vary": []},
        {"vary": [""]},
        {"vary": [1]},
        {"freshness_seconds": 0},
        {"freshness_seconds": -1},
        {"freshness_seconds": True},
        {"freshness_seconds": "60"},
        {"freshness_seconds": math.nan},
        {"invalidates": "get"},
        {"invalidates": [""]},
        {"readonly": True, "invalidates": ["get"]},
    ],
    ids=str,
)
def test_a_declaration_that_means_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match=r"."):
        tool(**{"name": "get", **wrong})


def test_an_empty_name_of_a_node_is_refused():
    with pytest.raises(ValueError, match="node"):
        node("")
