"""Rules of two services for one call: from the spans to the document."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from visceral_cli.rules.refusal import RefusalKind
from visceral_cli.rules.rules_file import rules_text
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

DECLARED = {"get_order": ToolDeclaration(read_only=True, replay_safe=True)}
SETTINGS = Settings(extract=ExtractSettings(tools=DECLARED), answers_depend_on_who=False)


@pytest.fixture
def spans(tool_span):
    """Return a function that asks 320 questions twice in a service, ``age`` seconds apart."""

    def asked(service, *, begin=0, age=60, count=320, result=lambda i: "same", first_run=0):
        return [
            tool_span(
                begin + 1000 * i + age * again,
                {"order": i},
                result(i),
                run=first_run + 2 * i + again,
                attributes={"service.name": service},
            )
            for i in range(count)
            for again in (0, 1)
        ]

    return asked


@pytest.fixture
def two(analyze, spans):
    """Return a function that analyses the calls of two services that take turns."""

    def report_of(settings=SETTINGS, **more):
        other = {"begin": 10, "first_run": 10_000} | more
        return analyze([*spans("desk"), *spans("web", **other)], settings)

    return report_of


def differing(report):
    return [one for one in report.refusals if one.kind is RefusalKind.NAMESPACES_DIFFER]


def test_where_results_agree_there_is_one_rule_with_the_shorter_freshness(two):
    report = two(age=40)
    assert differing(report) == []
    assert len(report.rules) == 640
    assert {rule.match.namespace for rule in report.rules} == {"desk", "web"}
    assert {rule.action.freshness_seconds for rule in report.rules} == {40}
    assert {rule.evidence["compared_between"] for rule in report.rules} == {2}
    assert {tuple(rule.evidence["agrees_with"]) for rule in report.rules} == {("desk",), ("web",)}

    written = json.loads(rules_text(report.rules))["rules"]
    assert len(written) == 320
    assert {tuple(rule["config"]["match"]["namespaces"]) for rule in written} == {("desk", "web")}
    assert {rule["config"]["action"]["freshness_seconds"] for rule in written} == {40}
    evidence = written[0]["evidence"]
    assert (evidence["calls"], evidence["saved_calls"]) == (4, 1)  # of the desk none: 60 s apart
    assert set(evidence["by_namespace"]) == {"desk", "web"}


def test_where_results_differ_both_rules_are_refused(two):
    report = two(result=lambda i: "other" if i < 2 else "same")
    refused = differing(report)
    assert len(refused) == 4
    assert {(one.namespace, one.input_hash) for one in refused} == {
        (namespace, one.input_hash) for one in refused for namespace in ("desk", "web")
    }
    assert {one.message for one in refused} == {
        "3 of 3 results in desk and web, no further apart than the freshness, differ, and clients "
        "of the SDK know no namespace"
    }
    assert all("--namespace none" in one.next_step for one in refused)
    assert len(json.loads(rules_text(report.rules))["rules"]) == 318
    assert {one.input_hash for one in refused}.isdisjoint(
        rule.match.input_hash for rule in report.rules
    )


def test_namespaces_that_were_never_told_the_same_do_not_agree(two):
    refused = differing(two(begin=400_000, result=lambda i: "other" if i < 2 else "same"))
    assert len(refused) == 4
    assert {one.message for one in refused} == {
        "no result in desk was found equal to the next one in web, and clients of the SDK know no "
        "namespace"
    }


def test_a_rule_of_one_service_gives_way_to_other_results_in_a_service_without_rules(
    analyze, spans
):
    few = spans("web", begin=10, first_run=10_000, count=3, result=lambda i: "other")
    report = analyze([*spans("desk"), *few], SETTINGS)
    assert {(one.namespace, one.repeats) for one in differing(report)} == {("desk", 1)}
    assert len(report.rules) == 317


def test_a_rule_of_one_service_stays_where_another_was_told_the_same(analyze, spans):
    few = spans("web", begin=10, first_run=10_000, count=3)
    report = analyze([*spans("desk"), *few], SETTINGS)
    assert len(report.rules) == 320
    assert not any("agrees_with" in rule.evidence for rule in report.rules)


def test_rules_for_one_run_only_stay_apart_as_no_client_of_the_sdk_uses_them(analyze, spans):
    def in_one_run(made):
        return [replace(span, run=span.run // 2) for span in made]

    depends = replace(SETTINGS, answers_depend_on_who=True)
    other = spans("web", begin=10, first_run=10_000, result=lambda i: "other")
    report = analyze([*in_one_run(spans("desk")), *in_one_run(other)], depends)
    assert {rule.match.namespace for rule in report.rules} == {"desk", "web"}
    assert differing(report) == []
