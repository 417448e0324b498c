"""Which recorded results a store of results may begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.contract.identity import input_hash
from visceral_cli.contract.rule import Action, Guard, Match, Rule, RuleKind, Sharing
from visceral_cli.loading.fill import filled_store
from visceral_cli.loading.narrow import narrow
from visceral_cli.progress import Silent
from visceral_cli.rules.seeds import choose_seeds
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

BASE = 1_700_000_000
ARGUMENTS = {"id": 1}
ORDER = input_hash("get_order", ARGUMENTS)
WriteSpans = Callable[[Path, Iterable[Any]], None]
READS = {
    "visceral.tool.readonly": True,
    "visceral.tool.replay_safe": True,
    "visceral.tool.input_hash": ORDER,
    "visceral.tool.hash_v": 1,
    "service.name": "desk",
}
WRITES = {"visceral.tool.readonly": False, "service.name": "desk"}
SETTINGS = Settings(extract=ExtractSettings(keep_text=True))


def rule(scope: Sharing | None = None, *, own_writers: bool = False, **match: Any) -> Rule:
    return Rule(
        "r-1",
        RuleKind.REUSE_IDENTITY,
        replace(Match("get_order", ORDER, 1, namespace="desk", scope=scope), **match),
        Guard(True, True),
        Action("reuse_cached_result", 60.0, writers=Sharing.RUN if own_writers else None),
    )


@pytest.fixture
def choose(
    tmp_path: Path, write_spans: Callable[[Path, Iterable[Any]], None]
) -> Callable[..., Any]:
    """Return the results that are chosen, with the seconds of their start, or why none is."""

    def chosen(
        spans: Any, *asked: Rule, settings: Settings = SETTINGS, by_namespace: bool = False
    ) -> Any:
        path = tmp_path / "spans.jsonl"
        write_spans(path, spans)
        with filled_store([str(path)], settings, Silent()) as filled:
            narrow(filled.store, settings)
            found = choose_seeds(filled.store, asked or [rule()], settings)
        left_out = [reason.name for _, reason in found.left_out.elements()]
        if by_namespace:
            return {one.namespace for one in found.seeds}, left_out
        return [(one.canonical, one.start_ns / 1e9 - BASE) for one in found.seeds] + left_out

    return chosen


@pytest.fixture
def read(tool_span: Any) -> Callable[..., Any]:
    """One read of the order, of a second."""

    def build(start: float, result: Any = "r", run: int = 0, **more: Any) -> Any:
        attributes = READS | more.pop("attributes", {})
        fields = {"end": start + 1, "sdk": True, **more}
        return tool_span(start, ARGUMENTS, result, run=run, attributes=attributes, **fields)

    return build


@pytest.fixture
def write(tool_span: Any) -> Callable[..., Any]:
    """One write, of a second."""

    def build(start: float, run: int = 0, **more: Any) -> Any:
        attributes = WRITES | more.pop("attributes", {})
        fields = {"end": start + 1, "sdk": True, "tool": "update_order", **more}
        return tool_span(start, {}, None, run=run, attributes=attributes, **fields)

    return build


def test_the_newest_result_is_chosen(choose, read):
    assert choose([read(0, "a"), read(20, "c", run=1), read(10, "b")]) == [('"c"', 20)]


def test_a_failed_call_and_one_of_another_namespace_are_none(choose, read):
    other = read(9, "x", attributes={"service.name": "shop"})
    assert choose([read(0, "a"), read(5, "Error: b"), read(7, "c", failed=True), other]) == [
        ('"a"', 0)
    ]


def test_behind_a_newer_result_that_is_not_known_no_older_one_is_chosen(choose, read):
    hidden = read(10)
    unknown = replace(hidden, sdk=False, attributes={**READS, "visceral.tool.name": "get_order"})
    assert choose([read(0, "a"), unknown]) == ["NO_RESULT"]


def test_a_served_call_is_no_execution_and_a_verify_sample_is_one(choose, read):
    served = {"visceral.tool.served_decision_id": "r-1"}
    sample = {"visceral.tool.verify_match": False}
    assert choose([read(0, "a"), read(5, "b", attributes=served)]) == [('"a"', 0)]
    assert choose([read(0, "a"), read(5, "b", attributes=sample)]) == [('"b"', 5)]


RUN, OTHER = {"visceral.run.id": "one"}, {"visceral.run.id": "other"}
INVALIDATES = "visceral.tool.invalidates"
WRITERS = [
    # the read begins at 10 and takes a second; what the writer is; what is chosen
    ("it ended before", {}, {"start": 5}, "chosen"),
    ("it ended as the read began", {}, {"start": 9}, "WRITER"),
    ("it ran beside", {}, {"start": 10.5}, "WRITER"),
    ("it came after", {}, {"start": 50}, "WRITER"),
    ("it came after, in another trace", {}, {"start": 50, "run": 7}, "WRITER"),
    ("it failed", {}, {"start": 50, "failed": True}, "WRITER"),
    ("it has times that cannot be", {}, {"start": 5, "end": 1}, "WRITER"),
    ("it voids nothing", {}, {"start": 50, INVALIDATES: ""}, "chosen"),
    ("it voids others", {}, {"start": 50, INVALIDATES: "x,y"}, "chosen"),
    ("it voids this", {}, {"start": 50, INVALIDATES: "x,get_order"}, "WRITER"),
    ("in a declared run, the read in another", RUN, {"start": 50, "run": 7, **OTHER}, "chosen"),
    ("in a declared run, the read in none", {}, {"start": 50, "run": 7, **RUN}, "WRITER"),
    ("in none, the read in a declared run", RUN, {"start": 50, "run": 7}, "WRITER"),
    ("in the same declared run, before", RUN, {"start": 5, **RUN}, "chosen"),
    ("in the same declared run, beside", RUN, {"start": 10.5, **RUN}, "WRITER"),
    ("in the same declared run, after", RUN, {"start": 50, **RUN}, "chosen"),
    ("the rule outlives others", None, {"start": 50, "run": 7}, "chosen"),
    ("the rule outlives others, and it is its own", None, {"start": 50}, "WRITER"),
]


def test_a_writer_voids_what_it_voids_in_the_runtime(choose, read, write):
    spans = [write(50, run=9_999, attributes={"service.name": "another agent"})]
    rules = []
    for number, (name, of_read, writes, _) in enumerate(WRITERS):
        fields = {key: value for key, value in writes.items() if "." not in key}
        fields["run"] = 100 * number + fields.get("run", 0)
        of_write = {key: value for key, value in writes.items() if "." in key}
        told = [{**of, "service.name": name} for of in (of_read or {}, of_write)]
        for attributes in told:
            if "visceral.run.id" in attributes:
                attributes["visceral.run.id"] += name
        spans.append(read(10, run=100 * number, attributes=told[0]))
        spans.append(write(**fields, attributes=told[1]))
        rules.append(rule(namespace=name, own_writers=of_read is None))
    chosen, left_out = choose(spans, *rules, by_namespace=True)
    expected = {name for name, _, _, what in WRITERS if what == "chosen"}
    assert chosen == expected
    assert left_out == ["WRITER"] * (len(WRITERS) - len(expected))


def test_what_an_analysis_leaves_out_writes_and_is_newer_all_the_same(choose, read, write):
    early = replace(SETTINGS, until_ns=(BASE + 20) * 10**9, only_tools=("get_order",))
    assert choose([read(10), write(50)], settings=early) == ["WRITER"]
    assert choose([read(10), read(30, "new")], settings=early) == [('"new"', 30)]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Sharing.ALL, [('"bob\'s"', 5)]),
        (Sharing.USER, [('"ann\'s"', 0), ('"bob\'s"', 5), "NOBODY"]),
        (Sharing.SESSION, ["NOBODY"] * 3),
        (Sharing.RUN, ["ONE_RUN"]),
    ],
)
def test_a_limited_rule_has_a_result_for_each_user(choose, read, scope, expected):
    spans = [
        read(0, "ann's", attributes={"user.id": "ann"}),
        read(5, "bob's", attributes={"user.id": "bob"}, run=1),
        read(2, "nobody's", run=2),
    ]
    assert choose(spans, rule(scope)) == expected


def test_a_user_that_only_another_span_names_is_not_known_to_the_runtime(choose, read, tool_span):
    above = tool_span(0, {}, {}, node=True, end=9, span_id=5, attributes={"user.id": "ann"})
    assert choose([above, read(1, parent=5)], rule(Sharing.USER)) == ["NOBODY"]


def test_users_by_another_attribute_are_not_those_of_the_runtime(choose, read):
    named = ExtractSettings(keep_text=True, principal_attribute="tenant")
    spans = [read(0, attributes={"tenant": "ann"})]
    assert choose(spans, rule(Sharing.USER), settings=Settings(extract=named)) == [
        "OTHER_PRINCIPAL"
    ]


def test_a_rule_for_any_namespace_gives_each_service_its_own_result(choose, read):
    # without a service nobody knows which agent the result is for
    assert choose([read(0)], rule(namespace="")) == ["NOBODY"]


@pytest.mark.parametrize(
    "changes",
    [
        {"sdk": False, "attributes": {"gen_ai.tool.name": "get_order"}},
        {"attributes": {"visceral.tool.input_hash": "0" * 64}},
    ],
    ids=["another instrumentation", "a hash that is not that of the arguments"],
)
def test_only_what_the_runtime_recorded_itself_is_exact(choose, read, changes):
    attributes = changes["attributes"]
    span = replace(read(0), **{**changes, "attributes": READS | attributes})
    if not span.sdk:
        span = replace(span, attributes={"service.name": "desk", **attributes})
    identity = span.attributes.get("visceral.tool.input_hash") or READS["visceral.tool.input_hash"]
    assert choose([span], rule(input_hash=identity)) == ["NOT_EXACT"]


def test_a_result_of_which_parts_do_not_count_is_not_exact(choose, read):
    ignoring = ToolDeclaration(ignore_result=("$.at",))
    settings = Settings(extract=ExtractSettings(tools={"get_order": ignoring}, keep_text=True))
    assert choose([read(0, {"at": 1, "n": 2})], settings=settings) == ["NOT_EXACT"]
    assert choose([read(0, {"n": 2})], settings=settings) == [('{"n":2}', 0)]


def test_without_any_call_there_is_nothing_to_choose(choose, write):
    assert choose([write(0)]) == ["NO_CALL"]
