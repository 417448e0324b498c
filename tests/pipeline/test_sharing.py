"""Who may share a result: from the spans to the rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visceral_cli.contract.rule import Sharing, rule_to_json
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


@pytest.mark.parametrize(("count", "scope"), [(298, "run"), (299, "all"), (300, "all")])
def test_sharing_between_users_needs_the_evidence_of_a_freshness(count, scope, analyze, spans):
    # Nobody asks twice, so nothing is known of two runs of one user either.
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
        "answers depend on who asks: 100 of 100 pairs of calls of different users at most 1 min "
        "apart differ, 0 of 320 of one user at least as far apart; "
        "320 results of other runs compared, 0 stale"
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


CIRCLES = (
    # second, service, user, session, run: each call but the second crosses one scope more
    (0, "shop", "u-0", "s-0", 0),
    (10, "shop", "u-0", "s-0", 0),
    (20, "shop", "u-0", "s-0", 1),
    (30, "shop", "u-0", "s-1", 2),
    (40, "shop", "u-1", "s-2", 3),
    (50, "desk", "u-1", "s-3", 4),
)


@pytest.fixture
def circles(tool_span):
    """Return a function that asks ``count`` questions in every circle; ``answer`` is by call."""

    def asked(answer, count=320):
        return [
            tool_span(
                1000 * i + at,
                {"order": i},
                answer(service=service, user=user, session=session, run=run),
                run=10 * i + run,
                service=service,
                attributes={
                    "user.id": f"{user}-{i % 7}",
                    "session.id": f"{session}-{i}",
                    "team": "t",
                },
            )
            for i in range(count)
            for at, service, user, session, run in CIRCLES
        ]

    return asked


NO_NAMESPACE = replace(SETTINGS, extract=replace(SETTINGS.extract, namespace_attribute=None))
ONE_TEAM = replace(SETTINGS, extract=replace(SETTINGS.extract, namespace_attribute="team"))


@pytest.mark.parametrize(
    ("scope", "answer", "served"),
    [
        ("run", lambda run, **_: run, 1),
        ("session", lambda session, **_: session, 2),
        ("user", lambda user, **_: user, 3),
        ("service", lambda service, **_: service, 4),
        ("all", lambda **_: "same", 5),
    ],
)
def test_the_widest_scope_in_which_equal_questions_got_equal_answers_is_found(
    scope, answer, served, analyze, circles
):
    report = analyze(circles(answer), NO_NAMESPACE)
    assert scope_of(report) == (scope, True)
    assert {rule.match.scope for rule in report.rules} == {Sharing(scope)}
    assert (report.savings.calls, report.savings.stale_calls) == (320 * served, 0)
    (sharing,) = report.sharing
    steps = {step.between: step for step in sharing.steps}
    for between in ("run", "session", "user", "service")[: served - 1]:
        assert (steps[between].pairs, steps[between].differing) == (320, 0)
        assert steps[between].differing_rate_at_most == pytest.approx(0.009318, abs=1e-6)
    if scope == "all":
        assert steps["service"].verdict == "proven"
    else:
        assert (steps[scope].verdict, steps[scope].differing) == ("depends", 320)
        assert "answers depend on" in sharing.why


def test_what_speaks_for_the_scope_is_in_the_evidence_of_a_rule(analyze, circles):
    report = analyze(circles(lambda service, **_: service), NO_NAMESPACE)
    evidence = report.rules[0].evidence
    assert evidence["scope_found"] == (
        "answers depend on the service: 320 of 320 pairs of calls of different services at most "
        "10 s apart differ, 0 of 1,280 of one service at least as far apart; "
        "320 results of other users compared, 0 stale"
    )
    assert evidence["scope_pairs"] == 320
    assert evidence["scope_pairs_differing"] == 0
    assert evidence["scope_stale_rate_at_most"] == pytest.approx(0.009318, abs=1e-6)
    written = rule_to_json(report.rules[0])["config"]
    assert (written["schema"], written["match"]["scope"]) == (2, "service")


def test_in_a_namespace_of_several_services_they_are_told_apart_too(analyze, circles):
    assert scope_of(analyze(circles(lambda service, **_: service), ONE_TEAM)) == ("service", True)


def test_within_the_namespace_of_a_service_there_is_no_wider_scope_than_all(analyze, circles):
    report = analyze(circles(lambda service, **_: service), SETTINGS)
    found = {one.namespace: (one.scope, one.judged) for one in report.sharing}
    # At the desk each question is asked once.
    assert found == {"shop": ("all", True), "desk": ("run", True)}


@pytest.mark.parametrize(
    ("scope", "answer"),
    [
        ("session", lambda session, **_: session),
        ("user", lambda user, **_: user),
        ("all", lambda **_: "same"),
    ],
)
def test_the_word_that_answers_do_not_depend_on_who_asks_is_tested_too(
    scope, answer, analyze, circles
):
    nobody = replace(NO_NAMESPACE, answers_depend_on_who=False)
    assert scope_of(analyze(circles(answer), nobody)) == (scope, True)


def test_sharing_between_services_needs_the_evidence_of_a_freshness(analyze, circles):
    report = analyze(circles(lambda **_: "same", count=298), NO_NAMESPACE)
    # 298 is one too few to pass between users, or services; within a user 30 are enough.
    assert scope_of(report) == ("user", True)
    nobody = replace(NO_NAMESPACE, answers_depend_on_who=False)
    assert scope_of(analyze(circles(lambda **_: "same", count=298), nobody)) == ("service", True)


@pytest.mark.parametrize(("count", "scope"), [(29, "run"), (30, "user"), (31, "user")])
def test_within_one_user_thirty_results_in_thirty_runs_have_to_be_compared(
    count, scope, analyze, circles
):
    assert scope_of(analyze(circles(lambda **_: "same", count), NO_NAMESPACE)) == (scope, True)


def test_a_result_that_changed_is_shared_between_users_while_it_is_fresh(analyze, tool_span):
    times = ((0, "u-0"), (30, "u-1"), (3000, "u-0"), (3030, "u-1"))
    made = [
        tool_span(
            10_000 * i + at,
            {"order": i},
            "before" if at < 1800 else "after",
            run=4 * i + n,
            attributes={"user.id": user},
        )
        for i in range(320)
        for n, (at, user) in enumerate(times)
    ]
    report = analyze(made, SETTINGS)
    assert scope_of(report) == ("all", True)
    assert {rule.action.freshness_seconds for rule in report.rules} == {30}
    assert (report.savings.calls, report.savings.stale_calls) == (640, 0)


def test_a_change_between_users_who_ask_far_apart_is_not_called_a_dependence(analyze, tool_span):
    times = ((0, "u-0"), (10, "u-0"), (3000, "u-1"), (3010, "u-1"))
    made = [
        tool_span(
            10_000 * i + at,
            {"order": i},
            "before" if at < 1800 else "after",
            run=4 * i + n,
            attributes={"user.id": user},
        )
        for i in range(320)
        for n, (at, user) in enumerate(times)
    ]
    report = analyze(made, SETTINGS)
    assert scope_of(report) == ("user", True)
    (sharing,) = report.sharing
    assert "depend" not in sharing.why
    assert sharing.why.startswith("sharing between users is not proven: ")
    assert report.savings.stale_calls == 0


def test_a_run_of_several_users_shares_nothing_between_them(analyze, spans):
    made = spans(who=two_users, result=lambda i, user: user, same_run=True)
    report = analyze(made, replace(SETTINGS, scope="trace"))
    assert report.savings.calls == 0
    assert report.rules == ()


def test_a_session_of_several_runs_that_differ_is_no_scope(analyze, tool_span):
    made = [
        tool_span(
            1000 * i + at, {"order": i}, run, run=2 * i + run, attributes={"session.id": f"s-{i}"}
        )
        for i in range(320)
        for at, run in ((0, 0), (10, 0), (20, 1), (30, 1))
    ]
    report = analyze(made, SETTINGS)
    assert scope_of(report) == ("run", False)
    (sharing,) = report.sharing
    assert sharing.why == (
        "answers depend on the run: 320 of 320 pairs of calls of different runs at most 10 s "
        "apart differ, 0 of 640 of one run at least as far apart; "
        "no span names a user, so whether users may share a result could not be judged"
    )
    assert report.savings.calls == 640
    assert report.savings.stale_calls == 0


def test_a_question_asked_in_many_runs_is_left_out_only_if_it_changes_often(analyze, tool_span):
    # The one stale answer is the only one that its run was served; of its question it is 1 in 100.
    made = [
        tool_span(1000 * i + at, {"order": i % 10}, at if i == 500 else 0, run=i)
        for i in range(1000)
        for at in (0, 60)
    ]
    report = analyze(made, SETTINGS)
    assert scope_of(report) == ("run", False)
    assert len(report.rules) == 10
    assert (report.savings.calls, report.savings.stale_calls) == (1000, 1)
