"""What is said of arguments, in the words of a report."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from visceral_cli.analysis.figures import Example, FindingKind, VaryFigures
from visceral_cli.analysis.judge_arguments import ArgumentJudgement, in_words

FOUND = VaryFigures(
    namespace="shop",
    tool="get_order",
    kind="tool",
    vary=("customer_id",),
    left_out=("request_id",),
    proven=True,
    needs_review=(),
    pairs=1380,
    differing=0,
    calls=1500,
    more_reusable=412,
    freshness_seconds=300,
    stale_rate_at_most=0.005,
    serves=500,
    stale=0,
    effective_observations=400,
    missing=None,
    witnesses=(Example("t1", "s1", "t2", "s2"),),
    counter_examples=(),
)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            FOUND,
            'vary = ["customer_id"] would make 412 more calls reusable; '
            "1,380 pairs differ only in request_id, none in the result",
        ),
        (
            replace(FOUND, differing=3, left_out=("request_id", "user")),
            'vary = ["customer_id"] would make 412 more calls reusable; '
            "1,380 pairs differ only in request_id, user, 3 in the result",
        ),
        (
            replace(FOUND, left_out=("user_id",), needs_review=("user_id",)),
            'vary = ["customer_id"] would make 412 more calls reusable; 1,380 pairs differ only '
            "in user_id, none in the result; needs review: user_id may tell who asks",
        ),
        (
            replace(FOUND, proven=False, missing="20 of 30 runs"),
            'vary = ["customer_id"] may be enough, but it is not proven (20 of 30 runs); '
            "1,380 pairs differ only in request_id, none in the result",
        ),
    ],
    ids=["proven", "some differ", "who asks", "not proven"],
)
def test_a_proposal_is_one_sentence_with_both_numbers(found, said):
    assert in_words(found) == said


def test_a_proposal_is_a_finding_with_the_calls_it_gains():
    (finding,) = ArgumentJudgement((FOUND,)).findings()
    assert finding.kind is FindingKind.SMALLER_KEY
    assert (finding.namespace, finding.tool, finding.calls) == ("shop", "get_order", 412)
    assert finding.trace_ids == ("t1", "t2")
    assert finding.span_ids == ("s1", "s2")


def test_one_that_is_not_proven_counts_all_calls():
    (finding,) = ArgumentJudgement((replace(FOUND, proven=False),)).findings()
    assert finding.calls == 1500
