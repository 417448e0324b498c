"""The fixtures of the runtime's tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_place = Path(__file__).parent.parent / "runtime" / "conftest.py"
_spec = importlib.util.spec_from_file_location("runtime_fixtures", _place)
assert _spec is not None
assert _spec.loader is not None
_fixtures = importlib.util.module_from_spec(_spec)
sys.modules["runtime_fixtures"] = _fixtures
_spec.loader.exec_module(_fixtures)
agent, folder, rule = _fixtures.agent, _fixtures.folder, _fixtures.rule
_own_environment = _fixtures._own_environment
