"""visceral curve."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_curve_is_shown_and_written(in_process: Run, sample_traces: Path) -> None:
    shown = in_process("curve", "visa_rules", str(sample_traces), "--principal", "none")
    assert shown.returncode == 0
    assert shown.stdout.startswith("visa_rules of travel-desk: ")
    assert "<- proposed" in shown.stdout
    limit = "A write voids within its run here"
    assert limit in shown.stdout
    within = in_process("curve", "visa_rules", str(sample_traces), "--principal", "nobody.names.it")
    assert "results shared within: run\n" in within.stdout
    assert limit not in within.stdout
    written = in_process("curve", "visa_rules", str(sample_traces), "--json")
    (curve,) = json.loads(written.stdout)["curves"]
    assert curve["tool"] == "visa_rules"
    assert curve["by_freshness"][0]["served"] == 0


def test_a_name_that_no_tool_has_is_wrong_usage(in_process: Run, sample_traces: Path) -> None:
    ended = in_process("curve", "visa_rule", str(sample_traces))
    assert ended.returncode == 2
    assert 'did you mean "visa_rules"?' in ended.stderr


def test_a_rule_for_less_than_all_is_written_with_its_scope(
    in_process: Run, sample_traces: Path
) -> None:
    matches = {}
    for principal in ("nobody.names.this", "none"):
        ended = in_process(
            "rules", str(sample_traces), "--tool", "visa_rules", "-q", "--principal", principal
        )
        configs = [rule["config"] for rule in json.loads(ended.stdout)["rules"]]
        matches[principal] = {(one["schema"], one["match"]["scope"]) for one in configs}
    assert matches == {"nobody.names.this": {(2, "run")}, "none": {(1, "all")}}
