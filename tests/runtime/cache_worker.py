"""Another process that uses a store: ``cache_worker.py WHAT PLACE FILE``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.result_cache import ResultCache
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.stores.open_store import open_store


def main(what: str, place: str, ran: str) -> None:
    """Ask the usual question once; the call says in a file that it ran."""
    cache = ResultCache(Results(open_store(place), seconds=lambda: 5.0), Runtime)

    def call() -> str:
        with Path(ran).open("a") as out:
            out.write("ran\n")
        time.sleep(1.5)
        return "the only answer"

    if what == "once":
        sys.stdout.write(cache.call("ns", ["get"], {"q": 1}, 600, call).value)
    elif what == "die-while-executing":
        cache.call("ns", ["get"], {"q": 1}, 600, lambda: (call(), time.sleep(60)))


if __name__ == "__main__":
    main(*sys.argv[1:])
