from __future__ import annotations

from msgspec.structs import replace

from visceral_cli.report import overview
from visceral_cli.report.overview import Standing
from visceral_cli.report.report import Report


def without_rules(report: Report) -> Report:
    savings = replace(report.savings, calls=0, tool_seconds=0.0, by_identity={})
    return replace(report, rules=(), savings=savings)


def unproven(report: Report) -> Report:
    bounds = tuple(b for b in report.bounds if not b.proven)
    return replace(without_rules(report), bounds=bounds)


def test_every_repeat_stands_in_exactly_one_part(report: Report) -> None:
    parts = overview.standings(report, overview.tool_lines(report))
    assert sum(parts.values()) == sum(tool.repeats for tool in report.tools)
    assert parts == {
        Standing.SAFE: 39,
        Standing.UNDECLARED: 20,
        Standing.UNPROVEN: 7,
        Standing.UNSAFE: 7,
        Standing.IN_FLIGHT: 4,
        Standing.UNKNOWN: 3,
    }


def test_the_answer_names_calls_repeats_time_and_what_is_proven(report: Report) -> None:
    assert overview.answer(report) == (
        "204 tool calls of 6 tools; 80 repeat an earlier call (39.2%), 66 with the same result: "
        "81.9 s of 356 s tool time, $0.42.",
        "1 rule for 1 tool is proven (at most 1% stale) and would have saved 39 calls, 58.2 s, "
        "$0.29.",
    )


def test_nothing_repeated_is_one_sentence(report: Report) -> None:
    report = replace(report, totals=replace(report.totals, repeats=0, same_result=0))
    assert overview.answer(report) == (
        "204 tool calls of 6 tools in 31 traces; none repeats an earlier one.",
        "",
    )


def test_candidates_without_rules_say_which_rate_would_pass_today(report: Report) -> None:
    _, proven = overview.answer(unproven(report))
    assert proven == (
        "No rule is proven yet (at most 1% stale). Nearest: get_weather within 5m, which alone "
        "passes today at --max-stale-rate 3.38%; 1 further candidate."
    )


def test_a_proven_tool_that_nobody_declared_is_named(report: Report) -> None:
    tools = tuple(replace(t, readonly=None, replay_safe=None) for t in report.tools)
    report = replace(without_rules(report), tools=tools)
    assert overview.answer(report)[1] == (
        "Proven (at most 1% stale) for search_flights, but no rule: not declared read-only and "
        "replay-safe."
    )
    assert overview.next_command(report, ("t/",)) == "visceral explain declarations"


def test_the_next_command_repeats_inputs_and_options_safely(report: Report) -> None:
    command = overview.next_command(report, ("my traces/", "--namespace", "none"))
    assert command == "visceral rules 'my traces/' --namespace none -o rules.json"
    assert overview.next_command(unproven(report), ("t/",)) == (
        "visceral analyze t/ --rows candidates"
    )


def test_calls_without_identity_lead_to_the_page_of_the_commonest_reason(report: Report) -> None:
    report = replace(without_rules(report), totals=replace(report.totals, repeats=0))
    assert overview.next_command(report, ("t/",)) == "visceral explain not-captured"


def test_the_coverage_says_what_was_read_and_what_was_not_judged(report: Report) -> None:
    assert overview.what_was_read(report) == (
        "4 files (otlp-json-lines 3, otlp-proto 1), 1.4 MB: 1,284 spans in 31 traces, each span "
        "2.0 times, 9 spans without parent, 3 damaged places skipped"
    )
    assert overview.what_was_not_judged(report) == (
        "6 calls without identity (not-captured 5, redacted 1), 3 calls without result "
        "(truncated 3), 1 call without times"
    )
