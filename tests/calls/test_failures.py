"""A call failed by its span, or by what it returned; a tool may be declared otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli.calls.failures import value_failed
from visceral_cli.calls.tool_call import ToolCall
from visceral_cli.settings import NO_DECLARATION, ExtractSettings, ToolDeclaration

TOOL = {"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": "{}"}


@pytest.mark.parametrize(
    ("attributes", "fields", "failed"),
    [
        ({}, {}, False),
        ({}, {"status": 1}, False),
        ({}, {"status": 2}, True),
        ({}, {"events": (("exception", {"exception.type": "ValueError"}),)}, True),
        ({}, {"status": 1, "events": (("exception", {}),)}, True),
        ({}, {"events": (("a note", {}),)}, False),
        ({"output.value": "Error: boom"}, {}, True),
        ({"output.value": '{"error": "boom"}', "output.mime_type": "application/json"}, {}, True),
        ({"output.value": '"{\\"error\\": \\"boom\\"}"'}, {}, True),
        ({"output.value": '{"success": false}'}, {}, True),
        ({"output.value": '{"success": true, "error": ""}'}, {}, False),
    ],
)
def test_status_exception_or_result_tell_a_failure(
    call_of: Callable[..., ToolCall],
    attributes: dict[str, object],
    fields: dict[str, Any],
    failed: bool,
) -> None:
    call = call_of(TOOL | attributes, **fields)
    assert call.failed is failed
    assert (call.content_missing == "failed") is failed
    assert not failed or call.content_hash is None


@pytest.mark.parametrize(
    ("scope", "attributes"),
    [
        ("strands.telemetry.tracer", {"gen_ai.tool.status": "error"}),
        ("fastmcp", {"error.type": "tool_error"}),
        ("gcp.vertex.agent", {"error.type": "TOOL_ERROR"}),
        ("my.agent", {"error.type": "TimeoutError"}),
    ],
)
def test_an_attribute_of_the_convention_tells_a_failure(
    call_of: Callable[..., ToolCall], scope: str, attributes: dict[str, object]
) -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    assert call_of(tool | attributes, scope=scope).failed
    assert not call_of(tool, scope=scope).failed
    assert not call_of(tool | dict.fromkeys(attributes, ""), scope=scope).failed


@pytest.mark.parametrize("error", [None, False, "", [], {}, 0])
def test_an_error_that_is_nothing_is_none(error: object) -> None:
    assert not value_failed({"error": error}, NO_DECLARATION)


@pytest.mark.parametrize("error", ["boom", True, ["boom"], {"code": 404}, 404])
def test_an_error_that_holds_anything_is_one(error: object) -> None:
    assert value_failed({"error": error}, NO_DECLARATION)


@pytest.mark.parametrize(
    ("value", "declaration", "failed"),
    [
        ({"error": "boom"}, ToolDeclaration(error_key="fault"), False),
        ({"fault": "boom"}, ToolDeclaration(error_key="fault"), True),
        ({"success": False}, ToolDeclaration(error_key="fault"), False),
        ({"error": "boom"}, ToolDeclaration(error_key=""), False),
        ("Error: boom", ToolDeclaration(error_prefix="FAILED"), False),
        ("FAILED: boom", ToolDeclaration(error_prefix="FAILED"), True),
        ("Error: boom", ToolDeclaration(error_prefix=""), False),
        ("  Error: boom", NO_DECLARATION, True),
        ("error: boom", NO_DECLARATION, False),
        ([{"error": "boom"}], NO_DECLARATION, False),
    ],
)
def test_a_declaration_replaces_the_key_and_the_prefix(
    value: object, declaration: ToolDeclaration, failed: bool
) -> None:
    assert value_failed(value, declaration) is failed


def test_a_declaration_is_by_tool(call_of: Callable[..., ToolCall]) -> None:
    settings = ExtractSettings(tools={"search": ToolDeclaration(error_key="")})
    failing = TOOL | {"output.value": '{"error": "none, this is a column"}'}
    assert not call_of(failing, settings).failed
    assert call_of(failing | {"tool.name": "other"}, settings).failed
