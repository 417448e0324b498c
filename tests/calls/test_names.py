"""Which names are taken for writers until they are declared."""

from __future__ import annotations

import pytest

from visceral_cli.calls.names import looks_like_writer, words


@pytest.mark.parametrize(
    "tool",
    [
        "create_ticket",
        "send_mail",
        "sendEmail",
        "update_customer",
        "delete_file",
        "write_file",
        "Write",
        "set_flag",
        "server__create_x",
        "mcp__github__create_issue",
        "github/merge_pull_request",
        "desk-set_flag",
        "tickets.delete",
        "userCreate",
        "HTTPPost",
        "get_or_create_user",
        "find_and_replace",
        "upsert_row",
        "order_pizza",
        "email_customer",
        "Bash",
        "execute_sql",
        "flaky_update",
    ],
)
def test_names_of_writers(tool: str) -> None:
    assert looks_like_writer(tool)


@pytest.mark.parametrize(
    "tool",
    [
        "get_weather",
        "search_docs",
        "list_created_items",
        "get_updates",
        "read_write_log",
        "getOrderStatus",
        "mcp__github__get_issue",
        "desk-get_weather",
        "customer_brief",
        "flaky_lookup",
        "web_search",
        "WebFetch",
        "convert",
        "report_since",
        "helm_list_releases",
        "calculator",
        "(unknown)",
        "",
    ],
)
def test_names_that_do_not_sound_like_writers(tool: str) -> None:
    assert not looks_like_writer(tool)


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        ("mcp__my-server__create_x", ["create", "x"]),
        ("HTTPPost2", ["http", "post", "2"]),
        ("Plugin-get_weather", ["plugin", "get", "weather"]),
        ("send__", ["send"]),
    ],
)
def test_words_of_a_name(tool: str, found: list[str]) -> None:
    assert words(tool) == found
