"""What is known of a tool, from spans, settings and its name."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.tools import Attested, ToolName, tool_facts
from visceral_cli.settings import ToolDeclaration


def facts(tool="get_weather", kind="tool", attested=None, declared=None, prices=None):
    return tool_facts(
        ToolName("shop", tool, kind),
        attested or Attested(),
        {} if declared is None else {tool: declared},
        prices or {},
    )


@pytest.mark.parametrize(
    ("attested", "declared", "writer", "declared_by"),
    [
        (None, None, False, None),
        (True, None, False, "span"),
        (False, None, True, "span"),
        (None, True, False, "settings"),
        (None, False, True, "settings"),
        (True, False, True, "settings"),
        (False, True, False, "settings"),
    ],
)
def test_a_declaration_beats_what_spans_attest(attested, declared, writer, declared_by):
    found = facts(attested=Attested(attested), declared=ToolDeclaration(read_only=declared))
    assert (found.writer, found.declared_by) == (writer, declared_by)


@pytest.mark.parametrize(
    ("tool", "kind", "attested", "writer"),
    [
        ("send_mail", "tool", None, True),
        ("send_mail", "tool", True, False),
        ("send_mail", "retriever", None, False),
        ("get_mail", "tool", None, False),
        ("get_mail", "tool", False, True),
    ],
)
def test_a_tool_that_nobody_declares_is_a_writer_by_its_name(tool, kind, attested, writer):
    found = facts(tool, kind, Attested(attested))
    assert found.writer is writer
    if writer and attested is None:
        assert found.declared_by == "name"


@pytest.mark.parametrize(
    ("readonly", "replay_safe", "expected"),
    [(True, True, True), (True, None, False), (None, True, False), (True, False, False)],
)
def test_serving_takes_both_declarations(readonly, replay_safe, expected):
    assert facts(attested=Attested(readonly, replay_safe)).may_be_served is expected


def test_a_name_declared_read_only_in_the_settings_may_still_lack_replay_safe():
    found = facts(attested=Attested(None, True), declared=ToolDeclaration(read_only=True))
    assert found.may_be_served
    assert not facts(declared=ToolDeclaration(read_only=True)).may_be_served


@pytest.mark.parametrize(
    ("attested", "declared", "cap"),
    [
        (None, None, None),
        (60.0, None, 60.0),
        (None, 30.0, 30.0),
        (60.0, 30.0, 30.0),
        (30.0, 60.0, 30.0),
        (0.0, 60.0, 0.0),
        (float("nan"), 60.0, 60.0),
    ],
)
def test_the_smaller_declared_freshness_is_the_cap(attested, declared, cap):
    found = facts(
        attested=Attested(freshness_seconds=attested),
        declared=ToolDeclaration(freshness_seconds=declared),
    )
    assert found.freshness_cap_seconds == cap


@pytest.mark.parametrize(
    ("prices", "declared", "price"),
    [
        ({}, None, None),
        ({}, 0.5, 0.5),
        ({"get_weather": 0.25}, 0.5, 0.25),
        ({"other": 1}, 0.5, 0.5),
    ],
)
def test_a_price_given_for_this_analysis_beats_the_declared_one(prices, declared, price):
    assert facts(declared=ToolDeclaration(price_usd=declared), prices=prices).price_usd == price
