"""Where a measured number meets its limit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.gate.check import UNITS, check_limits, comparison, exact, is_passed, rounded
from visceral_cli.gate.finding import CheckKind, State, Subject
from visceral_cli.settings import Limits

RATE = UNITS[CheckKind.DUPLICATE_RATE]


@pytest.mark.parametrize(
    ("repeats", "is_broken"), [(19, False), (20, False), (21, True)], ids=["inside", "at", "past"]
)
def test_a_limit_may_be_reached_but_not_passed(tool, repeats, is_broken):
    (case,) = check_limits(
        Limits(duplicate_rate=Fraction(1, 5)), {}, [tool(calls=100, repeats=repeats)], [], []
    )
    assert (case.state is State.BROKEN) is is_broken
    assert case.kind is CheckKind.DUPLICATE_RATE
    assert case.detail == f"{repeats} of 100 calls"
    assert (case.measured, case.allowed) == (Fraction(repeats, 100), Fraction(1, 5))


@pytest.mark.parametrize(
    ("repeats", "is_broken"), [(6, False), (7, False), (8, True)], ids=["inside", "at", "past"]
)
def test_repeats_are_counted(tool, repeats, is_broken):
    (case,) = check_limits(Limits(repeats=7), {}, [tool(calls=9, repeats=repeats)], [], [])
    assert (case.state is State.BROKEN) is is_broken


@pytest.mark.parametrize(
    ("seconds", "is_broken"),
    [(89.999999999, False), (90.0, False), (90.000000001, True)],
    ids=["inside", "at", "past"],
)
def test_time_is_exact_to_the_nanosecond(tool, seconds, is_broken):
    (case,) = check_limits(
        Limits(avoidable_seconds=Fraction(90)),
        {},
        [tool(calls=9, same_result=4, repeat_seconds=seconds)],
        [],
        [],
    )
    assert (case.state is State.BROKEN) is is_broken
    assert case.detail == "4 repeats with the same result"


@pytest.mark.parametrize(
    ("cost", "state"),
    [(0.29, State.KEPT), (0.3, State.KEPT), (0.300000001, State.BROKEN), (None, State.UNJUDGED)],
)
def test_money_is_exact_and_without_a_price_nothing_is_judged(tool, per_run, cost, state):
    from visceral_cli.analysis.figures import Projection

    row = per_run(Projection(0.0, None, None, 1), cost=cost)
    (case,) = check_limits(
        Limits(cost_usd=Fraction("0.3")), {}, [tool(calls=2, repeats=1)], [row], []
    )
    assert case.state is state


def test_tools_are_added_up_before_they_are_compared(tool):
    tools = [tool(tool=name, calls=3, repeats=1) for name in ("a", "b", "c")]
    (case,) = check_limits(Limits(duplicate_rate=Fraction(1, 3)), {}, tools, [], [])
    assert (case.state, case.message) == (State.KEPT, "33.333333333333333% <= 33.333333333333333%")


def test_a_limit_of_one_tool_holds_for_it_alone_in_every_namespace(tool):
    tools = [
        tool(calls=10, repeats=9),
        tool(namespace="docs", calls=10, repeats=1),
        tool(tool="other", calls=10, repeats=10),
    ]
    limits = {"search": Limits(repeats=5), "absent": Limits(repeats=0)}
    cases = check_limits(Limits(), limits, tools, [], [])
    assert [(case.subject, case.state) for case in cases] == [
        (Subject(tool="absent"), State.UNJUDGED),
        (Subject("docs", "search"), State.KEPT),
        (Subject("shop", "search"), State.BROKEN),
    ]


def test_a_tool_and_a_retriever_of_one_name_are_held_to_the_limit_together(tool):
    tools = [tool(calls=10, repeats=3), tool(kind="retriever", calls=10, repeats=3)]
    (case,) = check_limits(Limits(), {"search": Limits(repeats=5)}, tools, [], [])
    assert (case.state, case.measured) == (State.BROKEN, 6)


def test_what_is_broken_names_the_largest_groups(tool, group):
    groups = [
        group(input_hash=f"{number:064x}", repeats=number, calls=number + 1, repeat_seconds=9.0)
        for number in range(1, 8)
    ]
    (case,) = check_limits(Limits(repeats=1), {}, [tool(calls=99, repeats=28)], [], groups)
    assert [evidence.what for evidence in case.evidence] == [
        f"{number} repeats in {number + 1} calls" for number in (7, 6, 5, 4, 3)
    ]
    (kept,) = check_limits(Limits(repeats=99), {}, [tool(calls=99, repeats=28)], [], groups)
    assert kept.evidence == ()


def test_evidence_of_a_tool_is_of_this_tool(tool, group):
    groups = [group(tool="other", repeats=9), group(repeats=2), group(namespace="docs", repeats=5)]
    (case,) = check_limits(
        Limits(), {"search": Limits(repeats=1)}, [tool(calls=9, repeats=2)], [], groups
    )
    assert [evidence.what for evidence in case.evidence] == ["2 repeats in 2 calls"]


@pytest.mark.parametrize(
    ("measured", "allowed", "said"),
    [
        ("71/312", "1/5", "22.8% > 20.0%"),
        ("0.2001", "0.2", "20.01% > 20.00%"),
        ("0.2", "0.2", "20.0% <= 20.0%"),
        ("1/3", "0.3333", "33.333% > 33.330%"),
        ("0", "0.2", "0.0% <= 20.0%"),
        ("0.199999", "0.2", "19.9999% <= 20.0000%"),
        ("0.20500000001", "0.205", "20.500000001% > 20.500000000%"),
    ],
)
def test_the_printed_comparison_has_as_many_digits_as_it_takes(measured, allowed, said):
    assert comparison(Fraction(measured), Fraction(allowed), RATE) == said


shares = st.fractions(min_value=0, max_value=1, max_denominator=10**9)
decimals = st.decimals(min_value=0, max_value=10**6, places=6).map(Fraction)


@given(measured=shares | decimals, allowed=decimals, kind=st.sampled_from(sorted(UNITS)))
def test_the_printed_comparison_is_true(measured, allowed, kind):
    text = comparison(measured, allowed, UNITS[CheckKind(kind)])
    plain = "".join(letter for letter in text if letter in "0123456789.<>= ")
    one, sign, other = plain.split()
    assert (sign == ">") is is_passed(measured, allowed)
    assert (Fraction(one) > Fraction(other)) is (sign == ">")
    assert Fraction(other) == allowed * UNITS[CheckKind(kind)].scale


@given(st.integers(min_value=0, max_value=2**53))
def test_nanoseconds_come_back_from_seconds(nanoseconds):
    assert exact(nanoseconds / 1e9) == Fraction(nanoseconds, 10**9)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        ("1234.5", 1, "1,234.5"),
        ("0.05", 1, "0.0"),
        ("0.15", 1, "0.2"),
        ("-0.04", 1, "0.0"),
        ("-2.5", 1, "-2.5"),
        ("2", 0, "2"),
    ],
)
def test_numbers_are_rounded_exactly(value, digits, text):
    assert rounded(Fraction(value), digits) == text
