"""How fast and in how much memory ``visceral analyze`` reads, as ratios measured in one run.

    python tests/benchmarks/read_speed.py DIR                    # everything: some 13 GB in DIR
    python tests/benchmarks/read_speed.py DIR --size-mb 100 --sizes-mb 10,100 --tool-calls 50000
    python tests/benchmarks/read_speed.py DIR --only reading,help

Parts:

* ``reading``: ``visceral analyze`` from start to end, over one bare pass of ``orjson.loads`` over
  the same lines in one process; and the same spans as protobuf.
* ``memory``: the most memory that all its processes held together, at three sizes.
* ``growth``: time per span at the largest of the sizes over that at the smallest.
* ``identities``: time per call when all calls are equal over that when no two are.
* ``help``: ``visceral --help`` over ``python -c "import typer"``.

Times are medians of runs that take turns. Files are read once before, so that they lie in memory.
Exits with 1 if a limit is passed. Needs Linux for the memory, and orjson.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import generate
from process_tree import run, run_watched

import visceral_cli

BARE_PASS = """
import sys, time, orjson
began = time.perf_counter()
with open(sys.argv[1], "rb") as lines:
    for line in lines:
        orjson.loads(line)
print(time.perf_counter() - began)
"""

MB = 10**6
PARTS = ("reading", "memory", "growth", "identities", "help")


@dataclass(slots=True)
class Benchmark:
    """The settings of a run, and the limits that were passed so far."""

    folder: Path
    repeats: int
    output_format: str
    broken: list[str] = field(default_factory=list)

    def analyze(self, *files: Path) -> list[str | Path]:
        """Return the command that analyses ``files``."""
        command = [sys.executable, "-m", "visceral_cli", "analyze", *files]
        return [*command, "-q", "-f", self.output_format]

    def file(self, name: str, kind: str, **options: object) -> tuple[Path, int]:
        """Return a generated file, made if it is not there yet, and its number of spans."""
        suffix = {"json": ".jsonl", "proto": ".pb"}[kind]
        path = self.folder / f"{name}{suffix}"
        count = self.folder / f"{name}.spans"
        if not path.exists() or not count.exists():
            say(f"writing {path} ...")
            written = generate.write(self.folder, name, **options)  # type: ignore[arg-type]
            count.write_text(str(written.spans))
        return path, int(count.read_text())

    def medians(self, runs: dict[str, Callable[[], float]]) -> dict[str, float]:
        """Let the runs take turns; return the median of each, in seconds.

        The time that all processes of a run computed is printed beside it: on a busy machine it
        tells what the clock does not.
        """
        times: dict[str, list[float]] = {name: [] for name in runs}
        computed: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(self.repeats):
            for name, measure in runs.items():
                before = cpu_seconds()
                times[name].append(measure())
                computed[name].append(cpu_seconds() - before)
        for name, seconds in times.items():
            spread = f"{min(seconds):.3f} to {max(seconds):.3f}"
            cpu = f"computing {statistics.median(computed[name]):.3f} s"
            say(f"  {name:<28} {statistics.median(seconds):8.3f} s  ({spread}; {cpu})")
        return {name: statistics.median(seconds) for name, seconds in times.items()}

    def verdict(self, what: str, measured: float, allowed: float, unit: str = "") -> None:
        """Print a figure beside its limit."""
        passed = measured > allowed
        if passed:
            self.broken.append(what)
        mark = "OVER" if passed else "ok"
        say(f"{mark:>4}  {what}: {measured:.2f}{unit} (at most {allowed:g}{unit})")


def cpu_seconds() -> float:
    """What the processes that this one has started and waited for have computed so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def warm(path: Path) -> None:
    """Read a file once, so that no run waits for the disk."""
    with path.open("rb") as file:
        while file.read(16 * MB):
            pass


def bare_pass(path: Path) -> float:
    command = [sys.executable, "-c", BARE_PASS, path]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_reading(bench: Benchmark, size_mb: float) -> None:
    name = f"agents-{size_mb:g}mb"
    as_json, spans = bench.file(name, "json", size_bytes=int(size_mb * MB))
    as_proto, _ = bench.file(name, "proto", size_bytes=int(size_mb * MB))
    warm(as_json)
    warm(as_proto)
    say(f"reading: {as_json.stat().st_size / MB:,.0f} MB of JSON lines, {spans:,} spans")
    seconds = bench.medians(
        {
            "orjson.loads, bare pass": lambda: bare_pass(as_json),
            "analyze, JSON lines": lambda: run(bench.analyze(as_json)).seconds,
            "analyze, protobuf": lambda: run(bench.analyze(as_proto)).seconds,
        }
    )
    bare, json_lines, protobuf = seconds.values()
    speed = as_json.stat().st_size / MB / json_lines
    say(f"      {speed:,.0f} MB/s, {spans / json_lines:,.0f} spans/s")
    bench.verdict("analyze / bare pass", json_lines / bare, 2.0)
    bench.verdict("protobuf / JSON", protobuf / json_lines, 1.0)


def measure_memory(bench: Benchmark, sizes_mb: list[float]) -> None:
    say("memory: peak of the whole process tree")
    for size_mb in sizes_mb:
        name = f"agents-{size_mb:g}mb"
        path, _ = bench.file(name, "json", size_bytes=int(size_mb * MB), formats=("json",))
        ran = run_watched(bench.analyze(path))
        say(f"  {size_mb:,.0f} MB: resident sizes added up {ran.peak_rss_bytes / MB:,.0f} MB")
        bench.verdict(f"peak memory at {size_mb:,.0f} MB", ran.peak_pss_bytes / MB, 600, " MB")


def measure_growth(bench: Benchmark, sizes_mb: list[float]) -> None:
    say("growth: time per span")
    small, large = sizes_mb[0], sizes_mb[-1]
    runs: dict[str, Callable[[], float]] = {}
    counts = []
    for size_mb in (small, large):
        name = f"agents-{size_mb:g}mb"
        path, spans = bench.file(name, "json", size_bytes=int(size_mb * MB), formats=("json",))
        warm(path)
        counts.append(spans)
        runs[f"analyze, {size_mb:,g} MB"] = lambda path=path: run(bench.analyze(path)).seconds
    a_span = [
        seconds / spans for seconds, spans in zip(bench.medians(runs).values(), counts, strict=True)
    ]
    say(f"      {a_span[0] * 1e6:.2f} and {a_span[1] * 1e6:.2f} us a span")
    bench.verdict(f"time per span, {large:g} / {small:g} MB", a_span[1] / a_span[0], 1.2)


def measure_identities(bench: Benchmark, calls: int) -> None:
    say(f"identities: {calls:,} calls")
    paths = {}
    for identities in ("one", "many"):
        paths[identities], _ = bench.file(
            f"{identities}-{calls}",
            "json",
            tool_calls=calls,
            identities=identities,
            formats=("json",),
        )
        warm(paths[identities])
    one, many = bench.medians(
        {
            "one identity": lambda: run(bench.analyze(paths["one"])).seconds,
            "every call its own": lambda: run(bench.analyze(paths["many"])).seconds,
        }
    ).values()
    bench.verdict("one identity / many", one / many, 1.0)


def measure_help(bench: Benchmark) -> None:
    say("help: start-up")
    script = Path(sys.executable).parent / "visceral"
    command = [script] if script.exists() else [sys.executable, "-m", "visceral_cli"]
    repeats, bench.repeats = bench.repeats, max(bench.repeats, 15)
    shown, imported = bench.medians(
        {
            "visceral --help": lambda: run([*command, "--help"]).seconds,
            'python -c "import typer"': lambda: run([sys.executable, "-c", "import typer"]).seconds,
        }
    ).values()
    bench.repeats = repeats
    bench.verdict("visceral --help / import typer", shown / imported, 1.5)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure visceral analyze.")
    parser.add_argument("folder", type=Path, help="where generated files are kept")
    parser.add_argument("--size-mb", type=float, default=1000)
    parser.add_argument("--sizes-mb", default="100,1000,4000")
    parser.add_argument("--tool-calls", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output-format", default="table")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    options = parser.parse_args()
    sizes_mb = sorted(float(size) for size in options.sizes_mb.split(","))
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")

    say(f"Python {platform.python_version()}, {len(os.sched_getaffinity(0))} cores")
    bench = Benchmark(options.folder, options.repeats, options.output_format)
    compileall.compile_dir(Path(visceral_cli.__file__).parent, quiet=1)  # as an installation does
    if "reading" in parts:
        measure_reading(bench, options.size_mb)
    if "memory" in parts:
        measure_memory(bench, sizes_mb)
    if "growth" in parts:
        measure_growth(bench, sizes_mb)
    if "identities" in parts:
        measure_identities(bench, options.tool_calls)
    if "help" in parts:
        measure_help(bench)
    for what in bench.broken:
        say(f"limit passed: {what}")
    return 1 if bench.broken else 0


if __name__ == "__main__":
    sys.exit(main())
