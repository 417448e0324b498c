"""The history of each tool, as a replay reads it."""

from __future__ import annotations

from visceral_cli.analysis.histories import histories

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
