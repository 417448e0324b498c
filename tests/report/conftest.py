"""One report that holds every hard case, and the golden files it is compared with."""

from __future__ import annotations

import difflib
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from visceral_cli.analysis.figures import (
    Finding,
    FindingKind,
    FunnelStep,
    GroupFigures,
    Projection,
    Savings,
    SharingFigures,
    SharingStep,
    ToolFigures,
    ToolSaving,
)
from visceral_cli.contract.identity import InputHash
from visceral_cli.contract.rule import Action, Guard, Match, Rule, RuleKind, RuleStatus
from visceral_cli.report.report import (
    BoundFigures,
    CurveFigures,
    DamagePlace,
    Inputs,
    Report,
    ToolCurve,
    Totals,
)
from visceral_cli.rules.refusal import Refusal, RefusalKind

GOLDEN = Path(__file__).parent.parent / "golden"

HOSTILE_NAME = "\x1b[31mred\x1b[0m[bold]list[str]|a\nb</script>`x`\u202e\u0007\u200b"
"""Escape sequences, markup, a table's bar, a line break, HTML, backticks, a bidi mark, a bell."""


@pytest.fixture
def golden() -> Callable[[str, bytes], None]:
    """Compare bytes with a golden file; with UPDATE_GOLDEN=1 print the diff and accept it."""

    def compare(name: str, found: bytes) -> None:
        path = GOLDEN / name
        expected = path.read_bytes() if path.exists() else b""
        if found != expected and os.environ.get("UPDATE_GOLDEN") == "1":
            old, new = expected.decode().splitlines(), found.decode().splitlines()
            sys.stdout.write(
                "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm=""))
            )
            path.write_bytes(found)
            return
        assert found.decode() == expected.decode()

    return compare


@pytest.fixture
def assert_whole() -> Callable[[str, str, int], None]:
    """Assert that a text on a screen of some columns fits it, and shows all of the wide text."""

    def compare(narrow: str, wide: str, columns: int) -> None:
        assert max(map(cell_len, narrow.splitlines())) <= columns
        assert not Counter("".join(wide.split())) - Counter("".join(narrow.split()))

    return compare


@pytest.fixture(scope="session")
def report() -> Report:
    """A report with rules, candidates, findings, damage, and a hostile tool name."""
    return hard_report()


def hard_report() -> Report:
    """Return the report."""
    tools = (
        tool("search_flights", 84, 41, 41, 61.5, readonly=True, replay_safe=True),
        tool("get_weather", 60, 22, 20, 13.2, changed=2),
        tool(
            HOSTILE_NAME, 30, 9, 0, 0.0, unstable="output is new every time", changed=5, in_flight=4
        ),
        tool("get_profile", 15, 8, 5, 7.2, readonly=True, replay_safe=True, unverifiable=3),
        tool("create_ticket", 12, 0, 0, 0.0, writer=True, declared_by="name"),
        tool("a" * 10_000, 3, 0, 0, 0.0, without_identity=3),
    )
    return Report(
        version="0.1.0",
        scope="all",
        max_stale_rate=0.01,
        inputs=inputs(),
        totals=Totals(
            tools=len(tools),
            repeats=80,
            same_result=66,
            in_flight=1,
            retries=4,
            after_writer=1,
            tool_seconds=356.25,
            repeat_seconds=81.9,
            cost_usd=2.5,
        ),
        funnel=funnel(),
        tools=tools,
        groups=groups(),
        bounds=bounds(),
        savings=Savings(
            calls=39,
            tool_seconds=58.25,
            wall_seconds=40.5,
            cost_usd=0.2925,
            absorbed_calls=0,
            stale_calls=0,
            in_flight_calls=1,
            in_flight_seconds=0.75,
            seconds_per_1000_runs=Projection(1879.0, 1500.5, 2257.5, 31),
            by_identity={("shop", "search_flights", "3fa94c1b20de" + "0" * 52): (39, 58.25)},
            by_tool=(
                ToolSaving(
                    "shop",
                    "search_flights",
                    "tool",
                    39,
                    58.25,
                    0,
                    Projection(1879.0, 1500.5, 2257.5, 31),
                ),
            ),
        ),
        rules=(rule(),),
        candidates=(rule(status=RuleStatus.CANDIDATE),),
        sharing=(
            SharingFigures(
                "shop",
                "search_flights",
                "tool",
                "user",
                judged=True,
                why="answers depend on who asks: 80 of 80 pairs",
                users=2,
                steps=(
                    SharingStep(
                        "run", "user", "compared", 390, 0, 12, 0, 0.0077, 402, 1, 0.0118, 600.0
                    ),
                    SharingStep("user", "all", "depends", 80, 80, 400, 0, 1.0),
                ),
            ),
        ),
        curves=curves(),
        refusals=refusals(),
        findings=(
            Finding(
                FindingKind.REPEATED_WRITE,
                "shop",
                "create_ticket",
                "called 3 times with equal arguments in one trace",
                3,
                ("0af7651916cd43dd8448eb211c80319c",),
                ("b7ad6b7169203331", "b7ad6b7169203332"),
                "c" * 64,
            ),
            Finding(FindingKind.CLOCKS, "", HOSTILE_NAME, "2 calls end before they start", 2),
        ),
    )


def inputs() -> Inputs:
    """Return inputs with damage and every kind of gap."""
    return Inputs(
        names=("sample traces/",),
        files=4,
        input_bytes=1_400_000,
        formats={"otlp-json-lines": 3, "otlp-proto": 1},
        span_records=2568,
        spans=1284,
        traces=31,
        log_records=2,
        skipped_records=7,
        orphan_spans=9,
        tool_calls=204,
        conventions={"visceral": 84, "otel-genai": 120},
        damaged=3,
        damage=(
            DamagePlace("sample traces/a.jsonl", "cut", 118, None, "the line ends early", 1),
            DamagePlace("sample traces/b\x1b[2J.pb", "not-protobuf", None, 4096, "left out", 2),
        ),
        without_identity={"not-captured": 5, "redacted": 1},
        without_content={"truncated": 3},
        without_times=1,
        first_start_ns=1_777_896_000_000_000_001,
        last_start_ns=1_777_899_600_000_000_000,
    )


def funnel() -> tuple[FunnelStep, ...]:
    """Return the steps from all calls to the avoidable ones."""
    return (
        FunnelStep("calls", 204, 356.25, 300.0, 2.5),
        FunnelStep("repeats", 80, 95.0, 70.0, 0.6),
        FunnelStep("same-result", 66, 81.9, 60.0, 0.42),
        FunnelStep("within-freshness", 60, 75.0, 55.0, 0.4),
        FunnelStep("no-writer-between", 59, 74.5, 54.5, 0.4),
        FunnelStep("declared", 39, 58.25, 40.5, 0.2925),
        FunnelStep("avoidable", 39, 58.25, 40.5, None),
    )


def tool(
    name: str,
    calls: int,
    repeats: int,
    same_result: int,
    repeat_seconds: float,
    **other: object,
) -> ToolFigures:
    """Return the figures of a tool; what a test does not say is nothing."""
    figures = ToolFigures(
        namespace="shop",
        tool=name,
        kind="tool",
        calls=calls,
        failed=0,
        without_identity=0,
        without_content=0,
        identities=calls - repeats,
        repeats=repeats,
        same_result=same_result,
        changed=0,
        in_flight=0,
        retries=0,
        after_writer=0,
        unverifiable=0,
        served=0,
        verified=0,
        tool_seconds=calls * 1.5,
        repeat_seconds=repeat_seconds,
        in_flight_seconds=0.0,
        cost_usd=None,
        readonly=None,
        replay_safe=None,
        writer=False,
        declared_by=None,
        freshness_cap_seconds=None,
        unstable=None,
    )
    return replace(figures, **other)


def groups() -> tuple[GroupFigures, ...]:
    """Return a group with everything, and one where nothing is known."""
    full = GroupFigures(
        namespace="shop",
        tool="search_flights",
        kind="tool",
        version="2",
        input_hash="3fa94c1b20de" + "0" * 52,
        hash_v=1,
        calls=84,
        failed=1,
        repeats=41,
        same_result=41,
        changed=0,
        in_flight=0,
        retries=0,
        after_writer=0,
        unverifiable=0,
        distinct_results=1,
        traces=31,
        first_start_ns=1_777_896_000_000_000_001,
        last_start_ns=1_777_899_600_000_000_000,
        tool_seconds=126.0,
        repeat_seconds=61.5,
        largest_stable_age_seconds=3120.0,
        smallest_changed_age_seconds=None,
        empty_result=False,
    )
    empty = replace(
        full,
        namespace="",
        tool=HOSTILE_NAME,
        version=None,
        input_hash="0" * 64,
        calls=0,
        repeats=0,
        same_result=0,
        distinct_results=0,
        first_start_ns=None,
        last_start_ns=None,
        repeat_seconds=float("nan"),
        largest_stable_age_seconds=None,
        smallest_changed_age_seconds=0.25,
    )
    return (full, empty)


def bound(tool_name: str, **other: object) -> BoundFigures:
    """Return a bound that is proven; what a test does not say is unremarkable."""
    figures = BoundFigures(
        namespace="shop",
        tool=tool_name,
        proven=True,
        freshness_seconds=600.0,
        scope="tool",
        stale_rate_at_most=0.0087,
        confidence=0.95,
        effective_observations=343.0,
        serves=390,
        stale=0,
        stored_results=343,
        runs=31,
        span_seconds=86400.0,
        largest_age_seconds=599.5,
        shared_change_bound=0.0104,
        smallest_passing_stale_rate=0.0087,
        missing=None,
        warnings=(),
        identities=43,
        excluded_identities=0,
    )
    return replace(figures, **other)


def bounds() -> tuple[BoundFigures, ...]:
    """Return a proven bound, two candidates, and a tool of which nothing can be said."""
    return (
        bound("search_flights"),
        bound(
            "get_weather",
            proven=False,
            freshness_seconds=300.0,
            effective_observations=87.0,
            smallest_passing_stale_rate=0.0338,
            missing="87 clean observations, needs 299",
        ),
        bound(
            "get_profile",
            proven=False,
            freshness_seconds=3600.0,
            effective_observations=5.0,
            smallest_passing_stale_rate=0.4507,
            missing="5 of 30 runs",
        ),
        bound(
            HOSTILE_NAME,
            proven=False,
            freshness_seconds=None,
            largest_age_seconds=None,
            shared_change_bound=None,
            effective_observations=0.0,
            smallest_passing_stale_rate=None,
            missing="no call repeats an earlier one within the bound",
            warnings=("hosts differ",),
        ),
    )


def curves() -> tuple[ToolCurve, ...]:
    """Return a curve that turns stale, one of a hostile name, and one without a serve."""
    return (
        ToolCurve(
            "shop",
            "search_flights",
            "tool",
            (
                curve_point(60.0, 0, 0, 0.0, "runs", "results"),
                curve_point(600.0, 390, 0, 58.25),
                curve_point(3600.0, 402, 7, 60.5, "span"),
            ),
        ),
        ToolCurve(
            "shop", HOSTILE_NAME, "tool", (curve_point(5.0, 2, 1, 0.5, "runs", "results", "span"),)
        ),
        ToolCurve("shop", "get_profile", "tool", ()),
    )


def curve_point(
    freshness_seconds: float, serves: int, stale: int, saved_seconds: float, *failed: str
) -> CurveFigures:
    """Return one age of a curve."""
    return CurveFigures(
        freshness_seconds=freshness_seconds,
        serves=serves,
        stale=stale,
        saved_seconds=saved_seconds,
        effective_observations=float(serves),
        stale_rate_at_most=0.0087,
        failed_guards=failed,
    )


def refusals() -> tuple[Refusal, ...]:
    """Return a refusal of a tool and one of an identity."""
    return (
        Refusal(
            RefusalKind.NOT_DECLARED,
            "shop",
            "get_weather",
            None,
            "neither spans nor settings declare it read-only and replay-safe",
            "if it is, write read-only = true and replay-safe = true under "
            "[tool.visceral.tools.get_weather] in pyproject.toml",
            22,
        ),
        Refusal(
            RefusalKind.VOLATILE, "shop", HOSTILE_NAME, "d" * 64, "5 of 9 results changed", "", 9
        ),
    )


def rule(status: RuleStatus = RuleStatus.ACTIVE) -> Rule:
    """Return a rule; a candidate's guard promises nothing."""
    active = status is RuleStatus.ACTIVE
    return Rule(
        decision_id="r-3fa94c1b20de" if active else "r-90be77a1f3c2",
        kind=RuleKind.REUSE_IDENTITY,
        match=Match(
            tool_name="search_flights" if active else HOSTILE_NAME,
            input_hash=InputHash(("3fa94c1b20de" if active else "90be77a1f3c2") + "0" * 52),
            hash_v=1,
            namespace="shop",
        ),
        guard=Guard(active, active),
        action=Action("reuse_cached_result", 600.0, 0.05),
        status=status,
        evidence={"calls": 84, "repeats": 41},
    )
