"""What a runtime recorded, held against what the traces tell."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.sequential import RuleState
from visceral_cli.contract.rule import Sharing
from visceral_cli.verify.outcome import Cause, Outcome, Recorded


def only(history, *rules, **asked):
    """Return the one recorded serve."""
    (serve,) = history.verify(*rules, **asked).serves
    return serve


def test_a_verify_sample_that_the_replay_confirms(recorded, call, rule):
    history = recorded(call(0), call(10, verify_match=True))
    serve = only(history, rule())
    assert (serve.recorded, serve.replayed, serve.cause) == (Recorded.MATCH, Recorded.MATCH, None)
    assert (serve.decision_id, serve.age_seconds) == ("r-get_weather-a", 10)


def test_a_served_call_is_found_by_its_decision(recorded, call, rule):
    served = call(
        10, arguments=None, result=None, served_decision_id="r-get_weather-a", verify_match=None
    )
    verification = recorded(call(0), served).verify(rule())
    assert [serve.cause for serve in verification.serves] == [None]
    assert verification.rules[0].recorded == {Recorded.SERVED: 1}
    assert verification.rules[0].calls == 1  # the served span is no call of the replay


@pytest.mark.parametrize(
    ("before", "sample", "replayed", "cause"),
    [
        ([(0, "r")], ("r", True, 70), Recorded.MATCH, Cause.BEYOND_FRESHNESS),
        ([], ("r", True, 10), None, Cause.NOT_IN_TRACES),
        ([(0, "s")], ("r", True, 10), None, Cause.NOT_IN_TRACES),
        ([(0, "r")], ("r", False, 10), None, Cause.NOT_IN_TRACES),
        ([(0, "r")], (None, True, 10), None, Cause.RESULT_UNKNOWN),
        ([(0, "r"), (9, "s")], ("r", True, 10), Recorded.MATCH, Cause.EXPORT_DELAY),
        ([(0, "r"), (9, "s")], ("s", False, 10), Recorded.MISMATCH, Cause.EXPORT_DELAY),
        ([(0, "r"), (1, "s"), (2, "s")], ("r", True, 10), Recorded.MATCH, Cause.OLDER_RESULT),
    ],
    ids=[
        "older than the rule allows",
        "nothing was stored",
        "another result was stored",
        "only an equal result was stored",
        "real result not known",
        "newest result too young to be known",
        "mismatch with what was known",
        "two results behind",
    ],
)
def test_every_disagreement_has_its_cause(recorded, call, rule, before, sample, replayed, cause):
    result, matched, start = sample
    history = recorded(
        *(call(at, result=stored) for at, stored in before),
        call(start, result=result, verify_match=matched),
    )
    serve = only(history, rule())
    assert (serve.replayed, serve.cause) == (replayed, cause)


def test_a_writer_between_is_a_cause(recorded, call, rule):
    writer = call(5, 6, tool="send_mail", arguments=None, readonly=False)
    serve = only(recorded(call(0), writer, call(10, verify_match=True)), rule())
    assert serve.cause is Cause.AFTER_WRITER


def test_a_result_of_another_user_is_a_cause(recorded, call, rule):
    history = recorded(
        call(0, user="ann", run="one"),
        call(10, user="bob", run="two", verify_match=True),
        call(
            20,
            user="bob",
            run="three",
            arguments=None,
            result=None,
            served_decision_id="r-get_weather-a",
        ),
    )
    serves = history.verify(rule(scope=Sharing.USER)).serves
    assert [serve.cause for serve in serves] == [Cause.OUTSIDE_SCOPE, None]
    assert [serve.cause for serve in history.verify(rule()).serves] == [None, None]
    by_run = history.verify(rule(scope=Sharing.RUN)).serves
    assert [serve.cause for serve in by_run] == [Cause.OUTSIDE_SCOPE, Cause.OUTSIDE_SCOPE]


def test_a_rule_that_is_not_in_the_document_is_a_cause(recorded, call, rule):
    gone = call(10, arguments=None, result=None, served_decision_id="r-gone")
    serve = only(recorded(call(0), gone), rule())
    assert (serve.cause, serve.decision_id) == (Cause.NO_RULE, "r-gone")


def test_a_suppress_rule_is_judged_by_what_was_recorded(recorded, call, suppress_rule):
    history = recorded(
        call(0, result="r"),
        call(10, arguments="b", result="s", served_decision_id="r-suppress", verify_match=False),
        call(80, arguments="c", result="r", served_decision_id="r-suppress", verify_match=False),
    )
    verification = history.verify(suppress_rule())
    (found,) = verification.rules
    assert (found.replayed, found.calls) == (False, 0)
    assert found.judgement.state is RuleState.BROKEN
    first, second = verification.serves
    assert (first.replayed, first.cause) == (Recorded.MISMATCH, None)
    assert (second.replayed, second.cause) == (Recorded.MISMATCH, Cause.BEYOND_FRESHNESS)


def test_what_was_recorded_counts_once_and_beats_the_replay(recorded, call, rule):
    history = recorded(
        call(0), call(61, result="s"), call(130, verify_match=True), call(200, verify_match=False)
    )
    (found,) = history.verify(rule(freshness=100)).rules
    assert found.outcomes == {
        Outcome.NO_RESULT: 1,
        Outcome.MISMATCHED: 1,
        Outcome.EXPIRED: 1,
        Outcome.MATCHED: 1,
    }
    # 61: mismatch; 130: less than a freshness later, not counted; 200: recorded as mismatch.
    assert (found.judgement.samples, found.judgement.mismatches) == (2, 2)
