"""The gate as a build sees it: exit codes, streams, and what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.contract.identity import input_hash
from visceral_cli.contract.rule import Action, Guard, Match, Rule, RuleKind, decision_id
from visceral_cli.rules.rules_file import rules_text

Run = Callable[..., Any]
WEATHER = """
[tool.visceral.tools.get_weather]
read-only = true
replay-safe = true
"""


def rule(tool: str, arguments: dict[str, object], **evidence: object) -> Rule:
    found = input_hash(tool, arguments)
    return Rule(
        decision_id("shop", tool, found),
        RuleKind.REUSE_IDENTITY,
        Match(tool, found, 1, namespace="shop"),
        Guard(True, True),
        Action("reuse_cached_result", 600.0, 0.05),
        evidence=evidence or None,
    )


@pytest.fixture
def settings(tmp_path: Path) -> Callable[[str], None]:
    return lambda text: (tmp_path / "pyproject.toml").write_text(text) and None


@pytest.fixture
def rules_file(tmp_path: Path) -> Callable[..., None]:
    return lambda *rules: (tmp_path / "rules.json").write_text(rules_text(rules)) and None


def cases(done: Any) -> dict[str, dict[str, Any]]:
    """Return the cases of a check in JSON by kind, those of single tools and rules last."""
    return {case["kind"]: case for case in json.loads(done.stdout)["cases"]}


@pytest.mark.parametrize(
    ("limit", "code", "printed", "verdict"),
    [
        ("62.4%", 1, "62.5% > 62.4%", "1 limit broken, 0 kept"),
        ("62.5%", 0, "62.5% <= 62.5%", "0 limits broken, 1 kept"),
        ("0.626", 0, "62.5% <= 62.6%", "0 limits broken, 1 kept"),
    ],
    ids=["past", "at", "inside"],
)
def test_a_limit_may_be_reached_but_not_passed(
    in_process: Run, traces: Path, limit: str, code: int, printed: str, verdict: str
) -> None:
    done = in_process("check", "traces", "--max-duplicate-rate", limit)
    assert done.returncode == code
    assert printed in done.stdout
    assert done.stderr == f"visceral: {verdict}\n"


def test_exit_zero_reports_but_passes(in_process: Run, traces: Path) -> None:
    done = in_process("check", "traces", "--max-repeats", "0", "--exit-zero")
    assert (done.returncode, "5 > 0" in done.stdout) == (0, True)
    assert "1 limit broken" in done.stderr
    assert in_process("check", "none", "--max-repeats", "0", "--exit-zero").returncode == 3


def test_the_exit_code_is_the_same_in_every_format(in_process: Run, traces: Path) -> None:
    for name in ("table", "github", "junit", "sarif"):
        assert in_process("check", "traces", "--max-repeats", "4", "-f", name).returncode == 1
        assert in_process("check", "traces", "--max-repeats", "5", "-f", name).returncode == 0


def test_limits_come_from_the_settings_too_and_an_option_beats_them(
    in_process: Run, traces: Path, settings: Callable[[str], None]
) -> None:
    settings(
        '[tool.visceral.check]\nmax-duplicate-rate = "20%"\nmax-avoidable = "1s"\n'
        "[tool.visceral.tools.get_weather]\nmax-repeats = 3\n"
    )
    done = in_process("check", "traces", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)["cases"]
    assert [(case["kind"], case["tool"], case["state"]) for case in found] == [
        ("duplicate-rate", None, "broken"),
        ("avoidable", None, "broken"),
        ("repeats", "get_weather", "broken"),
    ]
    assert [case["measured"] for case in found] == ["5/8", "2", "4"]
    assert found[1]["message"] == "2.0 s > 1.0 s"
    done = in_process("check", "traces", "--json", "--max-duplicate-rate", "70%")
    assert json.loads(done.stdout)["cases"][0]["state"] == "kept"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.visceral.check]\nmax-duplicate-ratio = 0.2", 'unknown key "max-duplicate-ratio"'),
        ("[tool.visceral.check]\nmax-duplicate-rate = 20", "20 is above 1"),
        ("[tool.visceral.tools.x]\nmax-repeat = 3", 'unknown key "max-repeat"'),
        ('[tool.visceral.tools.x]\nmax-cost = "much"', '"much" is no amount of USD'),
    ],
)
def test_a_misspelt_limit_is_no_open_gate(
    in_process: Run, traces: Path, settings: Callable[[str], None], text: str, message: str
) -> None:
    settings(text)
    done = in_process("check", "traces", "--max-repeats", "9")
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "nothing to check"),
        (["--max-duplicate-rate", "20"], 2, "20 is above 1\n  hint: write 20% or 0.2"),
        (["--max-avoidable", "soon"], 2, '"soon" is no duration'),
        (["--max-repeats", "-1"], 2, "-1 is below 0"),
        (["--max-cost", "1e-999999"], 2, "more digits than a limit can have"),
        (["--max-repeats", "1", "-f", "csv"], 2, 'no output format "csv" here'),
        (["--max-repeats", "1", "--baseline", "none.json"], 2, "none.json: no such file"),
        (["--max-repeats", "1", "--update-baseline"], 2, "no baseline is named"),
        (["--rules", "none.json"], 2, "none.json: cannot be read"),
        (["--against", "none.json"], 3, "none.json"),
        (["--max-cost", "1"], 3, "nothing could be judged"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_told_in_one_line(
    in_process: Run, traces: Path, arguments: list[str], code: int, message: str
) -> None:
    done = in_process("check", "traces", *arguments)
    assert done.returncode == code
    assert message.lower() in done.stderr.lower()
    assert done.stderr.count("\n") <= 2


def test_an_input_without_a_tool_call_is_no_pass(in_process: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text('{"resourceSpans":[]}\n')
    done = in_process("check", "empty.jsonl", "--max-repeats", "9")
    assert (done.returncode, done.stdout) == (3, "")


def test_cost_is_held_against_its_limit_once_there_are_prices(
    in_process: Run, traces: Path
) -> None:
    given = ("check", "traces", "--price", "get_weather=0.1", "--json", "--max-cost")
    assert cases(in_process(*given, "0.4"))["cost"]["message"] == "$0.40 <= $0.40"
    done = in_process(*given, "0.399")
    assert (done.returncode, cases(done)["cost"]["message"]) == (1, "$0.400 > $0.399")


def test_evidence_names_groups_and_files_but_no_value(in_process: Run, traces: Path) -> None:
    done = in_process("check", "traces", "--max-repeats", "1", "--json")
    evidence = cases(done)["repeats"]["evidence"]
    assert [each["what"] for each in evidence][:2] == ["2 repeats in 3 calls"] * 2
    assert {each["file"] for each in evidence} == {"traces/spans.jsonl"}
    assert all(len(each["span_id"]) == 16 for each in evidence)
    assert "Rome" not in done.stdout


def test_a_baseline_is_written_read_and_told_when_stale(
    in_process: Run, traces: Path, tmp_path: Path
) -> None:
    given = ("check", "traces", "--baseline", "base.json", "--max-repeats", "1")
    done = in_process(*given, "--update-baseline")
    assert done.returncode == 0
    assert "note: base.json: accepted: repeats////" in done.stderr
    assert "0 limits broken, 0 kept, 1 accepted by the baseline" in done.stderr
    assert "note: base.json: nothing changed" in in_process(*given, "--update-baseline").stderr
    assert in_process(*given).returncode == 0
    better = in_process("check", "traces", "--baseline", "base.json", "--max-repeats", "9")
    assert better.returncode == 0
    assert "stale in the baseline: repeats////\n" in better.stdout
    entry = json.loads((tmp_path / "base.json").read_text())["accepted"][0]
    assert entry == {"fingerprint": "repeats////", "measured": "5", "message": "5 > 1"}
    text = (tmp_path / "base.json").read_text().replace('"5"', '"4"')
    (tmp_path / "base.json").write_text(text)
    assert in_process(*given).returncode == 1


def test_rules_that_hold_are_kept(
    in_process: Run, traces: Path, settings: Callable[[str], None], rules_file: Callable[..., None]
) -> None:
    settings(WEATHER)
    rules_file(rule("get_weather", {"city": "Rome"}, calls=9, argument_names=["city"]))
    done = in_process("check", "traces", "--rules", "rules.json", "--json")
    assert done.returncode == 0, done.stdout
    states = {kind: case["state"] for kind, case in cases(done).items()}
    assert states == {
        "became-writer": "kept",
        "version-changed": "kept",
        "schema-changed": "kept",
        "stale-serve": "kept",
    }


@pytest.mark.parametrize(
    ("configured", "ruled", "kind", "message"),
    [
        (
            "[tool.visceral.tools.get_weather]\nread-only = false\n",
            rule("get_weather", {"city": "Rome"}),
            "became-writer",
            "the settings say that the tool writes, but 1 rule would serve it",
        ),
        (
            f'{WEATHER}version = "2"\n',
            rule("get_weather", {"city": "Rome"}, calls=9, version="1"),
            "version-changed",
            "rules were proven for version 1, the last call is of version 2",
        ),
        (
            f'{WEATHER}version = "2"\n',
            rule("get_weather", {"city": "Rome"}, calls=9),
            "version-changed",
            "rules were proven for no declared version, the last call is of version 2",
        ),
        (
            WEATHER,
            rule("get_weather", {"town": "Rome"}, calls=9, argument_names=["town"]),
            "schema-changed",
            "other arguments than in the rules: no call has town; every call has city as well",
        ),
        (
            "[tool.visceral.tools.clock]\nread-only = true\nreplay-safe = true\n",
            rule("clock", {}),
            "attestation-contradicted",
            "declared replay-safe, but 1 of 1 repeats within 10 s changed and nothing wrote "
            "between",
        ),
    ],
    ids=["writer", "version", "first-version", "schema", "attestation"],
)
def test_what_speaks_against_a_rule_is_a_finding_with_evidence(
    in_process: Run,
    traces: Path,
    settings: Callable[[str], None],
    rules_file: Callable[..., None],
    configured: str,
    ruled: Rule,
    kind: str,
    message: str,
) -> None:
    settings(configured)
    rules_file(ruled)
    done = in_process("check", "traces", "--rules", "rules.json", "--json")
    assert done.returncode == 1
    found = cases(done)[kind]
    assert (found["state"], found["message"]) == ("broken", message)
    assert found["evidence"][0]["span_id"]
    assert found["evidence"][0]["file"] == "traces/spans.jsonl"


def test_a_rule_whose_replay_is_stale_is_a_finding(
    in_process: Run,
    tmp_path: Path,
    write_spans: Callable[..., None],
    settings: Callable[[str], None],
    rules_file: Callable[..., None],
) -> None:
    settings("[tool.visceral.tools.fare]\nread-only = true\nreplay-safe = true\n")
    write_spans(
        tmp_path / "s.jsonl", [("fare", {"to": "Oslo"}, {"eur": number}) for number in range(900)]
    )
    rules_file(rule("fare", {"to": "Oslo"}))
    done = in_process("check", "s.jsonl", "--rules", "rules.json", "--json")
    assert done.returncode == 1
    of_rule = [case for case in json.loads(done.stdout)["cases"] if case["decision_id"]]
    assert [(case["kind"], case["state"]) for case in of_rule] == [("stale-serve", "broken")]
    assert " served results differ from the real ones; the oldest was " in of_rule[0]["message"]
    assert len(of_rule[0]["evidence"]) == 5
    assert of_rule[0]["evidence"][0]["file"] == "s.jsonl"


def test_rules_from_a_store_name_their_arguments(
    in_process: Run, traces: Path, tmp_path: Path
) -> None:
    from visceral_cli.rules.argument_names import with_argument_names
    from visceral_cli.store.database import open_store, temporary_store

    rules = [rule("get_weather", {"city": "Rome"}, calls=3), rule("get_weather", {"city": "Nice"})]
    assert in_process("ingest", "traces", "--store", "s.duckdb").returncode == 0
    with open_store(tmp_path / "s.duckdb") as store:
        named, unseen = with_argument_names(store, rules)
    assert named.evidence == {"calls": 3, "argument_names": ["city"]}
    assert unseen == rules[1]
    with temporary_store() as store:
        assert with_argument_names(store, rules) == tuple(rules)


def test_rules_of_tools_that_are_not_called_judge_nothing(
    in_process: Run, traces: Path, rules_file: Callable[..., None]
) -> None:
    rules_file(rule("fare", {"to": "Oslo"}))
    done = in_process("check", "traces", "--rules", "rules.json")
    assert done.returncode == 3
    assert "not judged: the tool of these rules is not called here" in done.stdout


def test_a_rule_of_several_namespaces_is_judged_in_each_of_them(
    in_process: Run, traces: Path, rules_file: Callable[..., None]
) -> None:
    both = rule("get_weather", {"city": "Rome"}, calls=3)
    rules_file(replace(both, match=replace(both.match, namespace="", namespaces=("desk", "shop"))))
    done = in_process("check", "traces", "--rules", "rules.json", "--json")
    writers = [case for case in json.loads(done.stdout)["cases"] if case["kind"] == "became-writer"]
    assert {case["namespace"]: case["state"] for case in writers} == {
        "desk": "unjudged",
        "shop": "kept",
    }


def test_a_regression_against_before_is_told_from_noise(
    in_process: Run, tmp_path: Path, write_spans: Callable[..., None]
) -> None:
    def calls(repeating: int) -> list[tuple[str, object, object]]:
        return [
            ("fare", {"n": f"{trace}-{call if call >= repeating else 0}"}, 1)
            for trace in range(40)
            for call in range(4)
        ]

    write_spans(tmp_path / "before.jsonl", calls(0))
    write_spans(tmp_path / "after.jsonl", calls(3))
    assert in_process("analyze", "before.jsonl", "-o", "before.json").returncode == 0
    for before in ("before.jsonl", "before.json"):
        worse = in_process("check", "after.jsonl", "--against", before, "--json")
        assert worse.returncode == 1, worse.stderr
        found = cases(worse)["more-repeats"]
        assert found["state"] == "broken"
        assert found["message"] == "0.0 repeats for each 1,000 runs before, 2,000.0 now"
        assert in_process("check", "before.jsonl", "--against", before).returncode == 0
    write_spans(tmp_path / "few.jsonl", calls(3)[:8])
    few = in_process("check", "few.jsonl", "--against", "before.json")
    assert few.returncode == 3
    assert "too few calls to tell: 40 runs before, 2 now, 20 needed" in few.stdout


def test_a_report_of_another_scope_is_not_compared(in_process: Run, traces: Path) -> None:
    in_process("analyze", "traces", "--scope", "trace", "-o", "r.json")
    done = in_process("check", "traces", "--against", "r.json")
    assert done.returncode == 2
    assert "made with --scope trace, but this is --scope all" in done.stderr
