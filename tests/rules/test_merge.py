"""Rules of several namespaces as one."""

import json
from dataclasses import replace

import pytest

from visceral_cli.contract.acceptance import read_rules
from visceral_cli.contract.identity import InputHash
from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Rule,
    RuleKind,
    RuleStatus,
    Sharing,
    decision_id,
    rule_from_json,
    rule_to_json,
)
from visceral_cli.rules.merge import in_each_namespace, merged, without
from visceral_cli.rules.rules_file import load_rules, rules_text

A, B = InputHash("a" * 64), InputHash("b" * 64)


def rule(namespace="shop", input_hash=A, *, seconds=600.0, scope=Sharing.ALL, **evidence):
    return Rule(
        decision_id=decision_id(namespace, "search", input_hash),
        kind=RuleKind.REUSE_IDENTITY,
        match=Match("search", input_hash=input_hash, hash_v=1, namespace=namespace, scope=scope),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action("reuse_cached_result", seconds, 0.05),
        evidence=evidence,
    )


def test_what_two_namespaces_grant_alike_becomes_one_rule_with_the_name_of_the_first():
    (one,) = merged([rule("a"), rule("b")])
    assert one.decision_id == rule("a").decision_id
    assert one.match == Match(
        "search", input_hash=A, hash_v=1, scope=Sharing.ALL, namespaces=("a", "b")
    )
    assert one.action == rule().action


@pytest.mark.parametrize(
    "other",
    [
        rule("b", B),
        rule("b", seconds=60.0),
        rule("b", scope=Sharing.USER),
        replace(rule("b"), guard=Guard(read_only=True, replay_safe=False)),
        replace(rule("b"), status=RuleStatus.CANDIDATE),
        replace(rule("b"), action=replace(rule().action, writers=Sharing.RUN)),
        replace(rule("b"), kind=RuleKind.SUPPRESS_DEAD),
        replace(rule("b"), match=Match("other", input_hash=A, hash_v=1, namespace="b")),
    ],
    ids=["identity", "freshness", "scope", "guard", "candidate", "writers", "kind", "tool"],
)
def test_what_is_not_alike_stays_as_it_is(other):
    assert merged([rule("a"), other]) == [rule("a"), other]


def test_rules_for_one_user_stay_apart():
    limited = [rule(name, scope=Sharing.USER) for name in "ab"]
    assert merged(limited) == limited


def test_the_order_of_the_others_stays():
    rules = [rule("a"), rule("a", B), rule("b"), rule("c"), rule("c", B)]
    found = [(one.match.input_hash, one.match.proven_in) for one in merged(rules)]
    assert found == [(A, ("a", "b", "c")), (B, ("a", "c"))]
    assert merged(merged(rules)) == merged(rules)


def test_a_rule_that_holds_everywhere_takes_the_others_in():
    (one,) = merged([rule(""), rule("b")])
    assert one.match.proven_in == ("",)
    assert one.match.holds_in("anything")


def test_the_evidence_is_the_weakest_with_counts_added_up():
    (one,) = merged(
        [
            rule("a", calls=3, saved_seconds=1.5, stale_rate_at_most=0.002, proven_for="tool"),
            rule("b", calls=4, saved_seconds=2.0, stale_rate_at_most=0.009, proven_for="tool"),
        ]
    )
    evidence = dict(one.evidence)
    assert set(evidence.pop("by_namespace")) == {"a", "b"}
    assert evidence == {
        "calls": 7,
        "saved_seconds": 3.5,
        "stale_rate_at_most": 0.009,
        "proven_for": "identities",
    }


def plain(**more):
    return {
        "freshness_seconds": 600,
        "longest_call_seconds": 1,
        "any_arguments": True,
        "vary": ["q"],
    } | more


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            plain(freshness_seconds=50, longest_call_seconds=2),
            plain(freshness_seconds=50, longest_call_seconds=2, any_arguments=False),
        ),
        (
            plain(cleared_by=["set"]),
            plain(any_arguments=False, cleared_by=["set"]),
        ),
        (
            {"missing": "no", "longest_call_seconds": 3},
            {"missing": "no", "longest_call_seconds": 3},
        ),
        (
            plain(vary=["r"]),
            {"missing": "its calls declare several vary", "longest_call_seconds": 1},
        ),
    ],
    ids=["shorter and slower", "a writer", "not proven", "other vary"],
)
def test_in_a_plain_cache_the_more_careful_counts(other, expected):
    for given in ((plain(), other), (other, plain())):
        (one,) = merged(
            [rule(name, plain_cache=each) for name, each in zip("ab", given, strict=True)]
        )
        assert one.evidence["plain_cache"] == expected
    (one,) = merged([rule("a", plain_cache=plain()), rule("b")])
    assert "plain_cache" not in one.evidence


def test_the_document_has_one_rule_that_the_sdk_uses_and_reads_back(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(rules_text([rule("a"), rule("b"), rule("a", B)]))
    written = json.loads(path.read_text())["rules"]
    assert [one["config"]["match"].get("namespaces") for one in written] == [["a", "b"], None]
    assert "namespace" not in written[0]["config"]["match"]
    assert [read.inert for read in read_rules(written)] == [None, None]
    assert load_rules(path) == merged([rule("a"), rule("b"), rule("a", B)])


def test_a_merged_rule_holds_in_its_namespaces_and_nowhere_else():
    (one,) = merged([rule("a"), rule("b")])
    assert [one.match.holds_in(name) for name in ("a", "b", "c", "")] == [True, True, False, False]
    assert rule_from_json(rule_to_json(one)) == one


def test_a_merged_rule_comes_apart_again():
    both = [rule("a"), rule("b")]
    apart = in_each_namespace(merged(both))
    assert [one.match for one in apart] == [one.match for one in both]
    assert in_each_namespace([rule("a")]) == [rule("a")]


def test_what_is_withdrawn_in_one_namespace_is_gone_where_it_would_be_one_rule():
    rules = [rule("a"), rule("b"), rule("b", B), rule("c", seconds=60.0)]
    assert without(rules, {rules[0].decision_id}) == rules[2:]
    limited = [rule(name, scope=Sharing.USER) for name in "ab"]
    assert without(limited, {limited[0].decision_id}) == limited[1:]
    assert without(rules, set()) == rules
