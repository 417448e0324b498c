"""Threads, tasks and processes on one results file, with writers, kills and a full disk.

Heavy, so it runs only when asked: ``VISCERAL_SOAK_SECONDS=600 python -m pytest tests/soak``.
``VISCERAL_SOAK_STORE`` names another store than a file, by its URL. As root the file lies on a
small file system in memory that is filled up now and then; otherwise the disk never becomes full.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = float(os.environ.get("VISCERAL_SOAK_SECONDS", "0"))
PROCESSES = 4
THREADS = 50
TASKS = 50
WORKER = Path(__file__).with_name("soak_worker.py")

pytestmark = pytest.mark.skipif(
    SECONDS <= 0, reason="soak: runs when VISCERAL_SOAK_SECONDS says how long"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB where that can be made; the log of a store alone may take 4."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(disk)]
    mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    yield disk
    if mounted:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def start(place: str, folder: Path, seed: int, seconds: float) -> subprocess.Popen[bytes]:
    counts = (str(-(-THREADS // PROCESSES)), str(-(-TASKS // PROCESSES)))
    command = [sys.executable, str(WORKER), place, str(folder), str(seed), *counts, str(seconds)]
    return subprocess.Popen(command)


def fill(disk: Path) -> Path:
    """Leave no room on the disk, if it is the small one."""
    filler = disk / "filler"
    if shutil.disk_usage(disk).total > 32 << 20:
        return filler
    with filler.open("wb", buffering=0) as out:
        for size in (65_536, 4096, 512):
            with contextlib.suppress(OSError):
                while out.write(b"x" * size) == size:
                    pass
    return filler


def test_no_stale_answer_no_exception(tmp_path: Path, small_disk: Path):
    (tmp_path / "world").write_bytes(bytes(4096))
    place = os.environ.get("VISCERAL_SOAK_STORE") or str(small_disk / "results.sqlite3")
    rng = random.Random(1)
    until = time.monotonic() + SECONDS
    workers = [start(place, tmp_path, number, SECONDS) for number in range(PROCESSES)]
    kills = fills = 0
    while (left := until - time.monotonic()) > 5:
        time.sleep(min(rng.uniform(2, 5), left))
        if rng.random() < 0.3:
            filler = fill(small_disk)
            time.sleep(rng.uniform(0.5, 2))
            filler.unlink(missing_ok=True)
            fills += 1
        else:
            place_of_victim = rng.randrange(PROCESSES)
            workers[place_of_victim].send_signal(signal.SIGKILL)
            workers[place_of_victim].wait()
            kills += 1
            left = until - time.monotonic()
            workers[place_of_victim] = start(place, tmp_path, 100 + kills, max(1.0, left))
    assert [worker.wait(120) for worker in workers] == [0] * PROCESSES
    findings = tmp_path / "findings.jsonl"
    told = findings.read_text().splitlines() if findings.exists() else []
    totals: collections.Counter[str] = collections.Counter()
    for counts in tmp_path.glob("counts-*.json"):
        totals.update(json.loads(counts.read_text()))
    sys.stderr.write(f"\n{SECONDS:g} s, {kills} kills, {fills} full disks, {dict(totals)}\n")
    assert told[:20] == []
    assert totals["cached"] > 0
    assert totals["written"] > 0
    assert totals["outcome verified"] > 0
    for path in tmp_path.glob("traces*.jsonl*"):
        for line in path.read_text("ascii").splitlines():
            assert json.loads(line)["resourceSpans"]
    assert_nothing_is_lost(place)


KEEPER = """
import os, signal, sys
from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.result_cache import ResultCache
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.stores.open_store import open_store

place, dies = sys.argv[1], sys.argv[2] == "dies"
cache = ResultCache(Results(open_store(place), seconds=lambda: 5.0), Runtime)
for number in range(100):
    got = cache.call("kept", ["k"], {"n": number}, 60, lambda: {"n": number})
    assert got.value == {"n": number}
    assert got.cached != dies, number
if dies:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def assert_nothing_is_lost(place: str) -> None:
    """What one process has kept another one finds, though the first was killed right after."""
    for what, code in (("dies", -signal.SIGKILL), ("reads", 0), ("reads", 0)):
        command = [sys.executable, "-c", KEEPER, place, what]
        assert subprocess.run(command, timeout=120, check=False).returncode == code
