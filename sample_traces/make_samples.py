"""Write the sample traces: four days of a travel desk and of the agents around it.

    python sample_traces/make_samples.py [FOLDER]

The same bytes every time (compressed ones as far as the compression library is the same). All of
it is made up: the traveller ids, the fares, the bookings. Needs opentelemetry-proto and zstandard.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from story import other_agents, travel_desk
from story import span_formats as formats


def alert_lines() -> Iterator[bytes]:
    """The worker's lines: one was cut by a crash, and two were exported again after it."""
    lines = formats.json_lines(other_agents.alert_worker())
    yield from lines[:4]
    yield lines[4][:700] + b"\n"
    yield from lines[2:]


def sample_files() -> dict[str, Callable[[], bytes]]:
    """Return how each file is made."""
    days = travel_desk.desk_days()
    return {
        "desk-monday.jsonl.gz": lambda: formats.gzipped(b"".join(formats.json_lines(days[0]))),
        "desk-tuesday.jsonl.zst": lambda: formats.zstd_frames(
            b"".join(formats.json_lines(days[1])), 200_000
        ),
        "desk-wednesday.pb.zstd": lambda: formats.zstd_framed(
            formats.proto_message(batch) for batch in days[2]
        ),
        "desk-thursday.pb.gz": lambda: formats.gzipped(
            formats.framed(formats.proto_message(batch) for batch in days[3])
        ),
        "booking-agent.pb": lambda: formats.framed(
            formats.proto_message(batch) for batch in other_agents.booking_agent()
        ),
        "guide-agent.json": lambda: formats.pretty_json(other_agents.guide_agent()),
        "web-chat.jsonl": lambda: b"".join(
            formats.json_lines(other_agents.web_chat(), numbers=True)
        ),
        "alert-worker.jsonl": lambda: b"".join(alert_lines()),
        "notebook-output.txt": lambda: formats.console_text(other_agents.notebook()),
    }


def main() -> None:
    """Write every file into the folder given, or beside this script."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in sample_files().items():
        (folder / name).write_bytes(make())


if __name__ == "__main__":
    main()
