"""Fixtures that every folder of tests may use."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of the code; and where a change is judged, every run judges alike.
settings.register_profile(
    "visceral",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("visceral")

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The corpus of real traces beside the project; on other machines the test is skipped."""
    folder = PROJECT.parent / "shared"
    if not (folder / "traces" / "real").is_dir():
        pytest.skip("shared corpus not present")
    return folder


@pytest.fixture(scope="session")
def sample_traces() -> Path:
    """The sample traces of the project."""
    return PROJECT / "sample_traces"
