"""The examples with a framework: they run without a network and print what their page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

AGENT = Path(__file__).parent.parent.parent / "sample_traces" / "agent"
NEEDS = {
    "with_fastmcp.py": ["fastmcp"],
    "with_langchain.py": ["langchain_core", "langgraph"],
    "with_openai_agents.py": ["agents"],
    "with_pydantic_ai.py": ["pydantic_ai"],
}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_NETWORK = dict.fromkeys(PROXIES, "http://127.0.0.1:9")


def test_every_example_is_run_here():
    assert sorted(path.name for path in AGENT.glob("with_*.py")) == sorted(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs_offline_and_prints_what_its_page_shows(name):
    missing = [package for package in NEEDS[name] if find_spec(package) is None]
    if missing:
        pytest.skip(f"{missing[0]} not installed")
    page = (AGENT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```text\n\$ python (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = dict(blocks)[f"sample_traces/agent/{name}"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("VISCERAL_")}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(AGENT / name)],
        env=clean | NO_NETWORK,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == shown
