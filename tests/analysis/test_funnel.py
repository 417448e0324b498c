"""The funnel from all calls to the avoidable ones, and the savings it ends in."""

from __future__ import annotations

import numpy as np
import pytest

from visceral_cli.analysis.freshness import Bound, Scope, freshness_bounds
from visceral_cli.analysis.funnel import find_funnel
from visceral_cli.analysis.histories import histories
from visceral_cli.analysis.savings import savings_of
from visceral_cli.analysis.serving import (
    Permission,
    freshness_by_identity,
    permission_of,
    serve_calls,
)
from visceral_cli.analysis.spans import read_spans
from visceral_cli.analysis.verdicts import judge_calls
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import FreshnessSettings, Settings

SECOND = 1_000_000_000


def analysed(recorded_calls, proven_seconds=None, settings=None):
    """Return the funnel by name and the savings; proven and, where declared, ruled are the tools
    of ``proven_seconds``."""
    columns = recorded_calls.columns(settings)
    verdicts = judge_calls(columns, writers_of(columns))
    tree = read_spans(recorded_calls.store, columns)
    permissions = [
        Permission(code, proven_seconds[facts.name.tool] * SECOND)
        for code, facts in enumerate(columns.tools)
        if facts.name.tool in (proven_seconds or {})
    ]
    ruled = [one for one in permissions if columns.tools[one.tool].may_be_served]
    serving = serve_calls(columns, tree, freshness_by_identity(columns, ruled))
    steps = find_funnel(
        columns, verdicts, tree, freshness_by_identity(columns, permissions), serving
    )
    savings = savings_of(
        recorded_calls.store, columns, serving, wall_seconds=steps[-1].wall_seconds
    )
    return {step.name: step for step in steps}, savings


def counts(funnel):
    return {name: step.calls for name, step in funnel.items()}


def test_each_step_leaves_out_the_calls_that_one_test_more_is_against(recorded, call):
    told = {"readonly": True, "replay_safe": True}
    calls = recorded(
        call(0, 1, **told),  # the first: no repeat
        call(10, 11, result="other", **told),  # another result
        call(20, 21, result="other", **told),
        call(400, 401, result="other", **told),  # older than proven
        call(404, 405, tool="send_mail"),
        call(410, 411, result="other", **told),  # a writer came between
        call(500, 501, tool="get_time"),
        call(510, 511, tool="get_time"),  # not declared
        call(600, 601, tool="get_news", **told),
        call(610, 611, tool="get_news", **told),  # nothing proven
    )
    funnel, savings = analysed(calls, {"get_weather": 60, "get_time": 60})
    assert counts(funnel) == {
        "calls": 10,
        "repeats": 6,
        "same-result": 5,
        "within-freshness": 3,
        "no-writer-between": 2,
        "declared": 1,
        "avoidable": 2,
    }
    # Served are 10, wrongly, and 20; at 400 the tool runs, and at 410 the writer is against it.
    assert (savings.calls, savings.stale_calls) == (2, 2)


def test_the_last_step_is_what_the_rules_save(recorded, call, other_span):
    told = {"readonly": True, "replay_safe": True, "cost_usd": 0.25}
    calls = recorded(
        call(0, 2, **told), call(10, 14, **told), spans=[other_span(10, 11, "background")]
    )
    funnel, savings = analysed(calls, {"get_weather": 60})
    last = funnel["avoidable"]
    assert (last.calls, last.tool_seconds, last.wall_seconds, last.cost_usd) == (1, 4, 3, 0.25)
    assert (savings.calls, savings.tool_seconds) == (1, 4)
    assert (savings.wall_seconds, savings.cost_usd) == (3, 0.25)


def test_steps_count_time_on_the_wall_once(recorded, call):
    funnel, _ = analysed(recorded(call(0, 10), call(0, 4, arguments="b")))
    assert (funnel["calls"].tool_seconds, funnel["calls"].wall_seconds) == (14, 10)
    assert (funnel["repeats"].tool_seconds, funnel["repeats"].wall_seconds) == (0, 0)


def test_without_prices_no_step_has_a_cost_and_with_one_an_empty_step_costs_nothing(recorded, call):
    funnel, _ = analysed(recorded(call(0, 1)))
    assert {step.cost_usd for step in funnel.values()} == {None}
    funnel, savings = analysed(recorded(call(0, 1)), settings=Settings(prices={"get_weather": 2.0}))
    assert (funnel["calls"].cost_usd, funnel["repeats"].cost_usd, savings.cost_usd) == (2.0, 0, 0)


def test_a_retry_and_a_call_in_flight_are_no_savings(recorded, call):
    told = {"readonly": True, "replay_safe": True}
    failing = [call(t, t + 1, failed=t < 20, arguments="f", **told) for t in (0, 10, 20)]
    parallel = [call(50, 100, arguments="p", **told), call(60, 140, arguments="p", **told)]
    funnel, savings = analysed(recorded(*failing, *parallel), {"get_weather": 600})
    assert counts(funnel)["repeats"] == 1  # the one in flight
    assert (savings.calls, savings.in_flight_calls, savings.in_flight_seconds) == (0, 1, 40)


def test_traces_end_to_end_prove_a_bound_and_save_under_it(recorded, call):
    told = {"readonly": True, "replay_safe": True}
    calls = recorded(
        *(
            call(
                1000 * i + age, arguments=f"i{i}", run=f"run-{i:03}", end=1000 * i + age + 2, **told
            )
            for i in range(300)
            for age in (0, 60)
        )
    )
    columns = calls.columns()
    writers, tree = writers_of(columns), read_spans(calls.store, columns)
    (history,) = histories(columns)
    (bound,) = freshness_bounds([history.calls], writers, FreshnessSettings())
    assert isinstance(bound, Bound)
    assert (bound.freshness_seconds, bound.scope) == (60, Scope.TOOL)
    allowed = freshness_by_identity(columns, [permission_of(history, bound)])
    serving = serve_calls(columns, tree, allowed)
    verdicts = judge_calls(columns, writers)
    steps = find_funnel(columns, verdicts, tree, allowed, serving)
    assert [step.calls for step in steps] == [600, 300, 300, 300, 300, 300, 300]
    savings = savings_of(calls.store, columns, serving, wall_seconds=steps[-1].wall_seconds)
    assert (savings.tool_seconds, savings.wall_seconds) == (600, 600)
    assert savings.seconds_per_1000_runs is not None
    assert savings.seconds_per_1000_runs.mean == pytest.approx(2000)
    assert len(savings.by_identity) == 300


def test_an_analysis_of_nothing_has_all_steps(recorded):
    funnel, savings = analysed(recorded())
    assert set(counts(funnel).values()) == {0}
    assert (savings.calls, savings.seconds_per_1000_runs, savings.by_identity) == (0, None, {})


@pytest.mark.parametrize("scope", [Scope.TOOL, Scope.IDENTITIES])
def test_the_scope_of_a_bound_decides_which_identities_may_be_served(recorded, call, scope):
    from msgspec.structs import replace

    pairs = [
        call(1000 * i + age, arguments=f"i{i}", run=f"run-{i:03}")
        for i in range(300)
        for age in (0, 60)
    ]
    lone = call(400_000, tool="get_weather", arguments="never repeated")
    columns = recorded(call(0, tool="get_a"), *pairs, lone).columns()
    history = list(histories(columns))[1]
    (bound,) = freshness_bounds([history.calls], None, FreshnessSettings())
    assert isinstance(bound, Bound)
    permission = permission_of(history, replace(bound, scope=scope))
    allowed = freshness_by_identity(columns, [permission])
    assert np.count_nonzero(allowed == 60 * SECOND) == (301 if scope is Scope.TOOL else 300)
    assert allowed[0] == -1  # the other tool's
