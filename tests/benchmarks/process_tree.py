"""Run a command and watch the memory of its whole process tree (Linux)."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Ran:
    """How long a command took, and the most memory its processes held together."""

    seconds: float
    peak_pss_bytes: int = 0
    """Proportional set size: pages that processes share count once. What the machine loses."""
    peak_rss_bytes: int = 0
    """Resident set sizes added up: shared pages count once for every process."""


def run(command: Sequence[str | Path], *, env: dict[str, str] | None = None) -> Ran:
    """Run ``command`` without watching it.

    Raises:
        subprocess.CalledProcessError: it did not exit with 0.
    """
    began = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        env=None if env is None else os.environ | env,
    )
    return Ran(time.perf_counter() - began)


def run_watched(command: Sequence[str | Path], *, every_seconds: float = 0.05) -> Ran:
    """Run ``command``; sum the memory of its tree every ``every_seconds``."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak_pss = peak_rss = 0
    while process.poll() is None:
        pss, rss = tree_memory(process.pid)
        peak_pss, peak_rss = max(peak_pss, pss), max(peak_rss, rss)
        time.sleep(every_seconds)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(map(str, command)))
    return Ran(time.perf_counter() - began, peak_pss, peak_rss)


def tree_memory(root: int) -> tuple[int, int]:
    """Return the proportional and the resident bytes of ``root`` and all its descendants."""
    pss = rss = 0
    for pid in _tree(root):
        try:
            text = (PROC / str(pid) / "smaps_rollup").read_text()
        except OSError:  # it has ended
            continue
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name == "Pss":
                pss += int(value.split()[0]) * 1024
            elif name == "Rss":
                rss += int(value.split()[0]) * 1024
    return pss, rss


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        parent = int(stat.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found
