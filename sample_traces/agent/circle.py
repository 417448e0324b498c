"""The whole circle on this machine, offline: record, analyze, rules, serve, verify.

    python sample_traces/agent/circle.py [FOLDER]

Takes about 45 seconds; nearly all of it is the recording, since a rule needs at least 30 seconds of
traces to be proven.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

AGENT = Path(__file__).with_name("agent.py")
PYTHON = sys.executable


def run(*command: str) -> None:
    """Show a command as one would type it, and run it."""
    shown = " ".join(command).replace(f"{PYTHON} -m visceral_cli", "visceral")
    sys.stdout.write(f"$ {shown.replace(PYTHON, 'python')}\n")
    sys.stdout.flush()
    subprocess.run(command, check=True)
    sys.stdout.write("\n")


def circle(folder: Path) -> None:
    """Run the circle; its files stay in the folder."""
    record, served = str(folder / "record.jsonl"), str(folder / "served.jsonl")
    rules, results = str(folder / "rules.json"), str(folder / "results.sqlite3")
    visceral = (PYTHON, "-m", "visceral_cli")
    run(PYTHON, str(AGENT), "--traces", record, "--visitors", "600", "--seconds", "36")
    run(*visceral, "analyze", record)
    run(*visceral, "rules", record, "-o", rules)
    run(PYTHON, str(AGENT), "--traces", served, "--rules", rules, "--results", results)
    run(*visceral, "verify", served, "--rules", rules)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        circle(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            circle(Path(made))
