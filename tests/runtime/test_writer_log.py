"""Writers by scope: running, ended, forgotten."""

from __future__ import annotations

import threading

import pytest

from visceral_cli.contract.decide import WRITER_RUNNING
from visceral_cli.runtime import writer_log
from visceral_cli.runtime.writer_log import WriterLog, covers, entry_scopes, writer_scopes


def test_a_writer_counts_from_its_start_and_the_last_one_ends_the_barrier(clock):
    log = WriterLog(clock)
    assert log.last_write_end_ns(["ns"]) is None
    log.begin(["ns"])
    log.begin(["ns"])
    log.end(["ns"])
    assert log.last_write_end_ns(["ns"]) == WRITER_RUNNING
    log.end(["ns"])
    assert log.last_write_end_ns(["ns"]) == clock.now
    assert log.last_write_end_ns(["other"]) is None
    assert log.last_write_end_ns(["other", "ns"]) == clock.now


def test_tags_meet_where_they_must():
    tagged, untagged = set(entry_scopes("ns", ["a", "b"])), set(entry_scopes("ns"))
    assert tagged & set(writer_scopes("ns"))
    assert untagged & set(writer_scopes("ns"))
    assert tagged & set(writer_scopes("ns", ["b", "c"]))
    assert not tagged & set(writer_scopes("ns", ["c"]))
    assert untagged & set(writer_scopes("ns", ["c"]))
    assert writer_scopes("ns", []) == ()
    assert not tagged & set(writer_scopes("other", ["a"]))


@pytest.mark.parametrize(
    ("kept", "asked", "expected"),
    [
        ((), (), True),
        (("a",), ("a",), True),
        (("a", "b"), ("a",), True),
        ((), ("a",), True),
        (("a",), (), False),
        (("a",), ("b",), False),
    ],
)
def test_a_result_answers_only_who_fears_no_other_writer(kept, asked, expected):
    assert covers(entry_scopes("ns", kept), entry_scopes("ns", asked)) is expected
    assert covers((), entry_scopes("ns", asked)) is False
    assert covers(entry_scopes("other", kept), entry_scopes("ns", asked)) is False


def test_what_is_forgotten_counts_as_the_latest_of_it(clock, monkeypatch):
    monkeypatch.setattr(writer_log, "MAX_SCOPES", 4)
    log = WriterLog(clock)
    ends = {}
    for number in range(5):
        log.end([str(number)])
        ends[str(number)] = clock.now
    assert log.last_write_end_ns(["4"]) == ends["4"]
    assert log.last_write_end_ns(["0"]) == log.last_write_end_ns(["new"]) == ends["1"]


def test_many_threads_leave_no_barrier_behind():
    log = WriterLog()

    def write() -> None:
        for _ in range(500):
            log.begin(["ns"])
            log.end(["ns"])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end = log.last_write_end_ns(["ns"])
    assert end is not None
    assert end < WRITER_RUNNING
