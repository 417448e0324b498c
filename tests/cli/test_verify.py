"""``visceral verify``: exit codes and streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from subprocess import PIPE
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from visceral_cli.contract.identity import content_hash, faithful_json, input_hash
from visceral_cli.contract.rule import decision_id

Run = Callable[..., Any]

SECOND = 1_000_000_000
START = 1_777_896_000 * SECOND
FUNCTION = """
def tell(tool, arguments):
    print("secret")
    return {"temperature": 20}
"""


def weather(pairs: int, *, changed: int = 0, day: int = 0) -> str:
    """Return spans: a call and another 10 s later, every 1,000 s; the first few differ."""
    found = input_hash("get_weather", {"city": "Secretville"})
    lines = []
    for number in range(2 * pairs):
        start = START + (86_400 * day + number // 2 * 1000 + number % 2 * 10) * SECOND
        result = {"temperature": 30 if number % 2 and number // 2 < changed else 20}
        attributes: dict[str, Any] = {
            "openinference.span.kind": "TOOL",
            "visceral.tool.name": "get_weather",
            "visceral.tool.readonly": True,
            "visceral.tool.replay_safe": True,
            "visceral.tool.input_hash": found,
            "visceral.tool.hash_v": 1,
            "input.value": json.dumps({"city": "Secretville"}),
            "output.value": json.dumps(result),
        }
        span = {
            "traceId": f"{1 + number // 2 + (day << 64):032x}",
            "spanId": f"{1 + number + (day << 32):016x}",
            "name": "get_weather",
            "kind": 1,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + SECOND),
            "attributes": [{"key": key, "value": _any(value)} for key, value in attributes.items()],
            "status": {},
        }
        service = {"key": "service.name", "value": {"stringValue": "desk"}}
        scopes = [{"scope": {"name": "visceral"}, "spans": [span]}]
        resource = {"attributes": [service]}
        lines.append(
            json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}) + "\n"
        )
    return "".join(lines)


def _any(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


def rules_document(freshness: float | None = 60, **more: object) -> str:
    found = input_hash("get_weather", {"city": "Secretville"})
    action: dict[str, object] = {"op": "reuse_cached_result", "verify_sample_rate": 0.05}
    if freshness is not None:
        action["freshness_seconds"] = freshness
    rule = {
        "decision_id": decision_id("desk", "get_weather", found),
        "config": {
            "schema": 1,
            "rule_kind": "reuse_identity",
            "match": {"tool_name": "get_weather", "input_hash": found, "hash_v": 1},
            "guard": {"read_only": True, "replay_safe": True},
            "action": action,
        },
    }
    return json.dumps({"format": 1, "rules": [rule], **more})


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., None]:
    """Write spans and rules into the folder that the command runs in."""

    def write(pairs: int = 5, *, freshness: float | None = 60, **more: Any) -> None:
        (tmp_path / "spans.jsonl").write_text(weather(pairs, **more))
        (tmp_path / "rules.json").write_text(rules_document(freshness))

    return write


def test_rules_that_hold_are_exit_0(visceral: Run, files: Callable[..., None]) -> None:
    files(300)
    done = visceral("verify", "spans.jsonl", "--rules", "rules.json")
    assert done.returncode == 0
    assert done.stderr == "visceral: 0 rules broken, 1 kept (1 confirmed)\n"
    assert "get_weather     300      300           0" in done.stdout


def test_a_broken_rule_is_exit_1_in_every_format(
    in_process: Run, files: Callable[..., None]
) -> None:
    files(5, changed=2)
    for name in ("table", "json", "markdown"):
        done = in_process("verify", "spans.jsonl", "--rules", "rules.json", "-f", name)
        assert done.returncode == 1
        assert done.stderr.endswith(
            "1 rule broken, 1 tool broken (get_weather), 0 kept (0 confirmed)\n"
        )
        assert "Secretville" not in done.stdout
    assert in_process("verify", "spans.jsonl", "--rules", "rules.json", "-q").stderr == ""


def test_a_build_is_told_which_rule_is_broken_and_where(
    in_process: Run, files: Callable[..., None]
) -> None:
    files(5, changed=2)
    command = ("verify", "spans.jsonl", "--rules", "rules.json", "-q", "-f")
    rule = json.loads(rules_document())["rules"][0]["decision_id"]
    told = in_process(*command, "github")
    assert told.returncode == 1
    assert told.stdout.count("::error ") == 2  # the tool and its one rule
    assert rule in told.stdout
    junit = ElementTree.fromstring(in_process(*command, "junit").stdout)
    assert (len(junit.findall(".//testcase")), len(junit.findall(".//failure"))) == (2, 2)
    (run,) = json.loads(in_process(*command, "sarif").stdout)["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"spans.jsonl"}


def test_the_json_fits_its_schema(in_process: Run, files: Callable[..., None]) -> None:
    files(5, changed=1)
    done = in_process("verify", "spans.jsonl", "--rules", "rules.json", "--json")
    report = json.loads(done.stdout)
    schema = resources.files("visceral_cli.report") / "verification.schema.json"
    jsonschema.validate(report, json.loads(schema.read_text("utf-8")))
    assert report["rules"][0]["outcomes"] == {
        "expired": 4,
        "matched": 4,
        "mismatched": 1,
        "no-result": 1,
    }


def test_a_mismatch_that_chance_explains_passes_unless_a_limit_is_given(
    in_process: Run, files: Callable[..., None]
) -> None:
    files(10, changed=1)
    command = ("verify", "spans.jsonl", "--rules", "rules.json", "-q")
    assert in_process(*command).returncode == 0
    assert in_process(*command, "--max-mismatch-rate", "10%").returncode == 0
    assert in_process(*command, "--max-mismatch-rate", "9.9%").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "no rules are given"),
        (["--rules", "rules.json", "--holdout", "30%"], 2, "exclude each other"),
        (["--rules", "none.json"], 2, "none.json: cannot be read"),
        (["--rules", "spans.jsonl"], 2, "spans.jsonl"),
        (["--rules", "empty.json"], 2, "empty.json: no rule in it"),
        (["--rules", "rules.json", "--sample-rate", "20"], 2, "--sample-rate: 20 is above 1"),
        (["--holdout", "100%"], 2, "--holdout: 100% is not between"),
        (["--rules", "rules.json", "--execute", "mine"], 2, '"mine" names no function'),
        (["--rules", "rules.json", "-f", "csv"], 2, 'no output format "csv" here'),
        (["--rules", "rules.json", "--tool", "other"], 3, "none of 0 calls matches"),
        (["--holdout", "30%"], 3, "prove no rule"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_what_cannot_be_verified_is_an_error(
    in_process: Run,
    files: Callable[..., None],
    tmp_path: Path,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    files()
    (tmp_path / "empty.json").write_text('{"format": 1, "rules": []}')
    done = in_process("verify", "spans.jsonl", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_verification_that_compared_nothing_is_never_green(
    in_process: Run, files: Callable[..., None]
) -> None:
    files(5, freshness=5)
    done = in_process("verify", "spans.jsonl", "--rules", "rules.json")
    assert done.returncode == 3
    assert "get_weather" in done.stdout
    assert "nothing is verified" in done.stderr


def test_the_last_calls_are_held_out_of_what_proves_the_rules(
    visceral: Run, files: Callable[..., None], tmp_path: Path
) -> None:
    files(800)
    with (tmp_path / "spans.jsonl").open("rb") as spans:  # read once, for both parts
        done = visceral(
            "verify", "-", "--holdout", "40%", "--json", stdin=spans, stdout=PIPE, stderr=PIPE
        )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["totals"]["calls"] == 640
    assert report["rules"][0]["outcomes"]["matched"] == 320
    assert report["settings"]["holdout_rate"] == 0.4


def test_the_settings_say_how_rules_are_verified(
    in_process: Run, files: Callable[..., None], tmp_path: Path
) -> None:
    files(10, changed=1)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.visceral.verify]\n"
        "rules = 'rules.json'\n"
        "max-mismatch-rate = '9.9%'\n"
        "within = '3d'\n"
        "ledger = 'trust.jsonl'\n"
    )
    done = in_process("verify", "spans.jsonl", "--json", "-q")
    assert done.returncode == 1
    settings = json.loads(done.stdout)["settings"]
    assert (settings["max_mismatch_rate"], settings["within_days"]) == (0.099, 3)
    assert (tmp_path / "trust.jsonl").exists()
    assert in_process("verify", "spans.jsonl", "-q", "--max-mismatch-rate", "10%").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--rules and --holdout exclude each other"),
        (["--rules", "none.json"], "none.json: cannot be read"),
        (["--holdout", "30%"], "prove no rule"),
    ],
)
def test_an_option_beats_what_the_settings_say_of_the_rules(
    in_process: Run,
    files: Callable[..., None],
    tmp_path: Path,
    arguments: list[str],
    said: str,
) -> None:
    files()
    (tmp_path / "pyproject.toml").write_text(
        "[tool.visceral.verify]\nrules = 'rules.json'\nholdout = '40%'\n"
    )
    assert said in in_process("verify", "spans.jsonl", *arguments).stderr


def test_a_ledger_retires_a_rule_and_the_kept_rules_are_written(
    in_process: Run, files: Callable[..., None], tmp_path: Path
) -> None:
    files(5, changed=3)
    command = ("verify", "spans.jsonl", "--rules", "rules.json", "--ledger", "trust.jsonl")
    done = in_process(*command, "--write-kept", "kept.json", "--json")
    assert done.returncode == 1
    assert [record["trust"] for record in json.loads(done.stdout)["trust"]] == ["retired"]
    assert json.loads((tmp_path / "kept.json").read_text()) == {"format": 1, "rules": []}
    again = in_process(*command, "--json")
    assert again.stdout == done.stdout
    assert len((tmp_path / "trust.jsonl").read_text().splitlines()) == 1


def test_rules_without_a_freshness_need_one(in_process: Run, files: Callable[..., None]) -> None:
    files(5, freshness=None)
    command = ("verify", "spans.jsonl", "--rules", "rules.json", "--json")
    assert in_process(*command).returncode == 3
    named = in_process(*command, "--max-freshness", "10s")
    assert json.loads(named.stdout)["rules"][0]["served"] == 5


def test_calls_are_made_again_only_when_asked_and_show_nothing(
    visceral: Run, files: Callable[..., None], tmp_path: Path
) -> None:
    files()
    (tmp_path / "mine.py").write_text(FUNCTION)
    command = ("verify", "spans.jsonl", "--rules", "rules.json", "--execute", "mine:tell")
    done = visceral(*command)
    assert done.returncode == 0, done.stderr
    assert "same" in done.stdout
    assert "secret" not in (done.stdout + done.stderr).lower()
    assert content_hash(faithful_json({"temperature": 20})) not in done.stdout


def test_rules_and_explain_show_the_record_and_leave_out_what_is_retired(
    in_process: Run, files: Callable[..., None], tmp_path: Path
) -> None:
    files(400)
    (tmp_path / "rules.json").write_text(in_process("rules", "spans.jsonl", "-q").stdout)
    verify = ("verify", "--rules", "rules.json", "--ledger", "trust.jsonl", "-q")
    assert in_process(*verify, "spans.jsonl").returncode == 0
    command = ("rules", "spans.jsonl", "--ledger", "trust.jsonl", "-q")
    (rule,) = json.loads(in_process(*command).stdout)["rules"]
    assert rule["evidence"]["trust"]["state"] == "active"
    assert rule["evidence"]["trust"]["samples"] == 400
    told = in_process("explain", rule["decision_id"], "spans.jsonl", "--ledger", "trust.jsonl")
    assert "active; 1 verification held" in told.stdout
    exported = ("rules", "--rules", "rules.json", "--for", "crewai", "--ledger", "trust.jsonl")
    assert "1 left out" in in_process(*exported).stderr

    (tmp_path / "later.jsonl").write_text(weather(20, changed=20, day=9))
    assert in_process(*verify, "later.jsonl").returncode == 1
    assert json.loads(in_process(*command).stdout)["rules"] == []
    said = in_process(*exported).stderr
    assert "left out" not in said
    assert "trust.jsonl: 0 active, 0 proposed, 1 retired, not written" in said
    told = in_process("explain", rule["decision_id"], "spans.jsonl", "--ledger", "trust.jsonl")
    assert "retired; 1 verification held" in told.stdout
