from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from visceral_cli.report.explain.arguments import (
    keyed_arguments,
    named,
    nearest_twins,
    twin_text,
    without_each,
)
from visceral_cli.report.explain.evidence import IdentityRow

TEXT = '{"city":"Rome","day":2,"request":"q-17"}'


def identity(digits: str, calls: int = 1, version: str | None = None) -> IdentityRow:
    return IdentityRow(digits, version, calls, "{}", None)


def test_all_arguments_are_keyed_unless_vary_is_declared() -> None:
    keyed = keyed_arguments(TEXT, None, None)
    assert keyed is not None
    assert (list(keyed.values), keyed.left_out) == (["city", "day", "request"], ())


def test_vary_of_the_span_beats_the_settings() -> None:
    keyed = keyed_arguments(TEXT, "day,city", ("request",))
    assert keyed is not None
    assert (list(keyed.values), keyed.left_out) == (["city", "day"], ("request",))
    keyed = keyed_arguments(TEXT, None, ("city",))
    assert keyed is not None
    assert (list(keyed.values), keyed.left_out) == (["city"], ("day", "request"))


def test_a_vary_that_names_a_missing_argument_counts_for_nothing() -> None:
    keyed = keyed_arguments(TEXT, "city,nothing", None)
    assert keyed is not None
    assert (len(keyed.values), keyed.declared) == (3, False)


def test_arguments_that_are_not_known_are_not_named() -> None:
    assert keyed_arguments(None, None, None) is None


def test_names_are_shown_and_values_only_when_asked() -> None:
    keyed = keyed_arguments(TEXT, "city,day", None)
    assert keyed is not None
    hidden, shown = (named(keyed, show_values=show) for show in (False, True))
    assert hidden == "city, day   (values hidden; --show-arguments); vary leaves out request"
    assert shown == 'city = "Rome", day = 2; vary leaves out request'


def twins(own: Mapping[str, Any], *others: tuple[str, int, Mapping[str, Any]]) -> list[str]:
    found = nearest_twins(
        own,
        None,
        [(identity(digits, calls), values) for digits, calls, values in others],
        show_values=False,
    )
    return [f"{twin.input_hash} {twin_text(twin)}" for twin in found]


def test_the_nearest_twin_differs_in_the_fewest_arguments() -> None:
    own = {"city": "Rome", "day": 2}
    assert twins(
        own,
        ("aa", 9, {"city": "Oslo", "day": 3}),
        ("bb", 1, {"city": "Rome", "day": 3}),
        ("cc", 5, {"city": "Rome", "day": "2"}),
    ) == [
        "cc day differs: whole number and text",
        "bb day differs: other value",
        "aa city differs: other value; also day",
    ]


def test_a_twin_may_lack_an_argument_or_differ_inside_of_one() -> None:
    own = {"where": {"city": "Rome"}, "day": 2}
    assert twins(own, ("aa", 1, {"where": {"city": "rome"}, "day": 2})) == [
        "aa where differs at .city: other letter case"
    ]
    assert twins(own, ("aa", 1, {"where": {"city": "Rome"}})) == ["aa day differs: only here"]
    assert twins({}, ("aa", 1, {"day": 1})) == ["aa day differs: only there"]


def test_equal_arguments_under_another_version_are_a_twin() -> None:
    found = nearest_twins(
        {"a": 1}, "1", [(identity("aa", version="2"), {"a": 1})], show_values=False
    )
    assert [twin_text(twin) for twin in found] == ["equal arguments, other version (2)"]


def test_an_argument_without_which_identities_would_meet_is_found() -> None:
    calls = [{"ref": ref, "request": n} for n, ref in enumerate("aabb")]
    assert [(one.name, one.identities) for one in without_each(calls)] == [("request", 2)]
    assert without_each([{"a": 1}]) == []


def test_a_hostile_name_stays_on_its_line() -> None:
    keyed = keyed_arguments('{"a\\u001b[2J\\n":1}', None, None)
    assert keyed is not None
    assert named(keyed, show_values=True) == "a\\x1b[2J\\n = 1"
