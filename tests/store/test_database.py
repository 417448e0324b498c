"""Opening stores: their own, others', older ones, and those in use."""

from __future__ import annotations

import stat
import subprocess
import sys

import duckdb
import pytest

from visceral_cli.errors import UsageError
from visceral_cli.store.database import (
    MEMORY_LIMIT,
    MEMORY_LIMIT_OF_FEW,
    SCHEMA_VERSION,
    is_store,
    leave_room,
    open_store,
    temporary_store,
    tool_names,
)


def test_a_new_store_is_for_its_owner_only(tmp_path):
    path = tmp_path / "s.duckdb"
    with open_store(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_store_is_told_by_its_content(tmp_path):
    path = tmp_path / "s.jsonl"
    with open_store(path):
        pass
    (tmp_path / "s.duckdb").write_text("{}")
    assert is_store(path)
    assert not is_store(tmp_path / "s.duckdb")
    assert not is_store(tmp_path / "missing")


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_a_store_of_another_schema_is_refused_and_left_as_it_is(tmp_path, version):
    path = tmp_path / "s.duckdb"
    with open_store(path) as store:
        store.execute("UPDATE _schema SET version = ?", [version])
    with pytest.raises(UsageError, match=f"schema {version}"), open_store(path):
        pass
    with duckdb.connect(str(path)) as store:
        assert store.execute("SELECT version FROM _schema").fetchall() == [(version,)]


def test_a_duckdb_file_of_somebody_else_is_refused(tmp_path):
    path = tmp_path / "s.duckdb"
    with duckdb.connect(str(path)) as store:
        store.execute("CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(UsageError, match="not a store of visceral"), open_store(path):
        pass


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "s.duckdb"
    path.write_text("{}" * 10_000)
    with pytest.raises(UsageError, match="cannot be opened as a store"), open_store(path):
        pass


def test_a_store_in_a_folder_that_is_not_there_is_refused(tmp_path):
    with (
        pytest.raises(UsageError, match="the folder does not exist"),
        open_store(tmp_path / "none" / "s.duckdb"),
    ):
        pass


def test_a_store_that_another_process_holds_is_refused(tmp_path):
    path = tmp_path / "s.duckdb"
    holder = (
        "import sys, duckdb\n"
        "with duckdb.connect(sys.argv[1]):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match="in use by another process"), open_store(path):
            pass
        child.communicate("")


def test_the_tools_of_a_store_are_read_without_changing_it(tmp_path):
    path = tmp_path / "s.duckdb"
    with open_store(path) as store:
        columns = {
            "record": 0,
            "file_id": 0,
            "trace_id": "t",
            "span_id": "s",
            "position": 0,
            "kind": "tool",
            "convention": "c",
            "failed": False,
            "span_kind": 0,
            "recorded_hash": False,
            "hash_disagrees": False,
            "empty_result": False,
            "unnamed_arguments": False,
        }
        for tool in ("search", "fetch", "search"):
            row = columns | {"tool": tool}
            store.execute(
                f"INSERT INTO _call_record ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                list(row.values()),
            )
    path.chmod(0o444)
    before = path.read_bytes()
    assert tool_names(path) == ["fetch", "search"]
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["s.duckdb"]


def test_the_tools_of_what_is_no_store_are_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be opened as a store"):
        tool_names(tmp_path / "missing")
    path = tmp_path / "s.duckdb"
    with duckdb.connect(str(path)) as store:
        store.execute("CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(UsageError, match="not a store of visceral"):
        tool_names(path)


def test_a_temporary_store_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with temporary_store() as store:
        store.execute("SELECT 1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("few", "many", "text", "limit"),
    [
        ((0, 9), range(1, 9), False, "64MB"),
        ((9, 0), range(1, 9), False, "64MB"),
        ((0, 9), range(1, 9), True, MEMORY_LIMIT),
        ((0, 9), range(2, 9), False, MEMORY_LIMIT),
        ((1, 1), range(1, 9), False, MEMORY_LIMIT_OF_FEW),
        ((1, 1), range(1, 9), True, MEMORY_LIMIT),
    ],
)
def test_without_texts_a_large_store_leaves_room_and_a_small_one_takes_it(
    monkeypatch, few, many, text, limit
):
    monkeypatch.setattr("visceral_cli.store.database.FEW_CALLS", few[0])
    monkeypatch.setattr("visceral_cli.store.database.FEW_SPANS", few[1])
    monkeypatch.setattr("visceral_cli.store.database.MANY_CALLS", many)
    setting = "SELECT current_setting('memory_limit')"
    with temporary_store() as store:
        store.execute(
            """
            INSERT INTO _call_record (
                record, file_id, trace_id, span_id, position, tool, kind, convention, failed,
                span_kind, recorded_hash, hash_disagrees, empty_result, unnamed_arguments, name
            )
            VALUES (
                0, 0, 't', 's', 0, 'get', 'tool', 'c', FALSE, 0, FALSE, FALSE, FALSE, FALSE, 'n'
            )
            """
        )
        if text:
            store.execute("INSERT INTO argument_text VALUES ('a', '{}')")
        leave_room(store, "64MB")
        left = store.execute(setting).fetchall()
        store.execute(f"SET memory_limit = '{limit}'")
        assert left == store.execute(setting).fetchall()


@pytest.mark.parametrize("kind", [OSError, duckdb.OutOfMemoryException])
@pytest.mark.parametrize("words", ["failed to allocate data", "could not allocate block"])
def test_a_query_that_needs_too_much_memory_is_told_as_that(kind, words):
    refused = pytest.raises(UsageError, match="a query needs more memory than DuckDB is given")
    with refused, temporary_store():
        raise kind(f"Out of Memory Error: {words} of size 8.0 MiB (84.9 MiB/91.5 MiB used)")


def test_other_errors_of_the_system_pass_a_store_unchanged():
    with pytest.raises(OSError, match="no such device"), temporary_store():
        raise OSError("no such device")
