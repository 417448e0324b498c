"""The environment variables of this process; no other module of the command line reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping


def process_environment() -> Mapping[str, str]:
    """Return the environment."""
    return os.environ


def is_completing(program: str) -> bool:
    """Return whether the shell asks for completions of ``program``."""
    return f"_{program.replace('-', '_').upper()}_COMPLETE" in process_environment()
