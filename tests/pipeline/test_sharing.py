"""Who may share a result: from the spans to the rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.contract.rule import Sharing
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

DECLARED = {"get_order": ToolDeclaration(read_only=True, replay_safe=True)}
SETTINGS = Settings(extract=ExtractSettings(tools=DECLARED))
NOBODY = replace(SETTINGS, answers_depend_on_who=False)


@pytest.fixture
def spans(tool_span):
    """Return a function that asks ``count`` questions twice, 60 s apart, in two runs each.

    ``who`` returns the user of the first and the second call, ``result`` what a user is told.
    """

    def asked(
        count=320,
        who=lambda i, again: None,
        result=lambda i, user: "same",
        attribute="user.id",
        same_run=False,
        **attributes,
    ):
        made = []
        for i in range(count):
            for again in (0, 1):
                user = who(i, again)
                told = dict(attributes) | ({} if user is None else {attribute: user})
                run = 2 * i + (0 if same_run else again)
                made.append(
                    tool_span(
                        1000 * i + 60 * again,
                        {"order": i},
                        result(i, user),
                        run=run,
                        attributes=told,
                    )
                )
        return made

    return asked


def two_users(i, again):
    return f"u-{again}"


def one_user_each(i, again):
    return f"u-{i}"


def scope_of(report):
    (sharing,) = report.sharing
    return sharing.scope, sharing.judged


def test_results_of_other_users_that_were_compared_may_be_shared_by_all(analyze, spans):
    report = analyze(spans(who=two_users), SETTINGS)
    assert scope_of(report) == ("all", True)
    assert len(report.rules) == 320
    assert report.rules[0].match.scope is Sharing.ALL
    assert report.rules[0].evidence["scope_found"] == (
        "320 results of other users compared, 0 stale"
    )


@pytest.mark.parametrize(("count", "scope"), [(298, "user"), (299, "all"), (300, "all")])
def test_sharing_between_users_needs_the_evidence_of_a_freshness(count, scope, analyze, spans):
    assert scope_of(analyze(spans(count, who=two_users), SETTINGS)) == (scope, True)


def test_an_answer_that_depends_on_who_asks_is_never_shared_between_users(analyze, spans):
    mixed = spans(320, who=one_user_each, result=lambda i, user: user)
    other = [
        replace(span, start=span.start + 400_000, run=span.run + 10_000)
        for span in spans(100, who=two_users, result=lambda i, user: user)
    ]
    report = analyze(mixed + other, SETTINGS)
    assert scope_of(report) == ("user", True)
    (sharing,) = report.sharing
    assert sharing.why == (
        "answers depend on who asks: 100 of 100 pairs of calls of different users differ, "
        "0 of 320 of the same user"
    )
    assert {rule.match.scope for rule in report.rules} == {Sharing.USER}
    # Only answers to the same user are given again.
    assert report.savings.calls == 320
    assert report.savings.stale_calls == 0


def test_without_users_results_stay_in_their_run_and_the_report_says_so(analyze, spans):
    across = analyze(spans(), SETTINGS)
    assert scope_of(across) == ("run", False)
    assert across.rules == ()
    assert across.savings.calls == 0
    (refusal,) = [one for one in across.refusals if one.kind.value == "no-repeats"]
    assert "within one run, as no span names a user" in refusal.message
    assert "--principal" in refusal.next_step

    within = analyze(spans(same_run=True), SETTINGS)
    assert {rule.match.scope for rule in within.rules} == {Sharing.RUN}
    assert within.savings.calls == 320


def test_sessions_share_where_every_call_names_one(analyze, spans):
    report = analyze(spans(**{"session.id": "s"}), SETTINGS)
    assert scope_of(report) == ("session", False)
    assert {rule.match.scope for rule in report.rules} == {Sharing.SESSION}


def test_the_user_may_say_that_answers_do_not_depend_on_who_asks(analyze, spans):
    report = analyze(spans(), NOBODY)
    assert scope_of(report) == ("all", True)
    assert report.savings.calls == 320


def test_the_user_may_name_the_attribute(analyze, spans):
    named = replace(SETTINGS, extract=replace(SETTINGS.extract, principal_attribute="shop.tenant"))
    made = spans(who=two_users, attribute="shop.tenant")
    assert scope_of(analyze(made, SETTINGS)) == ("run", False)
    assert scope_of(analyze(made, named)) == ("all", True)


def test_what_is_proven_in_a_scope_holds_for_other_arguments_only_if_many_were_asked(
    analyze, spans
):
    # One question of 320 users: whatever holds for it says nothing of another question.
    made = [
        replace(span, arguments={"order": 7}) for span in spans(who=one_user_each, same_run=True)
    ]
    report = analyze(made, SETTINGS)
    (bound,) = report.bounds
    assert bound.proven
    assert bound.scope == "identities"


def test_a_repeat_in_one_trace_is_the_scope_of_a_run(analyze, spans):
    report = analyze(spans(same_run=True), replace(SETTINGS, scope="trace"))
    assert scope_of(report) == ("run", True)
