"""Do proven rules hold tomorrow? Simulated dumps through the whole pipeline, and what came of them.

    python tests/benchmarks/simulate.py --dumps 300 --runs 600 --seed 1 --results results.jsonl

Prints the table of SIMULATION.md for one number of runs. Results are appended to ``--results``
while they come; what the file holds already is not simulated again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from simulation.one_dump import DUMPS_A_BATCH, DumpResult, simulate
from simulation.processes import PROCESSES
from simulation.table import table_of, with_table

Task = tuple[int, int, tuple[int, ...], int]
"""Place of the process in `PROCESSES`, runs, numbers of the dumps, seed."""


def _run(task: Task) -> list[DumpResult]:
    place, runs, dumps, seed = task
    return list(simulate(PROCESSES[place], runs, dumps, seed))


def _tasks(options: argparse.Namespace, done: set[tuple[str, int]]) -> Iterator[Task]:
    """Yield one batch of each process, then the next, so that all are equally far."""
    for first in range(0, options.dumps, DUMPS_A_BATCH):
        for place, process in enumerate(PROCESSES):
            if options.process and process.name not in options.process:
                continue
            batch = range(first, min(first + DUMPS_A_BATCH, options.dumps))
            left = tuple(dump for dump in batch if (process.name, dump) not in done)
            if left:
                yield place, options.runs, left, options.seed


def _results(tasks: list[Task], workers: int) -> Iterator[list[DumpResult]]:
    if workers == 1:
        yield from map(_run, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for future in as_completed([pool.submit(_run, task) for task in tasks]):
            yield future.result()


def _read(path: Path, runs: int, seed: int) -> list[DumpResult]:
    """Return what an earlier run has left; a line that was cut off is simulated again."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row.pop("seed") == seed and row["runs"] == runs:
            found.append(DumpResult(**{**row, "warnings": tuple(row["warnings"])}))
    return found


def _append(path: Path, results: list[DumpResult], seed: int) -> None:
    cut_off = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
    with path.open("a") as file:
        if cut_off:
            file.write("\n")
        file.writelines(json.dumps({**asdict(one), "seed": seed}) + "\n" for one in results)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Hold proven rules against later calls.")
    parser.add_argument("--dumps", type=int, default=300, help="dumps of each process")
    parser.add_argument("--runs", type=int, default=600, help="runs in a dump")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes that simulate")
    parser.add_argument("--process", action="append", help="only this one; may be repeated")
    parser.add_argument("--results", type=Path, help="JSON lines, read and appended to")
    parser.add_argument("--write", type=Path, help="a page whose table is to be replaced")
    options = parser.parse_args(arguments)
    results = [] if options.results is None else _read(options.results, options.runs, options.seed)
    results = [one for one in results if one.dump < options.dumps]
    tasks = list(_tasks(options, {(one.process, one.dump) for one in results}))
    for batch in _results(tasks, options.workers):
        results += batch
        if options.results is not None:
            _append(options.results, batch, options.seed)
    results.sort(key=lambda one: one.dump)
    table = table_of(results, options.runs)
    sys.stdout.write(table)
    if options.write is not None:
        page = options.write.read_text()
        options.write.write_text(with_table(page, table, options.runs))


if __name__ == "__main__":
    main()
