"""The results file: who may read it, what happens when it is foreign, broken, gone or full."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.runtime.installed import Runtime
from visceral_cli.runtime.result_cache import ResultCache
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.stores.open_store import open_store
from visceral_cli.runtime.stores.result_store import FORGOTTEN, StoreFailed, written_ns
from visceral_cli.runtime.stores.sqlite import SqliteStore


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "results" / "results.sqlite3"


def cache_over(store: Any) -> ResultCache:
    return ResultCache(Results(store, seconds=lambda: 5.0), Runtime)


def ask(cache: ResultCache, value: str, question: int = 1) -> tuple[str, bool]:
    got = cache.call("ns", ["get"], question, 60, lambda: value)
    return got.value, got.cached


def test_the_file_is_readable_by_its_owner_only(path):
    store = SqliteStore(path)
    ask(cache_over(store), "v")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    store.close()


def test_it_is_in_wal_mode_and_says_whose_it_is(path):
    store = SqliteStore(path)
    store.lookup("k")
    store.close()
    base = sqlite3.connect(path)
    assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert base.execute("PRAGMA user_version").fetchone() == (1,)
    assert base.execute("PRAGMA application_id").fetchone() == (0x76736372,)
    base.close()


def test_a_file_of_another_format_is_left_alone(path):
    path.parent.mkdir()
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.execute("CREATE TABLE theirs (x)")
    base.close()
    store = SqliteStore(path)
    with pytest.raises(StoreFailed):
        store.lookup("k")
    assert ask(cache_over(store), "v") == ("v", False)
    store.close()
    base = sqlite3.connect(path)
    assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    base.close()


def test_a_file_that_is_no_database_runs_the_tool(path):
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 1000)
    store = SqliteStore(path)
    cache = cache_over(store)
    assert ask(cache, "v") == ("v", False)
    assert ask(cache, "w") == ("w", False)
    store.close()


def test_a_file_that_was_deleted_begins_anew(path):
    store = SqliteStore(path)
    cache = cache_over(store)
    assert ask(cache, "v") == ("v", False)
    store.discard()
    assert ask(cache, "w") == ("w", False)
    assert ask(cache, "?") == ("w", True)
    path.unlink()
    for leftover in path.parent.iterdir():
        leftover.unlink()
    assert ask(cache, "x") == ("x", False)
    assert ask(cache, "?") == ("x", True)
    store.close()


def test_a_file_in_a_folder_that_is_none_runs_the_tool(folder):
    (folder / "file").write_text("")
    store = SqliteStore(folder / "file" / "results.sqlite3")
    assert ask(cache_over(store), "v") == ("v", False)
    store.close()


def test_a_writer_that_a_full_disk_does_not_record_costs_the_results(path, caplog):
    """Another process must not go on serving what the write has changed."""
    here, there = SqliteStore(path), SqliteStore(path)
    mine, theirs = cache_over(here), cache_over(there)
    assert ask(mine, "old") == ("old", False)
    assert ask(theirs, "?") == ("old", True)
    # no room: the file may not grow, and nothing is free in it
    here.lookup("k")
    assert mine.results is not None

    def full(*args: Any) -> None:
        raise StoreFailed("SQLITE_FULL")

    here.begin_write = full  # type: ignore[method-assign]
    here.end_write = full  # type: ignore[method-assign]
    with mine.writing("ns"):
        pass
    assert ask(theirs, "new") == ("new", False)
    here.close()
    there.close()


def test_a_locked_file_costs_the_lock_time_and_runs_the_tool(path):
    store = SqliteStore(path, lock_seconds=0.05)
    cache = cache_over(store)
    ask(cache, "v")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert ask(cache, "?") == ("v", True)  # readers do not wait for writers
    assert ask(cache, "w", question=2) == ("w", False)
    other.execute("ROLLBACK")
    other.close()
    store.close()


def test_removed_results_give_their_room_back(path, clock):
    store = SqliteStore(path, clock=clock)
    runtime = Runtime(clock=clock)
    results = Results(store, clock=clock, seconds=lambda: 5.0)
    cache = ResultCache(results, lambda: runtime)
    for number in range(50):
        cache.call("ns", ["get"], number, 10, lambda: "x" * 20_000)
    base = sqlite3.connect(path)
    before = base.execute("PRAGMA page_count").fetchone()[0]
    clock.advance(20)
    assert store.remove_expired(clock()) == 50
    assert base.execute("PRAGMA page_count").fetchone()[0] < before / 10
    base.close()
    results.close()


def test_generations_that_no_result_needs_are_forgotten(path, clock, monkeypatch):
    monkeypatch.setattr("visceral_cli.runtime.stores.sqlite.MAX_BARRIERS", 10)
    store = SqliteStore(path)
    cache = cache_over(store)
    ask(cache, "v")
    for number in range(30):
        with cache.writing("other", [f"tag {number}"]):
            pass
    store.remove_expired(1234)
    base = sqlite3.connect(path)
    (left,) = base.execute("SELECT count(*) FROM barrier").fetchone()
    base.close()
    forgotten = store.claim("k", [FORGOTTEN], "o").generations[0]
    assert written_ns(forgotten) == 1234
    assert left == 3  # those of the one result, and the one that tells that others were there
    assert ask(cache, "?") == ("v", True)
    store.close()


def test_closing_while_others_use_it_is_safe(path):
    store = SqliteStore(path)
    cache = cache_over(store)
    ended = threading.Event()
    failures: list[BaseException] = []

    def use() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            try:
                ask(cache, "v", question=number % 20)
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        store.close()
        ended.wait(0.01)
    ended.set()
    for thread in threads:
        thread.join()
    store.close()
    assert failures == []


def test_a_url_or_path_names_its_store(folder):
    assert isinstance(open_store(folder / "x"), SqliteStore)
    assert isinstance(open_store(str(folder / "x")), SqliteStore)
    with pytest.raises(ValueError, match="mysql"):
        open_store("mysql://localhost/x")
