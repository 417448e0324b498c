"""What the Visceral SDK attests, case by case of its contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from visceral_cli.calls.attribute_values import flag, number
from visceral_cli.calls.tool_call import ContentMissing, ToolCall
from visceral_cli.contract.identity import input_hash
from visceral_cli.settings import ExtractSettings, ToolDeclaration

ARGUMENTS = {"id": "c-1", "request": "r-1"}
BASE = {
    "visceral.tool.name": "f",
    "visceral.tool.readonly": True,
    "visceral.tool.replay_safe": True,
}
INPUT = {"input.value": '{"id":"c-1","request":"r-1"}'}
HASH = {
    "visceral.tool.input_hash": input_hash("f", ARGUMENTS),
    "visceral.tool.hash_v": 1,
}
OUTPUT = {"output.value": '{"n":1}'}
SERVED = {"visceral.tool.served_decision_id": "d-1"}
VERIFIED = {"visceral.tool.verify_match": False}


EMPTY_LIST = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
"""sha256 of ``[]``."""


@pytest.mark.parametrize(
    ("attributes", "identity_missing", "content_missing"),
    [
        ({"visceral.tool.readonly": False}, "writer", "not-captured"),
        (HASH | INPUT | OUTPUT, None, None),
        (HASH | INPUT, None, "not-canonical"),
        ({}, "not-canonical", "not-captured"),
        (HASH, None, "not-captured"),
        (SERVED, "served", "served"),
        (HASH | INPUT | OUTPUT | VERIFIED, None, None),
        (HASH | INPUT | OUTPUT | VERIFIED | SERVED, None, None),
    ],
    ids=[
        "a writer",
        "a real run",
        "a result without faithful JSON",
        "hashing failed",
        "no workspace key",
        "served",
        "verify sample of an identity rule",
        "verify sample of a suppress rule",
    ],
)
def test_presence_by_case(
    call_of: Callable[..., ToolCall],
    attributes: dict[str, object],
    identity_missing: str | None,
    content_missing: str | None,
) -> None:
    call = call_of(BASE | attributes, scope="visceral")
    assert (call.identity_missing, call.content_missing) == (identity_missing, content_missing)
    assert (call.input_hash is None) == (identity_missing is not None)
    assert (call.content_hash is None) == (content_missing is not None)


def test_a_recorded_hash_is_used_as_it_stands_and_held_against_the_arguments(
    call_of: Callable[..., ToolCall],
) -> None:
    call = call_of(BASE | INPUT | HASH)
    assert (call.input_hash, call.recorded_hash, call.hash_disagrees) == (
        HASH["visceral.tool.input_hash"],
        True,
        False,
    )
    other = call_of(BASE | INPUT | HASH | {"visceral.tool.input_hash": "0" * 64})
    assert (other.input_hash, other.hash_disagrees) == ("0" * 64, True)


def test_vary_and_version_are_part_of_what_a_recorded_hash_is_held_against(
    call_of: Callable[..., ToolCall],
) -> None:
    declared = {"visceral.tool.vary": "id", "visceral.tool.version": "2"}
    hashed = {"visceral.tool.input_hash": input_hash("f", ARGUMENTS, vary=["id"], version="2")}
    call = call_of(BASE | INPUT | HASH | declared | hashed)
    assert (call.hash_disagrees, call.vary, call.version) == (False, "id", "2")
    assert call_of(BASE | INPUT | HASH | hashed).hash_disagrees


def test_a_version_that_is_a_number_is_hashed_as_one_and_shown_as_text(
    call_of: Callable[..., ToolCall],
) -> None:
    hashed = {"visceral.tool.input_hash": input_hash("f", ARGUMENTS, version=2)}
    call = call_of(BASE | INPUT | HASH | {"visceral.tool.version": 2} | hashed)
    assert (call.hash_disagrees, call.version) == (False, "2")


@pytest.mark.parametrize("hash_v", [2, None, "1"])
def test_a_hash_of_another_version_is_kept_apart_and_not_checked(
    call_of: Callable[..., ToolCall], hash_v: object
) -> None:
    wrong = {"visceral.tool.input_hash": "0" * 64, "visceral.tool.hash_v": hash_v}
    call = call_of(BASE | INPUT | wrong)
    assert (call.input_hash, call.hash_disagrees) == ("0" * 64, False)
    assert call.hash_v == (hash_v if isinstance(hash_v, int) else None)


@pytest.mark.parametrize("cut", ["0" * 32, "0" * 63, "0" * 65, "A" * 64, 7])
def test_a_hash_that_is_none_is_never_used(call_of: Callable[..., ToolCall], cut: object) -> None:
    without = call_of(BASE | {"visceral.tool.input_hash": cut})
    assert (without.input_hash, without.identity_missing) == (None, "invalid-hash")
    computed = call_of(BASE | INPUT | {"visceral.tool.input_hash": cut})
    assert (computed.input_hash, computed.recorded_hash) == (input_hash("f", ARGUMENTS), False)


def test_what_the_span_attests_beats_what_the_user_declares(
    call_of: Callable[..., ToolCall],
) -> None:
    settings = ExtractSettings(tools={"f": ToolDeclaration(vary=("request",), version="9")})
    call = call_of(BASE | INPUT | {"visceral.tool.vary": "id"}, settings)
    assert call.input_hash == input_hash("f", ARGUMENTS, vary=["id"], version="9")


@pytest.mark.parametrize(
    ("value", "read"),
    [(True, True), (False, False), ("true", True), ("False", False), ("yes", None), (1, None)],
)
def test_flags_may_have_become_texts(value: object, read: bool | None) -> None:
    assert flag(value) is read


@pytest.mark.parametrize(
    ("value", "read"),
    [(900, 900.0), ("0.5", 0.5), ("x", None), (True, None), (float("nan"), None), ("inf", None)],
)
def test_numbers_are_finite(value: object, read: float | None) -> None:
    assert number(value) == read


@pytest.mark.parametrize(
    ("recorded", "content_hash", "missing", "empty"),
    [
        ("a" * 64, "a" * 64, None, False),
        (EMPTY_LIST, EMPTY_LIST, None, True),
        ("a" * 63, None, ContentMissing.NOT_CANONICAL, False),
        (7, None, ContentMissing.NOT_CANONICAL, False),
    ],
)
def test_the_recorded_hash_of_a_result_stands_for_a_result_that_was_not_captured(
    call_of: Callable[..., ToolCall],
    recorded: object,
    content_hash: str | None,
    missing: ContentMissing | None,
    empty: bool,
) -> None:
    call = call_of(BASE | INPUT | HASH | {"visceral.tool.output_hash": recorded})
    assert (call.content_hash, call.content_missing) == (content_hash, missing)
    assert call.empty_result is empty
