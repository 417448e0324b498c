"""Fixtures that every folder of tests may use."""

from pathlib import Path

import pytest

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
