"""What an agent imports, and what that loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import visceral_cli

HEAVY = (
    "duckdb",
    "pyarrow",
    "msgspec",
    "numpy",
    "scipy",
    "typer",
    "rich",
    "google",
    "opentelemetry",
    "cryptography",
    "pydantic",
    "redis",
    "psycopg",
    "visceral_cli.cli",
    "visceral_cli.ingest",
    "visceral_cli.settings",
)


def loaded_by(code: str) -> set[str]:
    report = "import sys; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


def test_an_agent_loads_nothing_heavy():
    modules = loaded_by(
        "from visceral_cli import *\n"
        "from visceral_cli import tool, node, wrap, cached_tool_call\n"
        "get = tool('get', readonly=True, replay_safe=True)(lambda: 1)\n"
        "get()\n"
    )
    assert "visceral_cli.runtime.tool" in modules
    assert not {name for name in modules for heavy in HEAVY if (name + ".").startswith(f"{heavy}.")}


def test_importing_the_package_loads_none_of_its_modules():
    modules = loaded_by("import visceral_cli; visceral_cli.__version__")
    assert {name for name in modules if name.startswith("visceral_cli.")} == set()


@pytest.mark.parametrize("name", visceral_cli.__all__)
def test_every_public_name_is_there(name):
    assert getattr(visceral_cli, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        visceral_cli.nothing  # noqa: B018


def test_the_default_cache_is_a_file_in_the_users_cache_folder(tmp_path):
    got = visceral_cli.cached_tool_call("ns", ["get"], {"q": 1}, 60, lambda: "v")
    again = visceral_cli.cached_tool_call("ns", ["get"], {"q": 1}, 60, lambda: "w")
    assert (got.value, got.cached, again.value, again.cached) == ("v", False, "v", True)
