"""What starting the program loads. How long it takes is measured in ``tests/benchmarks``."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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
