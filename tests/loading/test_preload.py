"""What the fork server holds: all that a reading process needs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

READ = """
import gc, pickle, sys
from pathlib import Path
import visceral_cli.loading.preload

print(gc.isenabled())
before = set(sys.modules)

from visceral_cli.ingest.files import InputFile
from visceral_cli.ingest.plan import plan_file
from visceral_cli.loading.reading_process import read_all_rows
from visceral_cli.settings import Settings

path, folder = Path(sys.argv[1]), sys.argv[2]
(piece,) = plan_file(InputFile(path, "name", path.stat().st_size), Settings()).pieces
print(len(read_all_rows(piece, pickle.dumps(Settings()), folder).others))
print(sorted(set(sys.modules) - before))
"""


def test_a_reading_process_imports_nothing_of_its_own_for_json(
    tmp_path: Path, export: Callable[..., str], span: Callable[..., Any]
) -> None:
    spans = [span(n, arguments={"city": "Rome"}, result={"sky": n}) for n in range(1, 40)]
    (tmp_path / "spans.jsonl").write_text(export(spans) + "\n")
    ran = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "spans.jsonl"), str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.splitlines() == ["False", "1", "[]"]
