"""Figures to hold against limits; what a test does not say is nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from visceral_cli.analysis.figures import GroupFigures, Projection, ToolFigures
from visceral_cli.analysis.run_rates import RunFigures

NOTHING = ToolFigures(
    namespace="shop",
    tool="search",
    kind="tool",
    calls=0,
    failed=0,
    without_identity=0,
    without_content=0,
    identities=0,
    repeats=0,
    same_result=0,
    changed=0,
    in_flight=0,
    retries=0,
    after_writer=0,
    unverifiable=0,
    served=0,
    verified=0,
    tool_seconds=0.0,
    repeat_seconds=0.0,
    in_flight_seconds=0.0,
    cost_usd=None,
    readonly=None,
    replay_safe=None,
    writer=False,
    declared_by=None,
    freshness_cap_seconds=None,
    unstable=None,
)
GROUP = GroupFigures(
    namespace="shop",
    tool="search",
    kind="tool",
    version=None,
    input_hash="a" * 64,
    hash_v=1,
    calls=2,
    failed=0,
    repeats=1,
    same_result=1,
    changed=0,
    in_flight=0,
    retries=0,
    after_writer=0,
    unverifiable=0,
    distinct_results=1,
    traces=1,
    first_start_ns=None,
    last_start_ns=None,
    tool_seconds=2.0,
    repeat_seconds=1.0,
    largest_stable_age_seconds=None,
    smallest_changed_age_seconds=None,
    empty_result=False,
)


@pytest.fixture
def tool() -> Callable[..., ToolFigures]:
    return lambda **said: replace(NOTHING, **said)


@pytest.fixture
def group() -> Callable[..., GroupFigures]:
    return lambda **said: replace(GROUP, **said)


@pytest.fixture
def per_run() -> Callable[..., RunFigures]:
    """Build the figures of one tool: its repeats by run, and their seconds."""

    def build(
        repeats: Projection,
        seconds: Projection | None = None,
        *,
        tool: str = "",
        cost: float | None = None,
    ) -> RunFigures:
        names = ("shop", tool, "tool") if tool else ("", "", "")
        return RunFigures(*names, repeats, repeats if seconds is None else seconds, cost)

    return build
