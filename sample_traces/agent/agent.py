"""A small agent whose tools carry ``@tool``: the front desk of a library, without a model.

    python sample_traces/agent/agent.py --traces TRACES.jsonl [--rules RULES.json --results FILE]

Each visitor is one run: the desk looks up the opening hours of a branch several times, counts the
free copies of a book before and after it lends one, and asks for the time. Nothing here is real
but the calls; a lookup takes a few milliseconds, as if it went over a network.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from visceral_cli import acting_for, node, tool, wrap
from visceral_cli.runtime.wrap import outcomes, unwrap

BRANCHES = ("north", "harbour", "park", "station")
HOURS = {
    branch: {"branch": branch, "open": "09:00", "close": f"{17 + number}:00"}
    for number, branch in enumerate(BRANCHES)
}
COPIES = dict.fromkeys(("atlas", "almanac"), 1000)


@tool("opening_hours", readonly=True, replay_safe=True)
def opening_hours(branch: str) -> dict[str, str]:
    """Never changes while the agent runs: the call that is worth a rule."""
    time.sleep(0.004)
    return dict(HOURS[branch])


@tool("free_copies", readonly=True, replay_safe=True)
def free_copies(book: str) -> int:
    """Changes with every loan."""
    time.sleep(0.002)
    return COPIES[book]


@tool("lend")
def lend(book: str) -> str:
    """Writes: in its run, nothing that was read before is served any more."""
    time.sleep(0.002)
    COPIES[book] -= 1
    return "lent"


@tool("time_of_day", readonly=True)
def time_of_day() -> float:
    """Reads, but is different each time: its author does not call it replay-safe."""
    return time.time()


@node("visitor", run=True)
def serve_visitor(branch: str, book: str) -> None:
    """Do what an agent does: ask, act, and ask the same again."""
    opening_hours(branch)
    free_copies(book)
    opening_hours(branch)
    time_of_day()
    lend(book)
    free_copies(book)
    opening_hours(branch)


def main() -> None:
    """Serve the visitors, and say how many calls ran."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--traces", required=True)
    parser.add_argument("--rules")
    parser.add_argument("--results")
    parser.add_argument("--visitors", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=0.0, help="spread the visitors over these")
    options = parser.parse_args()
    wrap(
        None,
        "library-desk",
        trace_file=options.traces,
        apply=options.rules is not None,
        rules=options.rules,
        results=options.results,
        capture="clear",  # the values stay in this folder; without it only hashes are written
    )
    visitors = random.Random(7)
    began = time.perf_counter()
    for number in range(options.visitors):
        time.sleep(
            max(0.0, began + options.seconds * number / options.visitors - time.perf_counter())
        )
        with acting_for(user=f"reader-{visitors.randrange(40)}"):
            serve_visitor(visitors.choice(BRANCHES), visitors.choice(tuple(COPIES)))
    took = time.perf_counter() - began
    counts: dict[str, int] = {}
    for (name, kind, _), number in outcomes().counts().items():
        if name == "opening_hours":
            counts[kind.value] = counts.get(kind.value, 0) + number
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(counts.items()))
    sys.stdout.write(f"{options.visitors} visitors in {took:.1f} s; opening_hours: {told}\n")
    unwrap()


if __name__ == "__main__":
    main()
