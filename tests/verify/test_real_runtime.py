"""The replay against verify samples that the published SDK recorded."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path

import pytest

from visceral_cli.contract.rule import Rule, rule_from_json
from visceral_cli.pipeline import verify_inputs
from visceral_cli.progress import Silent
from visceral_cli.settings import ExtractSettings, Settings
from visceral_cli.verify.outcome import Cause, Outcome, Recorded, Verification
from visceral_cli.verify.verify import VerifyRequest

WEEK_SECONDS = 7 * 86_400


def verified(
    shared: Path,
    *,
    freshness_seconds: float,
    suffix: str = "jsonl",
    only_own_writers: bool = False,
) -> Verification:
    """Return what the SDK's traces say of the rules that it served by."""
    folder = shared / "traces" / "real"
    expected = json.loads((folder / "visceral-ai.expected.json").read_text())
    keys = {"": base64.b64decode(expected["workspace_key_b64"])}
    request = VerifyRequest(
        tuple(_rule(value, freshness_seconds, only_own_writers) for value in expected["rules"])
    )
    settings = Settings(extract=ExtractSettings(workspace_keys=keys), workers=1)
    traces = str(folder / f"visceral-ai.otlp.{suffix}")
    return verify_inputs([traces], settings, request, Silent()).verification


def _rule(
    value: dict[str, dict[str, dict[str, object]]], freshness_seconds: float, only_own_writers: bool
) -> Rule:
    """Return the rule with the window of the backend, which its document did not name."""
    action = value["config"]["action"]
    action["freshness_seconds"] = freshness_seconds
    if only_own_writers:
        action["writers"] = "run"
    rule = rule_from_json(value)
    assert rule is not None
    return rule


@pytest.mark.parametrize("suffix", ["jsonl", "pb"])
def test_the_replayed_verdicts_are_the_recorded_ones(shared: Path, suffix: str) -> None:
    serves = verified(shared, freshness_seconds=WEEK_SECONDS, suffix=suffix).serves
    samples = [serve for serve in serves if serve.recorded is not Recorded.SERVED]
    assert len(samples) == 6
    told = [serve for serve in samples if serve.replayed is not None]
    assert [serve.replayed for serve in told] == [serve.recorded for serve in told]
    # One result that was served had been put into the backend by hand, as no span tells.
    (planted,) = (serve for serve in samples if serve.replayed is None)
    assert (planted.tool, planted.recorded) == ("get_weather", Recorded.MATCH)
    assert planted.cause is Cause.NOT_IN_TRACES


def test_every_disagreement_with_the_window_in_force_has_its_cause(shared: Path) -> None:
    verification = verified(shared, freshness_seconds=900)
    assert Counter(serve.cause for serve in verification.serves) == {
        None: 1,
        Cause.AFTER_WRITER_ELSEWHERE: 3,  # the SDK hears of the writers of its own run alone
        Cause.BEYOND_FRESHNESS: 4,  # served half an hour after the newest result in the traces
        Cause.EXPORT_DELAY: 1,  # run 8 ms before, and not known to the backend yet
        Cause.NOT_IN_TRACES: 1,
    }


def test_the_sdk_decides_like_a_rule_that_heeds_the_writers_of_the_run_alone(shared: Path) -> None:
    verification = verified(shared, freshness_seconds=900, only_own_writers=True)
    causes = {serve.cause for serve in verification.serves}
    assert causes == {
        None,
        Cause.BEYOND_FRESHNESS,
        Cause.EXPORT_DELAY,
        Cause.NOT_IN_TRACES,
    }


def test_the_writer_of_the_run_keeps_the_replay_from_serving(shared: Path) -> None:
    verification = verified(shared, freshness_seconds=900)
    (customer,) = (rule for rule in verification.rules if rule.decision_id == "dec-cust")
    assert customer.outcomes[Outcome.WRITER] == 2
    assert customer.recorded == {Recorded.SERVED: 1}
