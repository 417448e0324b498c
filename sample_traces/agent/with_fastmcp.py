"""FastMCP: middleware that answers calls of a server from the cache, no rules needed. Offline.

pip install visceral-cli[fastmcp] && python sample_traces/agent/with_fastmcp.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from fastmcp import Client, FastMCP
from one_rule import told

from visceral_cli import wrap
from visceral_cli.runtime.adapters.fastmcp import CachedTools
from visceral_cli.runtime.wrap import unwrap

RUNS: list[str] = []

server: FastMCP[None] = FastMCP("library-desk")
server.add_middleware(CachedTools("library-desk", {"opening_hours": 600}))


@server.tool
def opening_hours(branch: str) -> dict[str, str]:
    """Tell when a branch of the library is open."""
    RUNS.append(branch)
    return {"open": "09:00", "close": "18:00"}


@server.tool
def set_hours(branch: str, close: str) -> str:
    """Change them: a writer, since nothing says otherwise."""
    return "changed"


async def ask(*calls: tuple[str, dict[str, str]]) -> list[str]:
    """Call tools of the server as a client of it does."""
    async with Client(server) as client:
        results = [await client.call_tool(*call) for call in calls]
    return [str(result.data) for result in results]


def main() -> None:
    """Ask, write and ask again, and say how often the tool ran."""
    hours = ("opening_hours", {"branch": "park"})
    change = ("set_hours", {"branch": "park", "close": "17:00"})
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        wrap(
            None,
            "library-desk",
            results=folder / "results.sqlite3",
            trace_file=folder / "traces.jsonl",
        )
        seen = asyncio.run(ask(hours, hours, hours))
        sys.stdout.write(f"asked {len(seen)} times, ran {len(RUNS)}: {told()}\n")
        sys.stdout.write(f"the client saw: {', '.join(sorted(set(seen)))}\n")
        asyncio.run(ask(change, hours))
        sys.stdout.write(f"after a writer it ran again: {len(RUNS)} times in all\n")
        unwrap()


if __name__ == "__main__":
    main()
