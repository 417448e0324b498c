"""A Redis server for the time of a benchmark, if one is installed."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time


class LeftOut(Exception):
    """It cannot be measured here; the message says why."""


def start_redis(end: contextlib.ExitStack) -> str:
    """Return the URL of a server of our own; raises `LeftOut` if client or server is missing."""
    if importlib.util.find_spec("redis") is None:
        raise LeftOut("the redis client is not installed")
    server = shutil.which("redis-server") or shutil.which("valkey-server")
    if server is None:
        raise LeftOut("redis-server is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = end.enter_context(tempfile.TemporaryDirectory())
    options = ["--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    process = end.enter_context(
        subprocess.Popen([server, *options], cwd=folder, stdout=subprocess.DEVNULL)
    )
    end.callback(process.terminate)
    for _ in range(300):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return f"redis://127.0.0.1:{port}/0"
        time.sleep(0.05)
    raise LeftOut("redis-server does not answer")
