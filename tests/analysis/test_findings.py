"""Findings: names and counts of what looks wrong."""

from __future__ import annotations

import hashlib

import pytest

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.analysis.findings import find_findings


def findings(recorded_calls, kind=None):
    found = find_findings(recorded_calls.store, recorded_calls.columns())
    return [one for one in found if kind is None or one.kind is kind]


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_write_made_three_times_in_a_trace_is_a_finding(recorded, call):
    calls = recorded(*(call(t, t + 1, tool="create_ticket", span=f"s{t}") for t in range(3)))
    (one,) = findings(calls)
    assert one.kind is FindingKind.REPEATED_WRITE
    assert (one.tool, one.calls, one.input_hash) == ("create_ticket", 3, sha("a"))
    assert (one.trace_ids, one.span_ids) == (("run",), ("s0", "s1", "s2"))
    assert one.message == "a write with equal arguments was made 3 times in one trace"


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": "b"},
        {"arguments": None},
        {"run": "another"},
        {"failed": True},
        {"namespace": "shop"},
        {"served": True},
        {"version": "2"},
    ],
    ids=str,
)
def test_another_write_is_no_repeated_one(recorded, call, change):
    calls = recorded(
        call(0, 1, tool="create_ticket"), call(2, 3, **({"tool": "create_ticket"} | change))
    )
    assert findings(calls) == []


def test_a_repeated_read_is_no_finding(recorded, call):
    assert findings(recorded(call(0, 1), call(2, 3))) == []
    reads = [call(t, tool="create_report", readonly=True) for t in range(2)]
    assert findings(recorded(*reads)) == []


def test_repeated_writes_of_several_traces_are_one_finding_with_ten_examples(recorded, call):
    calls = recorded(
        *(call(10 * n + t, tool="send_mail", run=f"run-{n}") for n in range(7) for t in (0, 1)),
        call(100, tool="send_mail", run="once"),
    )
    (one,) = findings(calls)
    assert (one.calls, len(one.span_ids), len(one.trace_ids)) == (14, 10, 5)
    assert one.message.endswith("14 times in 7 traces, more than once in each")


def test_hashes_that_disagree_are_a_finding_per_tool(recorded, call):
    calls = recorded(
        call(0, span="x", hash_disagrees=True), call(1, span="y", hash_disagrees=True), call(2)
    )
    (one,) = findings(calls)
    assert (one.kind, one.calls, one.span_ids) == (FindingKind.HASH_DISAGREES, 2, ("x", "y"))


def test_a_verify_sample_that_does_not_match_is_a_finding(recorded, call):
    calls = recorded(
        call(0, verify_match=True),
        call(1, verify_match=False, span="bad"),
        call(2, arguments="b", verify_match=True),
    )
    (one,) = findings(calls)
    assert (one.kind, one.calls, one.span_ids) == (FindingKind.VERIFY_MISMATCH, 1, ("bad",))
    assert one.message == "the stored result was wrong in 1 of 2 verify samples"


def test_missing_times_are_a_finding(recorded, call):
    calls = recorded(call(None), call(1, has_end=False), call(2, 3), call(5, 4))
    (one,) = findings(calls, FindingKind.CLOCKS)
    assert one.calls == 3


def test_one_name_with_argument_names_that_have_nothing_in_common_is_a_finding(recorded, call):
    calls = [call(0, arguments="1"), call(1, arguments="2"), call(2, arguments="3")]
    texts = [("1", '{"q":"x","k":3}'), ("2", '{"q":"y"}'), ("3", '{"city":"Oslo"}')]
    (one,) = findings(recorded(*calls, texts=texts))
    assert (one.kind, one.calls) == (FindingKind.SAME_NAME_OTHER_SCHEMA, 1)
    assert "Oslo" not in one.message
    assert findings(recorded(*calls[:2], texts=texts[:2])) == []
    apart = [call(0, arguments="1", namespace="a"), call(1, arguments="3", namespace="b")]
    assert findings(recorded(*apart, texts=texts)) == []


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ('{"q":"caf\\u00e9"}', '{"q":"cafe\\u0301"}', "Unicode form"),
        ('{"q":"Oslo"}', '{"q":"oslo"}', "letter case"),
        ('{"q":"Oslo"}', '{"q":"oslo "}', "letter case, white space"),
        ('{"q":"a b"}', '{"q":"a\\tb"}', "white space"),
        ('{"k":1}', '{"k":1.0}', "1 and 1.0"),
        ('{"k":[1.0,2]}', '{"k":[1,2.0]}', "1 and 1.0"),
        ('{"k":1}', '{"k":"1"}', None),
        ('{"k":1}', '{"k":1.5}', None),
        ('{"k":1}', '{"k":10}', None),
        ('{"v":"1.0"}', '{"v":"1"}', None),
        ('{"q":"\\ud83d"}', '{"q":"\\ud83d\\ude00"}', None),
    ],
)
def test_arguments_that_differ_in_form_only_are_near_duplicates(recorded, call, one, other, near):
    calls = recorded(
        call(0, arguments="1"),
        call(1, arguments="1"),
        call(2, arguments="2"),
        texts=[("1", one), ("2", other)],
    )
    found = findings(calls, FindingKind.NEAR_DUPLICATE)
    said = [(one.tool, one.calls, one.message, one.span_ids) for one in found]
    differ = f"2 spellings of one question, kept apart: they differ only in {near}"
    named = ("get_weather", 3, differ, ("span-00000", "span-00002"))
    assert said == ([named] if near else [])


def test_near_duplicates_of_another_tool_do_not_count(recorded, call):
    calls = recorded(
        call(0, arguments="1", tool="get_a"),
        call(1, arguments="2", tool="get_b"),
        texts=[("1", '{"q":"A"}'), ("2", '{"q":"a"}')],
    )
    assert findings(calls) == []


def test_findings_come_in_order_of_kind_then_of_calls(recorded, call):
    writes = [call(t, tool=tool) for tool, n in (("send_a", 2), ("send_b", 3)) for t in range(n)]
    found = findings(recorded(*writes, call(9, hash_disagrees=True), call(None)))
    assert [(one.kind.value, one.tool) for one in found] == [
        ("repeated-write", "send_b"),
        ("repeated-write", "send_a"),
        ("hash-disagrees", "get_weather"),
        ("clocks", "get_weather"),
    ]
