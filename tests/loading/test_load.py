"""Files into a store that grows: whole files only, each once, as if loaded at once."""

from __future__ import annotations

import contextlib
import gzip
import signal
import subprocess
import sys
import time
from functools import partial

import duckdb
import pytest

from visceral_cli.errors import InputError, UsageError
from visceral_cli.ingest.plan import plan_file
from visceral_cli.loading.fill import filled_store
from visceral_cli.loading.record_tables import insert_records
from visceral_cli.progress import Silent
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration


def content(store):
    """Every row of every table, but for what depends on when a file came."""
    calls = store.execute("SELECT * FROM tool_call ORDER BY call_key").fetchall()
    spans = store.execute("SELECT * FROM span ORDER BY trace_id, span_id").fetchall()
    texts = store.execute("SELECT * FROM result_text ORDER BY content_hash").fetchall()
    damage = store.execute(
        "SELECT path, kind, line, what, places FROM damage JOIN input_file USING (file_id)"
        " ORDER BY ALL"
    ).fetchall()
    return calls, spans, texts, damage


def kept(path):
    return Settings(workers=1, store=path, extract=ExtractSettings(keep_text=True))


def load(folder, path):
    with filled_store([str(folder)], kept(path), Silent()) as found:
        return found.loaded, content(found.store)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    return folder


def write(folder, name, export, *spans, damage=""):
    (folder / name).write_text(export(spans) + "\n" + damage)


def test_a_second_run_over_a_grown_folder_reads_only_what_is_new(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1, arguments={"q": "a"}, result={"n": 1}))
    first, _ = load(folder, tmp_path / "s.duckdb")
    write(folder, "b.jsonl", export, span(2, trace=2, arguments={"q": "a"}, result={"n": 1}))
    second, grown = load(folder, tmp_path / "s.duckdb")
    third, again = load(folder, tmp_path / "s.duckdb")
    assert (first.loaded, first.already_loaded) == (1, 0)
    assert (second.loaded, second.already_loaded) == (1, 1)
    assert (third.loaded, third.already_loaded) == (0, 2)
    assert again == grown == load(folder, tmp_path / "at_once.duckdb")[1]


def test_a_file_that_has_grown_is_loaded_anew_and_counted_once(tmp_path, folder, span, export):
    write(folder, "live.jsonl", export, span(1))
    load(folder, tmp_path / "s.duckdb")
    with (folder / "live.jsonl").open("a") as file:
        file.write(export([span(2)]) + "\n")
    loaded, grown = load(folder, tmp_path / "s.duckdb")
    assert (loaded.loaded, loaded.replaced) == (1, 1)
    assert grown == load(folder, tmp_path / "at_once.duckdb")[1]


def test_a_file_that_was_moved_is_not_loaded_again(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1))
    load(folder, tmp_path / "s.duckdb")
    (folder / "a.jsonl").rename(folder / "b.jsonl")
    loaded, _ = load(folder, tmp_path / "s.duckdb")
    assert (loaded.loaded, loaded.already_loaded) == (0, 1)


def test_results_are_stored_once(tmp_path, folder, span, export):
    many = [span(n, start=n, end=n, arguments={"q": n}, result={"n": 1}) for n in range(1, 30)]
    write(folder, "a.jsonl", export, *many)
    _, (calls, _, texts, _) = load(folder, tmp_path / "s.duckdb")
    assert len(calls) == 29
    assert [text for _, text in texts] == ['{"n":1}']


def test_without_the_wish_no_text_is_stored(folder, span, export):
    write(folder, "a.jsonl", export, span(1, arguments={"secret": "x"}, result="secret"))
    with filled_store([str(folder)], Settings(workers=1), Silent()) as found:
        for table in ("argument_text", "result_text"):
            assert found.store.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_damage_names_file_and_line_and_costs_only_itself(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1), damage='{"resourceSpans": [}\n' + export([span(2)]))
    _, (calls, _, _, damage) = load(folder, tmp_path / "s.duckdb")
    assert len(calls) == 2
    assert [(path.rsplit("/", 1)[-1], kind, line) for path, kind, line, *_ in damage] == [
        ("a.jsonl", "not-json", 2)
    ]


def test_strict_makes_damage_an_error_that_names_its_place(folder, span, export):
    write(folder, "a.jsonl", export, span(1), damage='{"resourceSpans": [}\n{"x": [}\n')
    with (
        pytest.raises(InputError, match=r"a\.jsonl:2: .* \(and 1 more\)"),
        filled_store([str(folder)], Settings(workers=1, strict=True), Silent()),
    ):
        pass


def test_input_without_a_tool_call_is_refused_with_what_it_holds(folder, span, export):
    write(folder, "a.jsonl", export, span(1, tool=None), span(2, tool=None))
    with (
        pytest.raises(InputError, match=r"no tool calls in .* \(1 file, 2 spans\)"),
        filled_store([str(folder)], Settings(workers=1), Silent()),
    ):
        pass


def test_a_store_is_read_back_as_an_input(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1, arguments={"q": "a"}, result={"n": 1}))
    _, before = load(folder, tmp_path / "s.duckdb")
    with filled_store([str(tmp_path / "s.duckdb")], Settings(), Silent()) as found:
        assert content(found.store) == before


def test_a_store_beside_other_inputs_is_refused(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1))
    load(folder, tmp_path / "s.duckdb")
    with (
        pytest.raises(UsageError, match="cannot be read together"),
        filled_store([str(tmp_path / "s.duckdb"), str(folder)], Settings(), Silent()),
    ):
        pass


def test_a_store_filled_under_another_namespace_is_refused(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1))
    path = tmp_path / "s.duckdb"
    load(folder, path)
    other = Settings(workers=1, store=path, extract=ExtractSettings(namespace_attribute=None))
    with (
        pytest.raises(UsageError, match="other settings"),
        filled_store([str(folder)], other, Silent()),
    ):
        pass


def test_a_store_read_back_under_another_namespace_is_refused(tmp_path, folder, span, export):
    write(folder, "a.jsonl", export, span(1))
    path = tmp_path / "s.duckdb"
    load(folder, path)
    other = Settings(extract=ExtractSettings(namespace_attribute=None))
    with (
        pytest.raises(UsageError, match="other settings"),
        filled_store([str(path)], other, Silent()),
    ):
        pass


@pytest.mark.parametrize(
    ("declared", "fits"),
    [
        (ToolDeclaration(read_only=True, replay_safe=True, price_usd=0.1), True),
        (ToolDeclaration(freshness_seconds=60), True),
        (ToolDeclaration(vary=("q",)), False),
        (ToolDeclaration(error_key="failure"), False),
        (ToolDeclaration(ignore_result=("$.at",)), False),
    ],
)
def test_what_is_declared_later_fits_a_store_unless_it_shapes_its_rows(
    tmp_path, folder, span, export, declared, fits
):
    write(folder, "a.jsonl", export, span(1))
    path = tmp_path / "s.duckdb"
    load(folder, path)
    later = Settings(extract=ExtractSettings(tools={"search": declared}))
    with contextlib.ExitStack() as stack:
        if not fits:
            stack.enter_context(pytest.raises(UsageError, match="other settings"))
        stack.enter_context(filled_store([str(path)], later, Silent()))


def test_several_processes_fill_the_store_as_one_does(tmp_path, folder, span, export, monkeypatch):
    for number in range(6):
        spans = [
            span(
                n, trace=number + 1, start=n, end=n + 1, arguments={"q": n % 3}, result={"n": n % 3}
            )
            for n in range(1, 200)
        ]
        write(folder, f"{number}.jsonl", export, *spans, damage="{\n")
    monkeypatch.setattr("visceral_cli.loading.pool.SMALL_INPUT_BYTES", 1)
    alone = load(folder, tmp_path / "one.duckdb")[1]
    two = Settings(
        workers=2, store=tmp_path / "two.duckdb", extract=ExtractSettings(keep_text=True)
    )
    with filled_store([str(folder)], two, Silent()) as found:
        assert content(found.store) == alone


KILLED = """
import sys
from visceral_cli.loading.fill import filled_store
from visceral_cli.progress import Silent
from visceral_cli.settings import ExtractSettings, Settings
from pathlib import Path

class Tell(Silent):
    def advance(self, bytes_done, spans):
        print("advanced", flush=True)

settings = Settings(workers=1, store=Path(sys.argv[2]), extract=ExtractSettings(keep_text=True))
with filled_store([sys.argv[1]], settings, Tell()):
    print("done", flush=True)
"""


@pytest.mark.parametrize("pieces", [1, 2, 4])
def test_a_killed_load_leaves_a_store_that_the_next_run_completes(
    tmp_path, folder, span, export, pieces
):
    for number in range(4):
        spans = [
            span(n, trace=number + 1, start=n, end=n + 1, arguments={"q": n}, result={"n": n})
            for n in range(1, 100)
        ]
        write(folder, f"{number}.jsonl", export, *spans)
    undisturbed = load(folder, tmp_path / "undisturbed.duckdb")[1]
    path = tmp_path / "killed.duckdb"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for _ in range(pieces):
        assert child.stdout.readline() == "advanced\n"
    time.sleep(0.002 * pieces)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with duckdb.connect(str(path)) as store:
        assert store.execute("SELECT count(*) FROM input_file").fetchone() is not None
    assert load(folder, path)[1] == undisturbed


BEGUN = """
import sys
from multiprocessing import active_children
from visceral_cli.loading import pool
from visceral_cli.loading.fill import filled_store
from visceral_cli.progress import Silent
from visceral_cli.settings import Settings

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "pyarrow", "visceral_cli.calls.extract"):
            print(name, len(active_children()))

sys.meta_path.insert(0, Watch())
pool.SMALL_INPUT_BYTES = 1
with filled_store([sys.argv[1]], Settings(workers=2), Silent()):
    pass
"""


def test_other_processes_begin_to_read_before_libraries_of_rows_are_imported(folder, span, export):
    for number in range(2):
        write(folder, f"{number}.jsonl", export, span(number + 1))
    ran = subprocess.run(
        [sys.executable, "-c", BEGUN, str(folder)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    processes = dict(line.split() for line in ran.stdout.splitlines())
    # One that is done with the first file before the second is asked for reads both.
    assert set(processes.values()) <= {"1", "2"}
    assert set(processes) == {"numpy", "pyarrow", "visceral_cli.calls.extract"}


class Heard(Silent):
    """Adds up what a load tells."""

    def __init__(self) -> None:
        self.total = self.read = self.spans = 0

    def start(self, total_bytes):
        self.total = total_bytes

    def advance(self, bytes_done, spans):
        self.read += bytes_done
        self.spans += spans
        assert self.read <= self.total


def test_progress_ends_at_the_length_of_the_files_however_they_are_packed(folder, span, export):
    text = (export([span(n) for n in range(1, 100)]) + "\n").encode()
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(text))
    (folder / "b.jsonl").write_bytes(text)
    (folder / "c.txt").write_text("no spans")
    heard = Heard()
    with filled_store([str(folder)], Settings(workers=1), heard):
        files = sum(path.stat().st_size for path in folder.iterdir())
    assert (heard.read, heard.total, heard.spans) == (files, files, 198)


class Noted(Silent):
    """Notes what is told, in order."""

    def __init__(self) -> None:
        self.told = []

    def start(self, total_bytes):
        self.told.append("start")

    def advance(self, bytes_done, spans):
        if spans:
            self.told.append("rows")

    def meanwhile(self):
        self.told.append("meanwhile")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("files", [1, 7])
def test_what_may_be_done_meanwhile_is_done_once_and_before_the_first_rows(
    folder, span, export, monkeypatch, workers, packed, files
):
    text = (export([span(n) for n in range(1, 9)]) + "\n").encode()
    for number in range(files):
        path = folder / f"{number}.jsonl{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(text) if packed else text)
    monkeypatch.setattr("visceral_cli.loading.pool.SMALL_INPUT_BYTES", 1)
    noted, settings = Noted(), Settings(workers=workers)
    with filled_store([str(folder)], settings, noted, meanwhile=noted.meanwhile):
        assert noted.told == ["start", "meanwhile", *["rows"] * files]


def test_a_store_that_needs_no_reading_lets_other_things_be_done_too(
    folder, span, export, tmp_path
):
    write(folder, "a.jsonl", export, span(1))
    load(folder, tmp_path / "s.duckdb")
    noted = Noted()
    given = [str(tmp_path / "s.duckdb")]
    with filled_store(given, Settings(), noted, meanwhile=noted.meanwhile):
        assert noted.told == ["meanwhile"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_rows_of_many_pieces_go_in_together_but_of_the_last_ones_few(
    folder, span, export, monkeypatch, pack
):
    lines = [export([span(n)]) + "\n" for n in range(1, 201)]
    (folder / "a.jsonl").write_bytes(pack("".join(lines).encode()))
    cut_small = partial(plan_file, piece_bytes=len(lines[0]) * 2)
    monkeypatch.setattr("visceral_cli.loading.load.plan_file", cut_small)
    monkeypatch.setattr("visceral_cli.loading.load.PIECE_BYTES", 16)
    together = []

    def count(store, file_id, first_record, pieces):
        together.append(len(pieces))
        return insert_records(store, file_id, first_record, pieces)

    monkeypatch.setattr("visceral_cli.loading.record_tables.insert_records", count)
    with filled_store([str(folder)], Settings(workers=1), Silent()) as filled:
        assert filled.store.execute("SELECT count(*) FROM span").fetchall() == [(200,)]
    assert together[:5] == [16] * 5
    assert together[-1] < 16
