"""The whole circle of the example agent, and that the README shows what it prints.

Takes a minute, so it runs only when asked: ``VISCERAL_CIRCLE=1 python -m pytest tests/benchmarks``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.skipif(
    os.environ.get("VISCERAL_CIRCLE") != "1", reason="circle: runs when VISCERAL_CIRCLE is 1"
)


def shape(line: str) -> str:
    """Return a line without its numbers, and with the names of files alone."""
    return re.sub(r"\d[\d,.]*", "#", re.sub(r"(?<=\s)\S*/(?=\S+\.)", "", line)).strip()


def test_the_circle_closes_and_the_readme_shows_it(tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("VISCERAL_")}
    circle = PROJECT / "sample_traces" / "agent" / "circle.py"
    ran = subprocess.run(
        [sys.executable, str(circle), str(tmp_path)],
        env=clean,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "0 rules broken" in ran.stderr
    served = re.search(r"opening_hours: (\d+) hit, .* (\d+) verified", ran.stdout)
    assert served is not None
    assert int(served[1]) > 0
    printed = {shape(line) for line in (ran.stdout + ran.stderr).splitlines()}
    readme = (PROJECT / "README.md").read_text("utf-8")
    (block,) = re.findall(r"^```text\n(\$ python agent\.py .*?)^```$", readme, re.M | re.S)
    shown = [shape(line) for line in block.splitlines() if line.strip() not in ("", "...")]
    assert [line for line in shown if line not in printed] == []
