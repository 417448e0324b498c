"""Results without the parts that do not count."""

from __future__ import annotations

import json

import pytest

from visceral_cli.calls.ignored import NoPath, parse_path, path_text, without_paths


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.observed_at", ("observed_at",)),
        ("$.a.b-c.d1", ("a", "b-c", "d1")),
        ("$.items[*].id", ("items", None, "id")),
        ("$.*.id", (None, "id")),
        ("$[0]['odd name']", (0, "odd name")),
        ('$["it\'s"]', ("it's",)),
        ("$['a.b']", ("a.b",)),
        ("$['it\\'s']", ("it's",)),
        ("$.größe", ("größe",)),
    ],
)
def test_a_path_is_names_indices_and_stars(path, steps):
    assert parse_path(path) == steps
    assert parse_path(path_text(steps)) == steps


@pytest.mark.parametrize(
    "path", ["", "$", "observed_at", "$.", "$..id", "$.a[", "$.a[-1]", "$.a[b]", "$.a b", "$['a]"]
)
def test_what_is_no_such_path_is_refused(path):
    with pytest.raises(NoPath):
        parse_path(path)


@pytest.mark.parametrize(
    ("result", "path", "expected"),
    [
        ({"a": 1, "t": 2}, "$.t", {"a": 1}),
        ({"a": 1}, "$.t", {"a": 1}),
        ({"t": None}, "$.t", {}),
        ({"i": [{"id": 1, "v": 2}, {"v": 3}]}, "$.i[*].id", {"i": [{"v": 2}, {"v": 3}]}),
        ({"i": [1, 2, 3]}, "$.i[1]", {"i": [1, None, 3]}),
        ({"i": [1]}, "$.i[1]", {"i": [1]}),
        ({"i": [1, 2]}, "$.i[*]", {"i": [None, None]}),
        ({"a": {"t": 1}, "b": {"t": 2}, "c": 3}, "$.*.t", {"a": {}, "b": {}, "c": 3}),
        ({"a": "text"}, "$.a.b", {"a": "text"}),
        ([{"t": 1}], "$[0].t", [{}]),
    ],
)
def test_what_a_path_names_is_left_out(result, path, expected):
    text = json.dumps(result, sort_keys=True, separators=(",", ":"))
    wanted = json.dumps(expected, sort_keys=True, separators=(",", ":"))
    assert without_paths(text, [path]) == wanted


@pytest.mark.parametrize("text", ['"a text"', "17", "null", "true"])
def test_what_has_no_parts_stays_as_it_is(text):
    assert without_paths(text, ["$.t"]) == text


def test_numbers_stay_as_they_are():
    text = '{"a":1.0,"b":1,"c":123456789012345678901234567890,"t":0}'
    assert without_paths(text, ["$.t"]) == '{"a":1.0,"b":1,"c":123456789012345678901234567890}'
