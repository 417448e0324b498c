"""Real servers, started when they and their clients are installed; skipped by name otherwise."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from visceral_cli.runtime.stores.open_store import open_store as open_any

RUNTIME_TESTS = Path(__file__).parent.parent / "runtime"


def load(name: str) -> ModuleType:
    """Return a module of the tests of the runtime."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, RUNTIME_TESTS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


sys.modules["runtime_servers_conftest"] = sys.modules[__name__]
if "cache_requirements" not in sys.modules:  # another folder's run may have loaded it
    pytest.register_assert_rewrite("cache_requirements")
_shared = importlib.util.spec_from_file_location("runtime_fixtures", RUNTIME_TESTS / "conftest.py")
assert _shared is not None
assert _shared.loader is not None
_fixtures = importlib.util.module_from_spec(_shared)
sys.modules["runtime_fixtures"] = _fixtures
_shared.loader.exec_module(_fixtures)
agent, clock, folder, rule = (
    _fixtures.agent,
    _fixtures.clock,
    _fixtures.folder,
    _fixtures.rule,
)
_own_environment = _fixtures._own_environment


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(is_up: Callable[[], bool]) -> None:
    for _ in range(300):
        if is_up():
            return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    redis = pytest.importorskip("redis", reason="redis client not installed")
    server = shutil.which("redis-server") or shutil.which("valkey-server")
    if server is None:
        pytest.skip("redis-server not installed")
    port = free_port()
    options = ["--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    folder = tmp_path_factory.mktemp("redis")
    process = subprocess.Popen([server, *options], cwd=folder, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"

    def is_up() -> bool:
        client = redis.Redis.from_url(url)
        try:
            return bool(client.ping())
        except redis.exceptions.RedisError:
            return False
        finally:
            client.close()

    wait_for(is_up)
    yield url
    process.terminate()
    process.wait(30)


def postgres_program(name: str) -> str | None:
    found = shutil.which(name)
    if found:
        return found
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else None


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg", reason="psycopg not installed")
    server, initdb = postgres_program("postgres"), postgres_program("initdb")
    if server is None or initdb is None:
        pytest.skip("postgresql not installed")
    # not in pytest's folder: that is closed to the server's user, and every pytest closes it again
    folder = Path(tempfile.mkdtemp(prefix="visceral-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None:
            pytest.skip("postgresql does not run as root")
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    data = folder / "data"
    subprocess.run(
        [*as_user, initdb, "-D", str(data), "-A", "trust", "-U", "tests", "-E", "UTF8"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    port = free_port()
    settings = ["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]
    process = subprocess.Popen(
        [*as_user, server, "-D", str(data), "-p", str(port), "-k", str(folder), "-F", *settings],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    url = f"postgresql://tests@127.0.0.1:{port}/postgres"

    def is_up() -> bool:
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            return False
        return True

    wait_for(is_up)
    yield url
    process.terminate()
    process.wait(30)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def open_store(place: str) -> Callable[..., Any]:
    """Return a function that opens a store at a place, which is emptied before."""

    def open_it(**options: Any) -> Any:
        return open_any(place, **options)

    store = open_any(place)
    store.discard()
    store.close()
    return open_it
