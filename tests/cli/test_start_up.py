"""What starting the program loads. How long it takes is measured in ``tests/benchmarks``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from visceral_cli.loading.fork_server import SMALL_INPUT_BYTES, has_fork_server

HEAVY = {
    "cryptography",
    "duckdb",
    "google",
    "msgspec",
    "numpy",
    "opentelemetry",
    "pyarrow",
    "rich",
    "scipy",
    "zstandard",
}

LOADED = """
import json, sys
from visceral_cli.cli.app import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print(json.dumps([end.code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["analyze", "--help"], 0),
        (["--version"], 0),
        (["config", "--no-config"], 0),
        (["analyze", "x", "--max-stale-rate", "20"], 2),
        (["check", "--help"], 0),
        (["check", "x", "--max-duplicate-rate", "20"], 2),
        (["diff", "--help"], 0),
        (["no-such-command"], 2),
        (["explain", "retry", "--no-config"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_what_needs_no_data_loads_nothing_heavy(arguments: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True
    )
    ended, loaded = json.loads(done.stdout.splitlines()[-1])
    assert ended == code
    assert not HEAVY & set(loaded)


def imported(statement: str) -> set[str]:
    """Return the names of all modules that a new process has after a statement."""
    code = f"import json, sys; {statement}; print(json.dumps(list(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def test_what_each_reading_process_imports_as_its_main_module_is_next_to_nothing() -> None:
    loaded = imported("import visceral_cli.cli.start")
    assert not (HEAVY | {"typer", "click", "pydantic"}) & loaded
    ours = {name for name in loaded if name.startswith("visceral_cli")}
    assert ours == {"visceral_cli", "visceral_cli.cli", "visceral_cli.cli.start"}


def test_what_asks_for_reading_needs_none_of_what_reads() -> None:
    loaded = imported("import visceral_cli.pipeline, visceral_cli.cli.session")
    assert not {"numpy", "pyarrow", "google.protobuf", "pydantic", "cryptography"} & loaded
    assert "visceral_cli.calls.extract" not in loaded


@pytest.mark.parametrize("module", ["pipeline", "loading.worker"])
def test_reading_waits_for_no_import_of_what_comes_after_it(module: str) -> None:
    loaded = imported(f"import visceral_cli.{module}")
    later = {"stages", "report", "gate", "verify", "rules", "analysis", "cli"}
    assert not {f"visceral_cli.{name}" for name in later} & loaded
    seldom = {"pyarrow.compute", "pyarrow.parquet", "pyarrow.dataset", "scipy", "rich", "typer"}
    assert not seldom & loaded


def test_a_reading_process_does_without_the_store_and_mostly_without_protobuf() -> None:
    loaded = imported("import visceral_cli.loading.preload")
    assert not {"duckdb", "google.protobuf"} & loaded


STARTED = """
import sys
from multiprocessing.forkserver import _forkserver

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "visceral_cli.cli.app":
            print(_forkserver._forkserver_pid is not None)
            raise SystemExit

sys.meta_path.insert(0, Watch())
sys.argv[0] = "visceral"
from visceral_cli.cli.start import main
main()
"""


@pytest.mark.skipif(not has_fork_server(), reason="this system has no fork server")
@pytest.mark.parametrize(
    ("command", "size", "starts"),
    [
        ("analyze", SMALL_INPUT_BYTES + 1, True),
        ("ingest", SMALL_INPUT_BYTES + 1, True),
        ("analyze", SMALL_INPUT_BYTES, False),
        ("report", SMALL_INPUT_BYTES + 1, False),
        ("--version", SMALL_INPUT_BYTES + 1, False),
    ],
)
def test_reading_processes_are_made_ready_before_the_command_line_is_imported(
    tmp_path: Path, command: str, size: int, starts: bool
) -> None:
    file = tmp_path / "spans.jsonl"
    with file.open("wb") as spans:
        spans.truncate(size)
    arguments = [sys.executable, "-c", STARTED, command, "-q", str(file)]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)
    assert (ran.stdout, ran.stderr) == (f"{starts}\n", "")


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "visceral_cli.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from visceral_cli.cli.start import main
main()
"""


def test_an_interrupt_while_the_command_line_is_imported_is_answered_as_any_other() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "visceral: interrupted\n")


ENDED = """
import signal, sys

class Ending:
    def find_spec(self, name, path=None, target=None):
        if name == "visceral_cli.cli.app":
            signal.raise_signal(signal.SIGTERM)

sys.meta_path.insert(0, Ending())
from visceral_cli.cli.start import main
main()
"""


def test_a_request_to_end_while_the_command_line_is_imported_is_answered_as_any_other() -> None:
    ran = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (143, "", "")


INTERRUPTED_IMPORT = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "duckdb":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
try:
    import visceral_cli.pipeline
except KeyboardInterrupt:
    print("visceral_cli.loading.fill" in sys.modules, "_duckdb" in sys.modules)
"""


def test_an_interrupt_waits_until_duckdb_is_imported() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "True True\n"


INTERRUPTED_CLASS = """
import signal, sys

class Named:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "visceral_cli.cli.session":
            type("Made", (), {"named": Named()})

sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = ["config", "--no-config"]
from visceral_cli.cli.start import main
main()
"""


def test_an_interrupt_of_a_class_being_made_is_answered_as_any_other() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_CLASS], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "visceral: interrupted\n")


COLLECTING = """
import gc, sys
from visceral_cli.cli.start import main
try:
    main()
except SystemExit as end:
    print(end.code, gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr)
"""
SAMPLES = Path(__file__).parents[2] / "sample_traces"


@pytest.mark.parametrize("command", [["analyze"], ["curve", "get_weather"]])
def test_garbage_is_collected_again_once_all_is_imported(command: list[str]) -> None:
    arguments = [sys.executable, "-c", COLLECTING, *command, str(SAMPLES), "-q"]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stderr == "0 True True\n"
