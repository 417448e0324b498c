"""A verification as table, JSON and Markdown: one that holds every hard case."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from importlib import resources

import jsonschema
import pytest
from msgspec.structs import replace

from visceral_cli.analysis.sequential import RuleState
from visceral_cli.report.report import Report
from visceral_cli.report.verification import VerificationReport, remarks, verdict
from visceral_cli.report.verification_writers import WRITERS
from visceral_cli.report.view import Format, View
from visceral_cli.verify.outcome import (
    Cause,
    ExecutedCall,
    Execution,
    Judgement,
    Mismatch,
    Outcome,
    Recorded,
    RecordedServe,
    RuleOutcome,
    ToolOutcome,
    Trust,
    TrustRecord,
    Verification,
)

HOSTILE = "\x1b[31mred[bold]|a\nb</script>`x`"
SCHEMA = json.loads(
    (resources.files("visceral_cli.report") / "verification.schema.json").read_text("utf-8")
)

KEPT = RuleOutcome(
    decision_id="r-3fa94c1b20de",
    namespace="",
    tool="search_flights",
    input_hash="3fa94c1b20de" + "0" * 52,
    freshness_seconds=600.0,
    replayed=True,
    calls=42,
    outcomes={Outcome.MATCHED: 37, Outcome.EXPIRED: 4, Outcome.NO_RESULT: 1},
    recorded={},
    stale_rate=0.0,
    stale_rate_low=0.0,
    stale_rate_high=0.095,
    oldest_mismatch_seconds=None,
    judgement=Judgement(37, 0, 0.51, RuleState.UNDECIDED),
    over_limit=False,
)
BROKEN = replace(
    KEPT,
    decision_id="r-90be77a1f3c2",
    tool="get_weather",
    calls=22,
    outcomes={Outcome.MATCHED: 17, Outcome.MISMATCHED: 2, Outcome.EXPIRED: 3},
    recorded={Recorded.MATCH: 1, Recorded.MISMATCH: 1},
    stale_rate=2 / 19,
    stale_rate_low=0.013,
    stale_rate_high=0.331,
    oldest_mismatch_seconds=252.0,
    mismatches=(Mismatch("a" * 32, "d" * 16, 252.0), Mismatch("a" * 32, "e" * 16, 8.0)),
    judgement=Judgement(19, 2, float("inf"), RuleState.BROKEN),
)
SUPPRESS = replace(
    KEPT,
    decision_id=HOSTILE,
    tool=HOSTILE,
    input_hash=None,
    freshness_seconds=None,
    replayed=False,
    calls=0,
    outcomes={},
    recorded={Recorded.SERVED: 1},
    stale_rate=None,
    stale_rate_high=1.0,
    judgement=Judgement(0, 0, 1.0, RuleState.UNDECIDED),
)


def verification() -> Verification:
    return Verification(
        max_stale_rate=0.01,
        confidence=0.95,
        max_mismatch_rate=None,
        sample_rate=1.0,
        holdout_rate=None,
        from_ns=None,
        calls=312,
        no_rule=248,
        rules=(KEPT, BROKEN, SUPPRESS),
        tools=(
            ToolOutcome("", "get_weather", 1, BROKEN.judgement, 9.5, 1.0),
            ToolOutcome("", "search_flights", 1, KEPT.judgement, None, None),
        ),
        serves=(
            RecordedServe(
                "r-90be77a1f3c2",
                "",
                "get_weather",
                "a" * 32,
                "b" * 16,
                1,
                Recorded.MATCH,
                None,
                None,
                Cause.NOT_IN_TRACES,
            ),
            RecordedServe(
                None, "", HOSTILE, "a" * 32, "c" * 16, 2, Recorded.SERVED, None, None, Cause.NO_RULE
            ),
            RecordedServe(
                "r-90be77a1f3c2",
                "",
                "get_weather",
                "a" * 32,
                "d" * 16,
                3,
                Recorded.MISMATCH,
                Recorded.MISMATCH,
                8.0,
                None,
            ),
        ),
        samples_to_notice=765,
        within_days=7.0,
        executions=(
            ExecutedCall(
                7, "r-3fa94c1b20de", "search_flights", "a", "b", Execution.SAME, 99.0, True
            ),
        ),
        trust=(
            TrustRecord(
                "r-90be77a1f3c2", "get_weather", Trust.RETIRED, 0, 1, 1, 0, 19, 2, 3.5, 0.4
            ),
        ),
    )


@pytest.fixture
def found(report: Report) -> VerificationReport:
    return VerificationReport("0.1.0", report.inputs, verification(), ())


def written(found: VerificationReport, chosen: Format, view: View | None = None) -> bytes:
    out = io.BytesIO()
    WRITERS[chosen](found, out, view or View())
    return out.getvalue()


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        (Format.TABLE, "verification.table.txt"),
        (Format.MARKDOWN, "verification.md"),
        (Format.JSON, "verification.json"),
    ],
)
def test_each_format_is_as_it_was(
    found: VerificationReport, golden: Callable[[str, bytes], None], chosen: Format, name: str
) -> None:
    golden(name, written(found, chosen))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_table_is_whole_in_a_terminal(
    found: VerificationReport, width: int, assert_whole: Callable[[str, str, int], None]
) -> None:
    text = written(found, Format.TABLE, View(width=width, height=24)).decode()
    assert_whole(text, written(found, Format.TABLE).decode(), width)
    assert "\x1b" not in text


def test_the_json_fits_its_schema(found: VerificationReport) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(written(found, Format.JSON)), SCHEMA)


def test_the_verdict_counts_rules() -> None:
    assert verdict(verification()) == (
        "1 rule broken, 1 tool broken (get_weather), 2 kept (0 confirmed)"
    )
    kept = replace(verification(), rules=(KEPT,), tools=())
    assert verdict(replace(kept, trust=())) == "0 rules broken, 1 kept (0 confirmed)"
    retired = replace(verification().trust[0], decision_id=KEPT.decision_id)
    by_ledger = replace(kept, trust=(retired,))
    assert verdict(by_ledger) == "0 rules broken, 1 retired by the ledger, 0 kept (0 confirmed)"


def test_what_differs_is_said_of_each_rule_with_a_mismatch() -> None:
    said = list(remarks(verification()))
    assert said[0] == (
        "r-90be77a1f3c2: 2 of 19 served results differ, the oldest was 4m 12s, 1 of 2 recorded "
        "verify samples mismatch; more than chance explains at 1%: broken"
    )
    assert len(said) == 2  # and one of the tool
    limited = replace(
        verification(),
        max_mismatch_rate=0.1,
        rules=(
            replace(BROKEN, judgement=Judgement(19, 1, 2.0, RuleState.UNDECIDED), over_limit=True),
        ),
        tools=(),
    )
    assert next(iter(remarks(limited))).endswith("allowed are 10%: broken")


def test_of_many_rules_with_a_mismatch_the_first_are_named() -> None:
    many = tuple(replace(BROKEN, decision_id=f"r-{number}") for number in range(12))
    said = list(remarks(replace(verification(), rules=many, tools=())))
    assert (len(said), said[-1]) == (11, "… 2 more rules with a mismatch")
