"""``visceral rules --with-results``: what the traces prove is served from the first call on."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from visceral_cli import acting_for, tool, wrap
from visceral_cli.runtime.wrap import flush, unwrap

SECOND = 1_000_000_000
PAIRS = 340
GAP_SECONDS = 600
KEY = base64.b64encode(bytes(range(32))).decode()
HOURS = {"open": "09:00", "close": "18:00", "days": [{"name": "Monday", "is": 1}]}

AGENT = """
import json, sys
from visceral_cli import acting_for, tool, wrap
from visceral_cli.runtime.wrap import outcomes, unwrap

rules, results, version = sys.argv[1:]
wrap(None, "desk", apply=True, rules=rules, results=results)
ran = []

def make(name, version=None):
    @tool(name, readonly=True, replay_safe=True, version=version)
    def get(secret):
        ran.append(name)
        return "ran"
    return get

def answer(name, user=None, version=None):
    with acting_for(user=user):
        return json.dumps(make(name, version)("Secretville"))

told = {
    "hours": answer("hours"), "again": answer("hours"),
    "mine of ann": answer("mine", "ann"), "mine of bob": answer("mine", "bob"),
    "mine of eve": answer("mine", "eve"), "mine of nobody": answer("mine"),
    "versioned": answer("versioned", version=version),
    "voided": answer("voided"), "old": answer("old"), "hashed": answer("hashed"),
    "sdk": answer("sdk"), "sdk text": answer("sdk text"),
}
unwrap()
print(json.dumps(told))
"""


def recorded(folder: Path, name: str, result: Any, **options: Any) -> dict[str, Any]:
    """Return the OTLP line of one call, as the runtime writes it."""
    user = options.pop("user", None)
    capture = options.pop("capture", "clear")
    settings = {"readonly": True, "replay_safe": True, **options}
    path = folder / "one.jsonl"
    path.unlink(missing_ok=True)
    key = KEY if capture == "encrypted" else None
    wrap(None, "desk", trace_file=path, capture=capture, key=key)

    @tool(name, **settings)
    def get(secret: str) -> Any:
        return result

    with acting_for(user=user):
        get("Secretville")
    flush()
    unwrap()
    return json.loads(path.read_text())


def span_of(line: dict[str, Any]) -> dict[str, Any]:
    return line["resourceSpans"][0]["scopeSpans"][0]["spans"][0]


def without(line: dict[str, Any], name: str) -> dict[str, Any]:
    span = span_of(line)
    span["attributes"] = [one for one in span["attributes"] if one["key"] != name]
    return line


@dataclass
class History:
    """Pairs of calls of one tool ten minutes apart, each pair a trace; the last one just now."""

    line: dict[str, Any]
    ago_seconds: float = 5
    number: int = 0

    def lines(self, now_ns: int) -> Iterator[str]:
        for pair in range(PAIRS):
            for call in range(2):
                back = 2 * GAP_SECONDS * (PAIRS - 1 - pair) + GAP_SECONDS * (1 - call)
                start = now_ns - int((self.ago_seconds + back) * SECOND)
                yield self.line_at(start, trace=pair, call=call)

    def line_at(self, start_ns: int, *, trace: int, call: int = 0) -> str:
        span = span_of(self.line)
        span["traceId"] = f"{(self.number << 64) + trace + 1:032x}"
        span["spanId"] = f"{(self.number << 40) + 2 * trace + call + 1:016x}"
        span["startTimeUnixNano"] = str(start_ns)
        span["endTimeUnixNano"] = str(start_ns + SECOND // 1000)
        return json.dumps(self.line) + "\n"


Written = Callable[..., Path]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traces of a few tools that ended a moment ago."""
    folder = tmp_path_factory.mktemp("traces")
    now = time.time_ns()
    histories = [
        History(recorded(folder, "hours", HOURS, user="ann")),
        History(recorded(folder, "hours", HOURS, user="bob"), ago_seconds=8),
        History(recorded(folder, "mine", {"of": "ann"}, user="ann")),
        History(recorded(folder, "mine", {"of": "bob"}, user="bob"), ago_seconds=8),
        *(
            History(recorded(folder, name, result, user=user, **options), ago_seconds=ago)
            for name, result, options, of_ann in (
                ("versioned", "v1", {"version": "1"}, 5),
                ("voided", "before", {}, 5),
                ("old", "old", {}, 7 * 86_400),
                ("hashed", "h", {"capture": "hashes"}, 5),
            )
            for user, ago in (("ann", of_ann), ("bob", of_ann + 3))
        ),
        *(
            History(
                without(recorded(folder, name, result, user=user), "visceral.tool.output_order"),
                ago_seconds=ago,
            )
            for name, result in (("sdk", HOURS), ("sdk text", "said"))
            for user, ago in (("ann", 5), ("bob", 8))
        ),
    ]
    writer = History(
        recorded(folder, "move", None, readonly=False, replay_safe=False, invalidates=["voided"]),
        number=1000,
    )
    path = folder / "traces.jsonl"
    with path.open("w") as out:
        for number, history in enumerate(histories):
            history.number = number
            out.writelines(history.lines(now))
        out.write(writer.line_at(now - 4 * SECOND, trace=0))
    return path


@dataclass
class Seeded:
    """What the command left behind."""

    rules: Path
    results: Path
    said: str

    def answers(self, *, version: str = "1") -> dict[str, str]:
        """Return what the tools answer in a new process; ``"ran"`` where they ran."""
        script = self.rules.with_name("agent.py")
        script.write_text(AGENT)
        command = [sys.executable, str(script), str(self.rules), str(self.results), version]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return {name: json.loads(told) for name, told in json.loads(ran.stdout).items()}


def run_rules(*arguments: object) -> str:
    """Run the command; returns what it says on stderr."""
    command = [sys.executable, "-m", "visceral_cli", "rules", *map(str, arguments)]
    command += ["--verify-rate", "0"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("VISCERAL_")}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=clean)
    return ran.stderr


@pytest.fixture(scope="module")
def seeded(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    folder = tmp_path_factory.mktemp("seeded")
    rules, results = folder / "rules.json", folder / "kept" / "results.sqlite3"
    said = run_rules(traces, "-o", rules, "--with-results", results)
    return Seeded(rules, results, said)


@pytest.fixture(scope="module")
def few(traces: Path) -> Path:
    """The traces of one tool."""
    path = traces.with_name("few.jsonl")
    lines = traces.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"stringValue": "hours"' in line))
    return path


def test_a_new_process_is_served_what_the_traces_prove_and_nothing_else(seeded: Seeded) -> None:
    answers = seeded.answers()
    assert json.dumps(answers.pop("hours")) == json.dumps(HOURS)
    assert answers == {
        "again": HOURS,
        "mine of ann": {"of": "ann"},
        "mine of bob": {"of": "bob"},
        "mine of eve": "ran",
        "mine of nobody": "ran",
        "versioned": "v1",
        "voided": "ran",
        "old": "ran",
        "hashed": "ran",
        "sdk": "ran",
        "sdk text": "said",
    }
    assert seeded.answers(version="2")["versioned"] == "ran"


def test_it_says_how_many_were_seeded_and_why_others_were_not(seeded: Seeded) -> None:
    name = seeded.results
    assert seeded.said.split("visceral: note: ", 2)[2] == (
        f"{name}: 5 results seeded (mine 2, hours 1, sdk text 1, versioned 1)\n"
        f"visceral: note: {name}: 4 results not seeded\n"
        "visceral: note:   hashed: 1, its result is not recorded\n"
        "visceral: note:   old: 1, it is too old\n"
        "visceral: note:   sdk: 1, the order of its keys is not recorded\n"
        "visceral: note:   voided: 1, a writer came after it\n"
        'visceral: note:   results are recorded with capture="clear", or encrypted with a key\n'
    )
    assert "Secretville" not in seeded.said


def test_age_counts_from_the_start_of_the_recorded_execution(seeded: Seeded, traces: Path) -> None:
    newest = max(
        int(span_of(json.loads(line))["startTimeUnixNano"])
        for line in traces.read_text().splitlines()
        if '"stringValue": "hours"' in line
    )
    base = sqlite3.connect(seeded.results)
    (kept,) = base.execute("SELECT started_ns FROM entry WHERE tool = 'hours'").fetchall()
    base.close()
    assert kept == (newest,)


def test_without_the_option_nothing_is_seeded(few: Path, tmp_path: Path, in_process: Any) -> None:
    ended = in_process("rules", str(few), "-o", "rules.json")
    assert ended.returncode == 0
    assert "seeded" not in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rules.json"]


def test_seeding_again_changes_nothing(seeded: Seeded, few: Path, tmp_path: Path) -> None:
    said = run_rules(few, "-o", tmp_path / "again.json", "--with-results", seeded.results)
    assert "0 results seeded" in said
    assert "hours: 1, the store has one as new" in said


def test_calls_that_an_analysis_leaves_out_still_write_and_are_still_newer(
    traces: Path, tmp_path: Path, in_process: Any
) -> None:
    options = ("--tool", "voided", "--tool", "hours", "--until", "2100-01-01")
    ended = in_process("rules", str(traces), *options, "--with-results", "r.sqlite3")
    assert "1 result seeded (hours 1)" in ended.stderr
    assert "voided: 1, a writer came after it" in ended.stderr


def test_with_a_key_results_are_encrypted(
    few: Path, tmp_path: Path, in_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISCERAL_CAPTURE_KEY", KEY)
    results = tmp_path / "results.sqlite3"
    rules = tmp_path / "rules.json"
    ended = in_process(
        "rules", str(few), "-o", str(rules), "--with-results", str(results), "--verify-rate", "0"
    )
    assert "1 result seeded" in ended.stderr
    found = Seeded(rules, results, "")
    assert found.answers()["hours"] == HOURS
    monkeypatch.delenv("VISCERAL_CAPTURE_KEY")
    assert found.answers()["hours"] == "ran"
    for path in tmp_path.glob("results.sqlite3*"):
        assert b"09:00" not in path.read_bytes()


@pytest.mark.parametrize(
    ("place", "variables", "said"),
    [
        ("ftp://host/x", {}, "--with-results: ftp://host: names no store (ValueError)"),
        ("r.sqlite3", {"VISCERAL_CAPTURE_KEY": "no"}, "VISCERAL_CAPTURE_KEY: not the base64 text"),
        (
            "r.sqlite3",
            {"VISCERAL_WORKSPACE_KEY": f"a={KEY}", "VISCERAL_CAPTURE_KEY": ""},
            "VISCERAL_CAPTURE_KEY: not the base64 text",
        ),
    ],
)
def test_a_store_or_key_that_cannot_be_used_is_said_before_anything_is_written(
    traces: Path,
    tmp_path: Path,
    in_process: Any,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    variables: dict[str, str],
    said: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ended = in_process("rules", str(traces), "-o", "rules.json", "--with-results", place)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_is_one_clear_line(
    few: Path, tmp_path: Path, in_process: Any
) -> None:
    (tmp_path / "r.sqlite3").write_text("not a database, but something longer than its header" * 9)
    ended = in_process("rules", str(few), "-o", "rules.json", "--with-results", "r.sqlite3")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        "visceral: error: r.sqlite3: results cannot be written: SQLITE_NOTADB"
    )


def test_the_password_of_a_url_is_never_shown(few: Path, in_process: Any) -> None:
    place = "redis://somebody:hidden@127.0.0.1:1/0"
    ended = in_process("rules", str(few), "-o", "rules.json", "--with-results", place)
    assert ended.returncode == 2
    assert "redis://127.0.0.1:1" in ended.stderr
    assert "hidden" not in ended.stderr + ended.stdout
