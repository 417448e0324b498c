"""The process that reading processes come from is there when it is needed, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.loading.fork_server import SMALL_INPUT_BYTES, has_fork_server, interrupts_later

if not has_fork_server():
    pytest.skip("this system has no fork server", allow_module_level=True)

RUN = """
import sys
from multiprocessing.forkserver import _forkserver
from visceral_cli.loading import fork_server

pids = []
fork_server.start_for(sys.argv[1:])
pids.append(_forkserver._forkserver_pid is not None)
fork_server.stop()
pids.append(_forkserver._forkserver_pid is not None)
print(*pids, "duckdb" in sys.modules)
"""


@pytest.mark.parametrize(
    ("size", "starts"), [(SMALL_INPUT_BYTES, False), (SMALL_INPUT_BYTES + 1, True)]
)
@pytest.mark.parametrize("in_folder", [True, False])
def test_it_starts_for_large_inputs_and_is_gone_after_reading(
    tmp_path: Path, size: int, starts: bool, in_folder: bool
) -> None:
    file = tmp_path / "spans.jsonl"
    with file.open("wb") as spans:
        spans.truncate(size)
    given = ["--strict", str(tmp_path if in_folder else file)]
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *given], check=True, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout.split() == [str(starts), "False", "False"]


def test_an_input_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "nowhere")],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.split() == ["False", "False", "False"]


WRONG = """
import sys
from multiprocessing.forkserver import _forkserver
from visceral_cli.loading import fork_server

fork_server.start_for([sys.argv[1]])
print(_forkserver._forkserver_pid is not None)

from visceral_cli.loading.fill import filled_store
from visceral_cli.progress import Silent
from visceral_cli.settings import Settings

with filled_store([sys.argv[2]], Settings(), Silent()):
    print(_forkserver._forkserver_pid is not None)
"""


def test_one_that_was_started_for_nothing_is_gone_once_the_store_is_filled(
    tmp_path: Path, export: Callable[..., str], span: Callable[..., Any]
) -> None:
    large, small = tmp_path / "large", tmp_path / "small.jsonl"
    with large.open("wb") as file:
        file.truncate(SMALL_INPUT_BYTES + 1)
    small.write_text(export([span(1)]) + "\n")
    ran = subprocess.run(
        [sys.executable, "-c", WRONG, str(large), str(small)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.split() == ["True", "False"]


class Asked(Exception):
    """Raised by the answer to a signal."""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_answered_as_ever_but_only_once_processes_are_started(sent: int) -> None:
    told = []

    def answer(number: int, frame: object) -> None:
        told.append(number)
        raise Asked

    def start() -> None:
        with interrupts_later():
            os.kill(os.getpid(), sent)
            told.append("started")

    before = signal.signal(sent, answer)
    try:
        with pytest.raises(Asked):
            start()
        assert told == ["started", sent]
        assert signal.getsignal(sent) is answer
    finally:
        signal.signal(sent, before)
