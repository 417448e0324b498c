"""The process that reading processes come from is there when it is needed, and only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from visceral_cli.loading.fork_server import METHOD, SMALL_INPUT_BYTES

if METHOD != "forkserver":
    pytest.skip("this system has no fork server", allow_module_level=True)

RUN = """
import sys
from multiprocessing.forkserver import _forkserver
from visceral_cli.loading import fork_server

pids = []
fork_server.start_for([sys.argv[1]], int(sys.argv[2]) or None)
pids.append(_forkserver._forkserver_pid is not None)
fork_server.stop()
pids.append(_forkserver._forkserver_pid is not None)
print(*pids, "duckdb" in sys.modules)
"""


@pytest.mark.parametrize(
    ("size", "workers", "starts"),
    [
        (SMALL_INPUT_BYTES, 0, False),
        (SMALL_INPUT_BYTES + 1, 0, True),
        (SMALL_INPUT_BYTES + 1, 1, False),
    ],
)
@pytest.mark.parametrize("in_folder", [True, False])
def test_it_starts_for_large_inputs_and_is_gone_after_reading(
    tmp_path: Path, size: int, workers: int, starts: bool, in_folder: bool
) -> None:
    file = tmp_path / "spans.jsonl"
    with file.open("wb") as spans:
        spans.truncate(size)
    given = [str(tmp_path if in_folder else file), str(workers)]
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *given], check=True, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.split() == [str(starts), "False", "False"]


def test_an_input_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "nowhere"), "0"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.split() == ["False", "False", "False"]
