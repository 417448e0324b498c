"""What starting the program costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

HEAVY = {
    "cryptography",
    "duckdb",
    "google",
    "ijson",
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


def test_help_starts_within_one_and_a_half_times_typer() -> None:
    def seconds(*arguments: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        return time.perf_counter() - began

    pairs = [
        (seconds("-c", "import typer"), seconds("-m", "visceral_cli", "--help")) for _ in range(7)
    ]
    typer_alone, help_shown = (min(column) for column in zip(*pairs, strict=True))
    assert help_shown <= 1.5 * typer_alone
