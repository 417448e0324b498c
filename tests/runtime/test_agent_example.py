"""The example agent: what it records is read, and rules for it serve and verify."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

AGENT = Path(__file__).parent.parent.parent / "sample_traces" / "agent" / "agent.py"


def run(*command: object) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("VISCERAL_")}
    ran = subprocess.run(
        [sys.executable, *map(str, command)],
        env=clean,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ran.stdout


def test_the_example_agent_is_served_by_rules_and_its_spans_confirm_them(
    tmp_path: Path, rule: Callable[..., dict[str, Any]]
) -> None:
    branches = ("north", "harbour", "park", "station")
    rules = [rule("opening_hours", {"branch": name}, verify=0.2) for name in branches]
    for number, one in enumerate(rules):
        one["decision_id"] = f"r-{number}"
        one["config"]["match"]["namespace"] = "library-desk"
    (tmp_path / "rules.json").write_text(json.dumps({"format": 1, "rules": rules}))
    traces = tmp_path / "served.jsonl"
    command = ["--traces", traces, "--rules", tmp_path / "rules.json", "--visitors", 40]
    said = run(AGENT, *command, "--results", tmp_path / "results.sqlite3")
    counts = {kind: int(number) for number, kind in re.findall(r"(\d+) (\w+)", said.split(": ")[1])}
    assert counts.pop("hit") > counts.pop("verified") > 0
    assert counts == {"miss": 4, "invalidated": 40}
    verified = run("-m", "visceral_cli", "verify", traces, "--rules", tmp_path / "rules.json")
    recorded = re.search(r"Recorded: (\d+) verify samples and (\d+) served calls; (.*)", verified)
    assert recorded is not None
    assert recorded[3] == f"the replay says the same of {int(recorded[1]) + int(recorded[2])}."
