"""The command in a process of its own, and small span files for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "visceral_cli"]

SECOND = 1_000_000_000
START = 1_777_896_000 * SECOND

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment without what the program or Rich would listen to."""
    left_out = ("VISCERAL_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PYTEST_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
    root = str(Path(__file__).parent.parent.parent)
    return kept | {"PYTHONPATH": root, "TERM": "xterm-256color"} | more


@pytest.fixture
def visceral(tmp_path: Path) -> Run:
    """Run the command in an empty folder; text in, text out."""

    def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        variables = more.pop("environment", {})
        assert isinstance(variables, Mapping)
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env=environment(**variables),
            capture_output="stdout" not in more,
            text=True,
            timeout=60,
            check=False,
            **more,  # type: ignore[call-overload]
        )

    return run


@dataclass(frozen=True)
class Ended:
    """How a run ended, like a finished process."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Run the command in this process, in an empty folder: it starts much faster."""
    from visceral_cli.cli import app

    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("VISCERAL_")]:
        monkeypatch.delenv(variable)

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            app.main(list(arguments))
        captured = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Ended(int(end.value.code), captured.out, captured.err)

    return run


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """A folder with a file of spans: ``get_weather`` repeats with the same result."""
    folder = tmp_path / "traces"
    folder.mkdir()
    calls = [("get_weather", {"city": city}, {"sky": "clear"}) for city in ("Rome", "Oslo") * 3]
    write_spans(
        folder / "spans.jsonl", [*calls, ("clock", {}, {"now": 1}), ("clock", {}, {"now": 2})]
    )
    return folder


def write_spans(path: Path, calls: Iterable[tuple[str, object, object]]) -> None:
    """Write one OTLP JSON line for each call of (tool, arguments, result), 10 s apart."""
    lines = [_line(number, *call) for number, call in enumerate(calls)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _line(number: int, tool: str, arguments: object, result: object) -> str:
    start = START + 10 * number * SECOND
    attributes: Sequence[tuple[str, str]] = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", tool),
        ("gen_ai.tool.call.arguments", json.dumps(arguments)),
        ("gen_ai.tool.call.result", json.dumps(result)),
    ]
    span = {
        "traceId": f"{1 + number // 4:032x}",
        "spanId": f"{number + 1:016x}",
        "name": f"execute_tool {tool}",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + SECOND // 2),
        "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in attributes],
        "status": {},
    }
    service = {"key": "service.name", "value": {"stringValue": "shop"}}
    resource = {"attributes": [service]}
    scopes = [{"scope": {"name": "test"}, "spans": [span]}]
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]})


@pytest.fixture
def command() -> list[str]:
    """The program as a list of words."""
    return COMMAND


@pytest.fixture
def child_environment() -> dict[str, str]:
    """Variables for the program."""
    return environment()


@pytest.fixture(name="write_spans")
def span_writer() -> Callable[..., None]:
    """Writes OTLP JSON lines."""
    return write_spans


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    """Wait for something that another process does."""

    def wait(holds: Callable[[], bool]) -> None:
        for _ in range(400):
            if holds():
                return
            time.sleep(0.05)
        raise AssertionError("it never came to that")

    return wait
