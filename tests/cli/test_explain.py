"""visceral explain: with and without traces, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from visceral_cli.contract.identity import input_hash

Run = Callable[..., Any]


def test_without_a_word_all_words_are_listed(in_process: Run) -> None:
    done = in_process("explain")
    assert (done.returncode, done.stderr) == (0, "")
    assert "too-few-observations" in done.stdout


def test_a_word_alone_is_explained_without_reading_the_traces_of_the_settings(
    in_process: Run, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.visceral]\ninputs = ["nowhere/"]\n')
    done = in_process("explain", "retry")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("retry (verdict)\n\nEvery earlier call")


def test_conventions_are_listed_where_the_page_names_them(in_process: Run) -> None:
    done = in_process("explain", "conventions")
    assert "gen_ai.tool.call.arguments" in done.stdout
    assert "{" not in done.stdout


def test_traces_may_come_from_the_settings(in_process: Run, traces: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.visceral]\ninputs = ["traces/"]\n')
    done = in_process("explain", "get_weather")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("get_weather   6 calls of shop")


def test_without_traces_a_tool_cannot_be_explained(in_process: Run) -> None:
    done = in_process("explain", "get_weather")
    assert done.returncode == 2
    assert done.stderr == (
        'visceral: error: nothing explains "get_weather"\n'
        "  hint: visceral explain lists all words; for a call or a tool, name the traces as well\n"
    )


def test_a_call_an_identity_and_its_rule_explain_each_other(in_process: Run, traces: Path) -> None:
    call = json.loads(in_process("explain", f"{3:016x}", "traces", "--json").stdout)
    (found,) = call["explanations"]
    assert (found["kind"], found["verdict"], found["tool"]) == ("call", "reusable", "get_weather")
    assert found["keyed_arguments"] == ["city"]
    assert found["earlier"]["span_id"] == f"{1:016x}"
    assert found["earlier"]["age_seconds"] == 20.0
    assert found["twins"][0]["first_difference"] == {"how": "other value", "path": "$.city"}
    assert "argument_values" not in found

    identity = json.loads(in_process("explain", found["input_hash"][:6], "traces", "--json").stdout)
    (found,) = identity["explanations"]
    assert (found["kind"], found["calls"], found["traces"]) == ("identity", 3, 2)
    assert found["verdicts"] == {"first": 1, "reusable": 2}
    assert {refusal["kind"] for refusal in found["refusals"]} >= {"not-declared"}


def test_digits_that_fit_several_identities_list_them(
    in_process: Run, traces: Path, write_spans: Any
) -> None:
    first: dict[str, int] = {}
    for number in range(100_000):
        digits = input_hash("search", {"n": number})[:6]
        if digits in first:
            break
        first[digits] = number
    calls = [("search", {"n": n}, {"n": n}) for n in (first[digits], number)]
    write_spans(traces / "spans.jsonl", calls)
    done = in_process("explain", digits, "traces")
    hashes = [input_hash(tool, arguments)[:12] for tool, arguments, _ in calls]
    assert done.returncode == 2
    assert done.stderr == (
        f'visceral: error: "{digits}" fits 2 identities: {", ".join(hashes)}\n'
        "  hint: give more digits\n"
    )
    assert in_process("explain", hashes[0], "traces").stdout.startswith(f"search  {hashes[0]}")


def test_a_given_store_is_explained_like_the_traces_in_it(in_process: Run, traces: Path) -> None:
    assert in_process("ingest", "traces", "--store", "s.duckdb").returncode == 0
    from_store = in_process("explain", "clock", "s.duckdb")
    assert from_store.stdout == in_process("explain", "clock", "traces").stdout
    assert "first difference  $.now   other value" in from_store.stdout


def test_values_are_hidden_unless_asked_for(in_process: Run, traces: Path) -> None:
    span = f"{1:016x}"
    hidden = in_process("explain", span, "traces").stdout
    shown = in_process("explain", span, "traces", "--show-arguments").stdout
    assert "Rome" not in hidden
    assert 'city = "Rome"' in shown
    assert 'city differs: other value ("Rome" here, "Oslo" there)' in shown


@pytest.mark.parametrize(("top", "rows"), [("1", 1), ("0", 6)])
def test_as_many_rows_are_shown_as_asked(
    in_process: Run, traces: Path, write_spans: Any, top: str, rows: int
) -> None:
    write_spans(traces / "spans.jsonl", [("search", {"n": n}, {"n": n}) for n in range(6)])
    done = in_process("explain", "search", "traces", "--top", top)
    table = done.stdout.partition("identity      calls")[2].splitlines()[1:]
    assert len([line for line in table if not line.startswith("…")]) == rows
    assert ("… 5 more" in done.stdout) == (rows == 1)


def test_a_hostile_tool_name_stays_text(in_process: Run, traces: Path, write_spans: Any) -> None:
    name = "\x1b[2Jred\n\u202e"
    write_spans(traces / "spans.jsonl", [(name, {"\x1b[31m": 1}, {"\x07": n}) for n in range(2)])
    for asked in (name, f"{2:016x}", "not-declared"):
        done = in_process("explain", asked, "traces")
        assert done.returncode == 0
        assert not set("\x1b\x07\u202e") & set(done.stdout)
    assert "\x1b" not in in_process("explain", name + "x", "traces").stderr
