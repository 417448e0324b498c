"""Writers of a run, as the calls see them."""

from __future__ import annotations

import numpy as np
import pytest

from visceral_cli.analysis.history import NEVER_NS, latest_writer_end
from visceral_cli.analysis.writers import FOREVER_NS, writers_of

SECOND = 1_000_000_000


def latest_end(recorded_calls, at, run=0, without=None):
    writers = writers_of(recorded_calls.columns(), without=without)
    (end,) = latest_writer_end(writers, np.array([run], np.int32), np.array([at * SECOND]))
    return {NEVER_NS: None, FOREVER_NS: "forever"}.get(int(end), int(end) // SECOND)


@pytest.mark.parametrize(("at", "expected"), [(4, None), (5, 9), (6, 9), (7, 20), (30, 20)])
def test_a_call_sees_the_latest_end_of_the_writers_that_have_started(recorded, call, at, expected):
    calls = recorded(
        call(0, 40),
        call(5, 9, tool="send_mail"),
        call(6, 8, tool="send_mail"),
        call(7, 20, tool="delete_file", failed=True),
    )
    assert latest_end(calls, at) == expected


def test_a_writer_of_another_run_is_not_seen(recorded, call):
    assert latest_end(recorded(call(0, 40), call(5, 9, tool="send_mail", run="other")), 30) is None


def test_a_write_without_an_end_goes_on_and_one_without_a_start_may_have_been_before(
    recorded, call
):
    calls = recorded(call(0, 1), call(10, tool="send_mail", has_end=False))
    assert (latest_end(calls, 9), latest_end(calls, 10)) == (None, "forever")
    assert latest_end(recorded(call(0, 1), call(None, tool="send_mail")), 0) == "forever"


def test_writers_that_did_not_run_can_be_left_out(recorded, call):
    calls = recorded(call(0, 1, tool="send_mail"), call(2, 3, tool="send_mail"))
    assert latest_end(calls, 9, without=np.array([False, True])) == 1
    assert latest_end(calls, 9, without=np.array([True, True])) is None
