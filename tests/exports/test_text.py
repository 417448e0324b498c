"""The exported modules as text, whatever the names in the traces are."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visceral_cli.contract.identity import NotCanonical, input_hash
from visceral_cli.contract.rule import Sharing
from visceral_cli.rules.exports import covered_calls
from visceral_cli.rules.exports.cached_tool import select_tools
from visceral_cli.rules.exports.export import settings_text
from visceral_cli.rules.exports.python_text import comment, literal
from visceral_cli.rules.exports.target import Target

HOSTILE = 'x"""\n\'\\"; import os\r\u2028\u202e\x1b[31m\x00\ud800😀 #'


def text_of(target, *rules):
    return settings_text(select_tools(rules, target), target)


@pytest.mark.parametrize("target", Target)
def test_the_text_is_ascii_python_and_the_same_for_any_order(make_rule, target):
    rules = [
        make_rule(any_arguments=True),
        make_rule(arguments={"city": "Bern"}, any_arguments=True, seconds=600),
        make_rule("look_up", any_arguments=True, vary=["key"], arguments={"key": 1}, version="2"),
        make_rule("mail", scope=Sharing.USER),
    ]
    text = text_of(target, *rules)
    assert text.isascii()
    assert text.endswith("\n")
    assert not any(line != line.rstrip() or len(line) > 100 for line in text.splitlines())
    compile(text, "settings", "exec")
    assert text == text_of(target, *reversed(rules))


@pytest.mark.parametrize("target", Target)
def test_the_text_says_what_is_cached_what_is_left_out_and_what_is_not_enforced(make_rule, target):
    caveat = {"results_compared_without": ["$.observed_at"]}
    text = text_of(
        target,
        make_rule(any_arguments=True, version="2", **caveat),
        make_rule("mail", scope=Sharing.USER),
    )
    flat = " ".join(line.removeprefix("#").strip() for line in text.splitlines())
    assert '"get_weather": any arguments, kept 1 s (fresh for 1.900 s' in flat
    assert '"mail", 1 rule: results may pass within one user only' in flat
    assert "It voids nothing when a writer runs." in flat
    assert "It tells no users, sessions or runs apart" in flat
    assert "It never runs a call to compare" in flat
    assert 'It does not look at the version of "get_weather"' in flat
    assert 'were compared without "$.observed_at"' in flat


@pytest.mark.parametrize("target", Target)
def test_without_a_usable_rule_nothing_is_cached(make_rule, target):
    for rules in ([], [make_rule(scope=Sharing.RUN)]):
        text = text_of(target, *rules)
        assert "# Cached: nothing." in text
        tables = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(text).body
            if isinstance(node, ast.Assign) and node.targets[0].id in ("TOOLS", "RULES")
        }
        assert tables
        assert not any(tables.values())


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("any_arguments", [False, True])
def test_no_name_from_the_traces_is_taken_for_code(make_rule, target, any_arguments):
    rule = make_rule(
        HOSTILE,
        {HOSTILE: 1},
        any_arguments=any_arguments,
        vary=[HOSTILE],
        version=HOSTILE,
        namespace=HOSTILE,
        results_compared_without=[HOSTILE],
    )
    cleared = {"missing": HOSTILE, "cleared_by": [HOSTILE]}
    text = text_of(target, rule, make_rule(HOSTILE + "2", plain=cleared))
    assert text.isascii()
    assert text.isprintable() or set(text) - set(map(chr, range(32, 127))) == {"\n"}
    named = {
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert (HOSTILE in named) == (any_arguments or target is not Target.AGNO)
    imported = {
        alias.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported <= {"functools", "hashlib", "inspect", "json", "tempfile"}


@pytest.mark.parametrize("target", Target)
def test_no_value_of_an_argument_is_in_the_text(make_rule, target):
    text = text_of(target, make_rule(arguments={"city": "Cottbus"}), make_rule(any_arguments=True))
    assert "Cottbus" not in text
    assert "Basel" not in text


@given(st.text())
def test_a_literal_reads_back_as_the_text(text):
    assert ast.literal_eval(literal(text)) == text
    assert literal(text).isascii()


@given(st.text(min_size=1))
def test_a_comment_is_nothing_but_comment(text):
    assert ast.parse(comment(text)).body == []
    assert all(line.startswith("#") for line in comment(text).splitlines())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def functions(version=None, vary=None, seconds=60):
    """Return the source that several exports share, loaded for one tool."""
    loaded = {"RULES": {"t": {"version": version, "vary": vary, "seconds": seconds}}}
    exec(covered_calls.IMPORTS + covered_calls.FUNCTIONS, loaded)
    return loaded


@given(st.dictionaries(st.text(), JSON, max_size=3), st.none() | st.text())
def test_the_exported_identity_is_that_of_the_contract(arguments, version):
    try:
        expected = input_hash("t", arguments, version=version)
    except NotCanonical:
        expected = None
    assert functions(version)["identity"]("t", arguments) == expected


def test_keyed_arguments_decide_and_a_missing_one_makes_a_call_that_is_not_cached():
    loaded = functions(vary=["a"])
    found = loaded["identity"]("t", {"a": 1, "b": float("nan")})
    assert found == input_hash("t", {"a": 1, "b": 2}, vary=["a"])
    assert loaded["identity"]("t", {"b": 2}) is None
    assert loaded["seconds"]("t", {"b": 2}) is None
    assert loaded["seconds"]("u", {"a": 1}) is None


@pytest.mark.parametrize(
    "value", [(1, 2), {1: "a"}, {"a": {2: 3}}, {1, 2}, b"x", object(), float("inf")]
)
def test_what_json_would_not_give_back_has_no_identity(value):
    assert functions()["identity"]("t", {"x": value}) is None


def test_seconds_are_those_of_the_identity():
    found = input_hash("t", json.loads('{"x": 1}'))
    loaded = functions(seconds={found: 7})
    assert loaded["seconds"]("t", {"x": 1}) == 7
    assert loaded["seconds"]("t", {"x": 1.0}) is None
