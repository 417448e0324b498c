"""Exit codes and streams, seen from outside."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from visceral_cli.cli import app
from visceral_cli.cli.lazy_group import COMMANDS
from visceral_cli.errors import ExitCode, InputError, UsageError
from visceral_cli.report.format_choice import CHECK_FORMATS, DIFF_FORMATS, REPORT_FORMATS
from visceral_cli.report.view import Format

Run = Callable[..., Any]


def test_the_answer_goes_to_stdout_and_nothing_else(visceral: Run, traces: Path) -> None:
    done = visceral("analyze", "traces")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "8 tool calls of 2 tools" in done.stdout
    assert "get_weather" in done.stdout


def test_json_is_json_and_the_same_every_time(visceral: Run, in_process: Run, traces: Path) -> None:
    first = visceral("analyze", "traces", "--json")
    second = in_process("analyze", "traces", "-fjson")
    assert first.stdout == second.stdout
    report = json.loads(first.stdout)
    assert report["inputs"]["tool_calls"] == 8
    assert report["totals"]["repeats"] == 5
    assert report["inputs"]["names"] == ["traces"]


def test_the_report_of_the_samples_fits_the_schema(
    in_process: Run, sample_traces: Path, tmp_path: Path
) -> None:
    schema = resources.files("visceral_cli.report") / "report.schema.json"
    done = in_process("analyze", str(sample_traces), "-o", "report.json", "-q")
    assert done.returncode == 0
    report = json.loads((tmp_path / "report.json").read_text())
    jsonschema.validate(report, json.loads(schema.read_text("utf-8")))
    assert len(report["tools"]) > 5


def test_a_saved_report_can_be_read_back(in_process: Run, traces: Path, tmp_path: Path) -> None:
    from visceral_cli.report.read_json import read_report

    assert in_process("analyze", "traces", "-o", "report.json").stdout == ""
    assert read_report(tmp_path / "report.json").inputs.tool_calls == 8


def test_rows_can_be_chosen(in_process: Run, traces: Path) -> None:
    done = in_process("analyze", "traces", "--rows", "groups", "-f", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {(row["tool"], row["repeats"]) for row in rows} == {("get_weather", "2"), ("clock", "1")}


def test_calls_come_one_a_row_without_arguments_unless_asked(in_process: Run, traces: Path) -> None:
    hidden = in_process("analyze", "traces", "--rows", "calls", "-f", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(hidden)))
    assert [row["verdict"] for row in rows].count("reusable") == 4
    assert "Rome" not in hidden
    assert "clear" not in hidden
    shown = in_process("analyze", "traces", "--rows", "calls", "-f", "jsonl", "--show-arguments")
    first = json.loads(shown.stdout.splitlines()[0])
    assert json.loads(first["arguments"]) == {"city": "Rome"}
    assert json.loads(first["result"]) == {"sky": "clear"}


@pytest.mark.parametrize(
    ("option", "calls"),
    [
        (["--tool", "clock"], 2),
        (["--since", "2026-05-04T12:00:10Z"], 7),
        (["--until", "2026-05-04T12:00:10Z"], 1),
        (["--exclude", "**/none.jsonl"], 8),
    ],
    ids=["tool", "since", "until", "exclude"],
)
def test_options_narrow_what_is_analysed(
    in_process: Run, traces: Path, option: list[str], calls: int
) -> None:
    done = in_process("analyze", "traces", "--json", *option)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["inputs"]["tool_calls"] == calls


def test_rules_are_a_document_even_when_there_are_none(in_process: Run, traces: Path) -> None:
    done = in_process("rules", "traces")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"format": 1, "rules": []}
    assert "note: 0 rules proven" in done.stderr
    document = json.loads(in_process("rules", "traces", "--include-candidates").stdout)
    assert {rule["status"] for rule in document["rules"]} <= {"candidate"}
    assert not any(rule["config"]["guard"]["read_only"] for rule in document["rules"])
    assert in_process("rules", "traces", "-q").stderr == ""


def test_ingest_counts_and_skips_what_it_has(
    in_process: Run, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = in_process("ingest", "traces", "--store", "s.duckdb")
    assert (first.returncode, first.stdout) == (0, "1 file loaded: 8 spans, 8 tool calls\n")
    monkeypatch.setenv("VISCERAL_STORE", "s.duckdb")
    again = in_process("ingest", "traces")
    assert again.stdout.startswith("0 files loaded, 1 already there")
    (traces / "notes.txt").write_text("not a span")
    for _ in range(2):  # once new, once known
        noted = in_process("ingest", "traces").stdout
        assert noted.startswith("0 files loaded, 1 already there, 1 other file left out: 8 spans")
    assert json.loads(in_process("analyze", "s.duckdb", "--json").stdout)["totals"]["repeats"] == 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["analyze"], 2, "no input is given"),
        (["analyze", "nowhere"], 3, "nowhere"),
        (["analyze", "traces", "--max-stale-rate", "20"], 2, "20 is above 1\n  hint: write 20%"),
        (["analyze", "traces", "--max-freshness", "soon"], 2, '"soon" is no duration'),
        (["analyze", "traces", "--color", "blue"], 2, '--color: "blue" is none of auto, always'),
        (["analyze", "traces", "--rows", "spans"], 2, '--rows: "spans" is none of tools'),
        (["analyze", "traces", "--rows", "calls"], 2, "-f csv"),
        (["analyze", "traces", "--json", "--rows", "calls"], 2, "json always holds everything"),
        (["analyze", "traces", "--json", "-f", "csv"], 2, "--json and -f csv exclude each other"),
        (["analyze", "traces", "-f", "pdf"], 2, 'no output format "pdf" here'),
        (["analyze", "traces", "-o", "x.pdf"], 2, "no format has the suffix .pdf"),
        (["analyze", "traces", "-o", "no/such/folder.json"], 2, "cannot be written"),
        (["analyze", "traces", "--topp", "3"], 2, "no such option: --topp"),
        (["analyze", "traces", "--top", "x"], 2, "--top"),
        (["analyze", "traces", "--top", "-1"], 2, "-1 is below 0"),
        (["analyze", "traces", "--config", "none.toml"], 2, "none.toml: no such file"),
        (["analyze", "traces", "--key-file", "none"], 2, "none: No such file"),
        (["ingest", "traces"], 2, "no store is given"),
        (["analise"], 2, "no such command"),
        (["explain", "reusabel"], 2, 'did you mean "reusable"?'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_told_in_one_line_on_stderr(
    in_process: Run, traces: Path, arguments: list[str], code: int, message: str
) -> None:
    done = in_process(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("visceral: error: ")
    assert message.lower() in done.stderr.lower()
    assert done.stderr.count("\n") <= 2


def test_without_a_command_the_help_is_shown_and_it_is_wrong_usage(in_process: Run) -> None:
    done = in_process()
    assert done.returncode == 2
    assert "Commands:" in done.stdout


def test_an_input_without_a_tool_call_is_no_success(in_process: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text('{"resourceSpans":[]}\n')
    done = in_process("analyze", "empty.jsonl")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("visceral: error: ")


def test_damage_is_a_note_and_with_strict_an_error(in_process: Run, traces: Path) -> None:
    with (traces / "spans.jsonl").open("a") as file:
        file.write('{"resourceSpans": [{"secret": \n')
    done = in_process("analyze", "traces")
    assert done.returncode == 0
    assert "visceral: note: skipped 1 damaged place in 1 file (-v lists them)" in done.stderr
    detailed = in_process("analyze", "traces", "-v").stderr
    assert "spans.jsonl:9: " in detailed
    assert "secret" not in detailed
    assert in_process("analyze", "traces", "-q").stderr == ""
    strict = in_process("analyze", "traces", "--strict")
    assert (strict.returncode, strict.stdout) == (3, "")
    assert "spans.jsonl:9" in strict.stderr


def test_a_misspelt_key_is_an_error_wherever_the_file_lies(
    in_process: Run, traces: Path, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.visceral.rules]\nmax-stale = '1%'\n")
    done = in_process("analyze", "traces")
    assert done.returncode == 2
    assert 'pyproject.toml: tool.visceral.rules: unknown key "max-stale"' in done.stderr
    assert 'did you mean "max-stale-rate"?' in done.stderr
    assert in_process("analyze", "traces", "--no-config").returncode == 0


def test_inputs_may_come_from_the_settings(in_process: Run, traces: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.visceral]\ninputs = ["traces/"]\n')
    done = in_process("analyze")
    assert done.returncode == 0
    assert "8 tool calls" in done.stdout
    assert "inputs" in in_process("config").stdout


def test_the_old_report_stays_whole_when_the_disk_is_full(in_process: Run, traces: Path) -> None:
    done = in_process("analyze", "traces", "--json", "-o", "/dev/full")
    assert done.returncode == 2
    assert "/dev/full: cannot be written: no space left on device" in done.stderr


def test_a_full_disk_behind_stdout_is_an_error(visceral: Run, traces: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = visceral("analyze", "traces", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert "stdout cannot be written: no space left on device" in done.stderr


@pytest.mark.parametrize("output_format", ["table", "csv", "parquet"])
def test_a_reader_that_goes_away_is_no_error(
    visceral: Run, traces: Path, output_format: str
) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = visceral("analyze", "traces", "-f", output_format, stdout=write, stderr=-1)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [(signal.SIGINT, 130, "visceral: interrupted\n"), (signal.SIGTERM, 143, "")],
)
def test_a_signal_ends_the_run_orderly(
    command: list[str],
    child_environment: dict[str, str],
    wait_until: Callable[[Callable[[], bool]], None],
    tmp_path: Path,
    sent: signal.Signals,
    code: int,
    said: str,
) -> None:
    with subprocess.Popen(
        [*command, "analyze", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment | {"TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        text=True,
    ) as child:
        wait_until(lambda: any(tmp_path.iterdir()))  # its temporary store
        child.send_signal(sent)
        out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (code, "", said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("a: wrong", hint="right"), ExitCode.USAGE, "error: a: wrong\n  hint: right\n"),
        (InputError("nothing"), ExitCode.INPUT, "visceral: error: nothing\n"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "visceral: interrupted\n"),
        (BrokenPipeError(), ExitCode.DONE, ""),
    ],
)
def test_every_way_out_has_its_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    said: str,
) -> None:
    assert ended_with(monkeypatch, error, []) == code
    assert capsys.readouterr().err.endswith(said)


def test_a_bug_shows_its_stack_but_no_value_of_the_traces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = ValueError("no such city: secret")
    bug.__cause__ = KeyError("secret")
    assert ended_with(monkeypatch, bug, []) == ExitCode.BUG
    said = capsys.readouterr().err
    assert "secret" not in said
    assert "KeyError\n" in said
    assert 'test_app.py", line' in said
    assert said.endswith(
        "this is a bug in visceral\n  hint: please report it with the lines above\n"
    )
    assert ended_with(monkeypatch, bug, ["--show-arguments"]) == ExitCode.BUG
    assert "no such city: secret" in capsys.readouterr().err


def ended_with(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, arguments: list[str]
) -> int | str | None:
    def fail(arguments: list[str]) -> None:
        raise error

    monkeypatch.setattr(app, "_run", fail)
    with pytest.raises(SystemExit) as end:
        app.main(arguments)
    return end.value.code


def test_help_explains_every_command_and_option(in_process: Run) -> None:
    overview = in_process("--help").stdout
    assert "..." not in overview.partition("Commands:")[2]
    commands = typer.main.get_command(app.app).commands  # type: ignore[attr-defined]
    assert list(commands) == list(COMMANDS)
    for name, command in commands.items():
        assert f"  {name}" in overview
        text = in_process(name, "--help").stdout
        for parameter in command.params:
            assert parameter.help, (name, parameter.name)
            assert " ".join(parameter.help.split()[:2]) in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("analyze", REPORT_FORMATS),
        ("report", REPORT_FORMATS),
        ("check", CHECK_FORMATS),
        ("verify", CHECK_FORMATS),
        ("diff", DIFF_FORMATS),
    ],
)
def test_help_names_the_formats_that_a_command_carries(
    name: str, formats: tuple[Format, ...]
) -> None:
    command = typer.main.get_command(app.app).commands[name]  # type: ignore[attr-defined]
    (said,) = [each.help for each in command.params if each.name == "output_format"]
    assert set(re.findall(r"\w+", said)) & set(Format) == set(formats)


def test_both_names_and_the_module_are_the_same_program(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("visceral", "visceral-cli"):
        script = Path(sys.executable).with_name(name)
        if not script.exists():
            pytest.skip("the package is not installed, only on the path")
        done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("visceral ")
