"""Which rules have a place in another cache, and why not the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.contract.rule import Action, RuleKind, RuleStatus, Sharing
from visceral_cli.rules.exports.cached_tool import LeftOut, select_tools
from visceral_cli.rules.exports.target import Target

BY_IDENTITY = [Target.FASTMCP, Target.LANGGRAPH, Target.CREWAI]


def whys(rules, target=Target.FASTMCP):
    selection = select_tools(rules, target)
    assert selection.tools == ()
    return [one.why for one in selection.left_out]


def test_a_tool_is_kept_for_the_identities_of_its_rules(make_rule):
    basel, bern = make_rule(seconds=600), make_rule(arguments={"city": "Bern"}, seconds=60)
    for target in BY_IDENTITY:
        (tool,) = select_tools([basel, bern], target).tools
        assert tool.seconds == {basel.match.input_hash: 599, bern.match.input_hash: 59}
        assert (tool.any_arguments, tool.namespaces, tool.vary) == (None, ("shop",), None)
    assert select_tools([bern, basel], Target.AGNO) == select_tools([basel, bern], Target.AGNO)


@pytest.mark.parametrize(
    ("seconds", "longest", "kept"),
    [(2.0, 1.0, 1), (2.49, 0.5, 1), (2.5, 0.5, 2), (1.99, 1.0, None), (600, 600, None)],
)
def test_the_longest_call_is_taken_off_and_the_rest_rounded_down(make_rule, seconds, longest, kept):
    selection = select_tools([make_rule(seconds=seconds, longest=longest)], Target.FASTMCP)
    assert [tool.shortest_seconds for tool in selection.tools] == ([] if kept is None else [kept])
    assert len(selection.left_out) == (kept is None)


def test_the_shorter_of_the_rule_and_what_holds_without_writers_counts(make_rule):
    without = {"freshness_seconds": 50, "longest_call_seconds": 0, "any_arguments": True}
    (tool,) = select_tools([make_rule(seconds=600, plain=without)], Target.CREWAI).tools
    assert tool.any_arguments == 50
    (tool,) = select_tools([make_rule(seconds=40, plain=without)], Target.CREWAI).tools
    assert tool.any_arguments == 40


@pytest.mark.parametrize("scope", [one for one in Sharing if one is not Sharing.ALL])
@pytest.mark.parametrize("target", Target)
def test_a_rule_that_does_not_hold_for_all_who_ask_has_no_place(make_rule, scope, target):
    (why,) = whys([make_rule(scope=scope, any_arguments=True)], target)
    assert why.startswith(f"results may pass within one {scope} only, and ")


@pytest.mark.parametrize("target", Target)
def test_a_result_that_a_writer_changes_has_no_place(make_rule, target):
    plain = {"freshness_seconds": 600, "longest_call_seconds": 0, "any_arguments": True}
    (why,) = whys([make_rule(plain=plain | {"cleared_by": ["set_city", "b\n"]})], target)
    assert why.startswith("results change after 'set_city', 'b\\n', and ")
    (why,) = whys([make_rule(plain={"missing": "3 of 9 were stale", "cleared_by": []})], target)
    assert why.endswith("voids nothing when a writer runs, and without that: 3 of 9 were stale")


def test_a_rule_that_does_not_say_what_holds_without_writers_has_no_place(make_rule):
    rule = make_rule()
    for evidence in (
        None,
        {},
        {"plain_cache": None},
        {"plain_cache": {}},
        {"plain_cache": {"freshness_seconds": "600", "longest_call_seconds": 0}},
        {"plain_cache": {"freshness_seconds": True, "longest_call_seconds": 0}},
        {"plain_cache": {"freshness_seconds": float("nan"), "longest_call_seconds": 0}},
        {"plain_cache": {"freshness_seconds": 600}},
        {"plain_cache": {"freshness_seconds": 600, "longest_call_seconds": 0, "vary": []}},
        {"plain_cache": {"freshness_seconds": 600, "longest_call_seconds": 0, "vary": "city"}},
    ):
        (why,) = whys([replace(rule, evidence=evidence)])
        assert why.endswith("write the rules anew with this version")
    nameless = replace(rule, action=Action("reuse_cached_result"))
    assert whys([nameless])[0].endswith("write the rules anew with this version")


def test_candidates_and_rules_about_system_prompts_have_no_place(make_rule):
    assert whys([replace(make_rule(), status=RuleStatus.CANDIDATE)]) == [
        "a candidate, which nothing may serve yet"
    ]
    assert whys([replace(make_rule(), kind=RuleKind.SUPPRESS_DEAD)]) == [
        "it holds for one system prompt, which FastMCP does not look at"
    ]


def test_rules_of_two_versions_or_two_vary_have_no_place(make_rule):
    assert whys([make_rule(version="1"), make_rule(version="2")]) == [
        "its rules are of several versions ('1' and '2'), and FastMCP does not look at versions"
    ]
    assert whys([make_rule(version=None), make_rule(version="2")]) == [
        "its rules are of several versions ('2' and none), and FastMCP does not look at versions"
    ]
    assert whys([make_rule(vary=["city"]), make_rule(arguments={"city": "Bern"})]) == [
        "its rules are of several declarations of vary"
    ]


def test_agno_gets_only_what_is_proven_for_any_arguments(make_rule):
    whole = [make_rule(any_arguments=True), make_rule(arguments={"x": 1}, any_arguments=True)]
    (tool,) = select_tools(whole, Target.AGNO).tools
    assert tool.any_arguments == 1
    for rules in (
        [make_rule()],
        [*whole, make_rule(arguments={"x": 2})],
        [*whole, make_rule(arguments={"x": 2}, any_arguments=True, namespace="other")],
    ):
        assert whys(rules, Target.AGNO) == [
            "it is proven for some arguments only, and Agno caches a tool whatever they are"
        ]


def test_where_one_rule_is_left_out_no_other_argument_is_taken_for_it(make_rule):
    missing = make_rule(arguments={"x": 1}, plain={"missing": "1 of 9 was stale"})
    whole = make_rule(any_arguments=True)
    (tool,) = select_tools([whole, missing], Target.FASTMCP).tools
    assert tool.any_arguments is None
    assert list(tool.seconds) == [whole.match.input_hash]
    assert len(whys([whole, missing], Target.AGNO)) == 2


def test_what_is_left_out_is_counted_by_tool_and_reason(make_rule):
    rules = [
        make_rule("b", scope=Sharing.USER),
        make_rule("b", {"x": 1}, scope=Sharing.USER),
        make_rule("b", {"x": 2}, scope=Sharing.RUN),
        make_rule("a", scope=Sharing.USER),
        make_rule("c"),
    ]
    selection = select_tools(rules, Target.LANGGRAPH)
    assert [(one.tool, one.rules) for one in selection.left_out] == [("a", 1), ("b", 1), ("b", 2)]
    assert selection.rules_left_out == 4
    assert all(isinstance(one, LeftOut) for one in selection.left_out)
    assert [tool.name for tool in selection.tools] == ["c"]


def test_of_two_rules_for_one_identity_the_shorter_counts(make_rule):
    rules = [make_rule(seconds=60), make_rule(seconds=600, namespace="other")]
    for given in (rules, rules[::-1]):
        (tool,) = select_tools(given, Target.FASTMCP).tools
        assert list(tool.seconds.values()) == [59]
        assert tool.namespaces == ("other", "shop")
