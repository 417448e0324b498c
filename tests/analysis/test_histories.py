"""The history of each tool, as a replay reads it."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from visceral_cli.analysis import histories as histories_of_calls
from visceral_cli.analysis.histories import Histories, histories, with_identities_of

SECOND = 1_000_000_000


def test_each_tool_has_its_executions_in_order_with_its_own_identities(recorded, call):
    columns = recorded(
        call(0, 1, tool="get_a", arguments="x"),
        call(2, 3, tool="get_b", arguments="x"),
        call(4, 5, tool="get_b", arguments="y"),
        call(6, 7, tool="get_b", arguments=None),
        call(8, 9, tool="get_a", arguments="x"),
    ).columns()
    first, second = histories(columns)
    assert first.rows.tolist() == [0, 4]
    assert first.calls.start_ns.tolist() == [0, 8 * SECOND]
    assert second.rows.tolist() == [1, 2, 3]
    assert second.calls.identity.tolist() == [0, 1, -1]
    assert second.first_identity == 1


def test_other_identities_take_the_place_of_those_of_a_history(recorded, call):
    columns = recorded(
        call(0, 1, tool="get_a", arguments="x"),
        call(2, 3, tool="get_b", arguments="x"),
        call(4, 5, tool="get_b", arguments="x"),
        call(6, 7, tool="get_b", arguments=None),
    ).columns()
    split = replace(
        columns,
        identity=np.array([0, 1, 2, -1], np.int32),
        identity_starts=np.array([0, 1, 3]),
    )
    found = [with_identities_of(tool, split) for tool in histories(columns)]
    for one, anew in zip(found, histories(split), strict=True):
        assert one.calls.identity.tolist() == anew.calls.identity.tolist()
        assert one.calls.identity.dtype == anew.calls.identity.dtype
        assert (one.first_identity, one.code) == (anew.first_identity, anew.code)
    assert found[1].calls.identity.tolist() == [0, 1, -1]


@pytest.mark.parametrize("kept", [0, 2])
def test_histories_can_be_gone_through_twice_kept_or_not(monkeypatch, recorded, call, kept):
    monkeypatch.setattr(histories_of_calls, "_KEPT_CALLS", kept)
    columns = recorded(call(0, 1, tool="get_a"), call(2, 3, tool="get_b")).columns()
    tools = Histories(columns)
    for _ in range(2):
        assert [tool.rows.tolist() for tool in tools] == [[0], [1]]


def test_what_proves_nothing_is_left_out(recorded, call):
    columns = recorded(
        call(0, 1),
        call(2, 3, failed=True),
        call(4, 5, served=True),
        call(6, has_end=False),
        call(8, 9, served=True, verify_match=False),
        call(10, 11, tool="send_mail"),
    ).columns()
    (history,) = histories(columns)
    assert history.calls.start_ns.tolist() == [0, 8 * SECOND]


def test_a_tool_without_executions_has_an_empty_history(recorded, call):
    (history,) = histories(recorded(call(0, 1, failed=True)).columns())
    assert len(history.rows) == 0


def test_the_declared_freshness_goes_along(recorded, call):
    (history,) = histories(recorded(call(0, 1, freshness_override=30.0)).columns())
    assert history.calls.declared_freshness_seconds == 30.0
