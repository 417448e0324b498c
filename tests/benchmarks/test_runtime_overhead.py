"""Our decorator beside the SDK's, on the same work in one run; nothing is held against a clock."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("visceral") is None:
    pytest.skip("the SDK visceral-ai is not installed", allow_module_level=True)

SCRIPT = Path(__file__).with_name("runtime_overhead.py")
ROUNDS = 15


@pytest.fixture(scope="module")
def rounds() -> dict[str, list[list[float]]]:
    """Time passed and processor time, by row and round; the rows take turns."""
    command = [sys.executable, "-B", SCRIPT, "--json", "--rounds", str(ROUNDS), "--calls", "100"]
    run = subprocess.run(command, check=True, timeout=300, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def ratio(rounds: dict[str, list[list[float]]], ours: str, theirs: str) -> float:
    """The median of the rounds: one that was disturbed, on either side, decides nothing."""
    pairs = zip(rounds[ours], rounds[theirs], strict=True)
    return statistics.median(our[0] / their[0] for our, their in pairs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("@tool, capture", "SDK @tool, capture"),
        ("@tool, no rule matches", "SDK @tool, no rule matches"),
        ("@tool, served from sqlite", "SDK @tool, served over HTTP"),
        ("cached_tool_call, hit in sqlite", "SDK @tool, served over HTTP"),
    ],
)
def test_a_call_takes_no_longer_than_the_sdks(rounds, ours, theirs):
    assert ratio(rounds, ours, theirs) < 1


def test_served_from_redis_takes_no_longer_than_the_sdk_over_http(rounds):
    if "@tool, served from Redis" not in rounds:
        pytest.skip("redis-server or its client is not installed")
    assert ratio(rounds, "@tool, served from Redis", "SDK @tool, served over HTTP") < 1


def test_the_rest_of_a_capture_costs_less_than_three_times_its_hashes(rounds):
    # The quickest round of each: what else the machine does only adds to it.
    whole, *parts = (
        min(each[1] for each in rounds[name])
        for name in ("@tool, capture", "  hashing the arguments", "  hashing the result")
    )
    assert whole - sum(parts) < 3 * sum(parts)
