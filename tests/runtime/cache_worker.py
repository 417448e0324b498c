"""Another process that uses a store: ``cache_worker.py WHAT PLACE FILE``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.result_cache import ResultCache
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.stores.open_store import open_store

LEASE_SECONDS = 2.0


def main(what: str, place: str, ran: str) -> None:
    """Ask the usual question once; the call says in a file that it ran."""
    store = open_store(place, lease_seconds=LEASE_SECONDS)
    results = Results(store, seconds=lambda: 5.0, lease_seconds=LEASE_SECONDS)
    cache = ResultCache(results, Runtime)

    def call() -> str:
        with Path(ran).open("a") as out:
            out.write("ran\n")
        time.sleep(1.5)
        return "the only answer"

    if what == "once":
        sys.stdout.write(cache.call("ns", ["get"], {"q": 1}, 600, call).value)
    elif what == "write":
        with cache.writing("ns"):
            sys.stdout.write("writing\n")
            sys.stdout.flush()
            sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
