"""What the rules would answer is exactly what may be answered, whatever the order and the files."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from known_rules import Tools, make_tools
from recorded_span import as_file

from visceral_cli.pipeline import analyze_inputs
from visceral_cli.progress import Silent
from visceral_cli.report.report import Report
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

READERS = ("hours", "my_orders", "price", "quote", "stock", "flaky")
SETTINGS = Settings(
    extract=ExtractSettings(
        tools={name: ToolDeclaration(read_only=True, replay_safe=True) for name in READERS},
        keep_text=True,
    ),
    find_vary=True,
)


@pytest.fixture(scope="module")
def tools() -> Tools:
    return make_tools(seed=20260302)


@dataclass
class Found:
    report: Report
    served: dict[str, set[str]]
    """Span ids by tool."""


@pytest.fixture(scope="module", params=range(1), ids=lambda seed: f"split {seed}")
def found(
    request: pytest.FixtureRequest, tools: Tools, tmp_path_factory: pytest.TempPathFactory
) -> Found:
    """Spans in another order, in files of several kinds."""
    rng, folder = random.Random(request.param), tmp_path_factory.mktemp("split")
    spans = rng.sample(tools.spans, len(tools.spans))
    paths = []
    while spans:
        size = rng.randrange(1, len(tools.spans) // 2)
        kind = rng.choice(("json", "json.gz", "proto"))
        path = folder / f"{rng.randrange(1000):03d}-{len(paths)}.{kind}"
        path.write_bytes(as_file(spans[:size], kind, rng.choice((1, 40))))
        del spans[:size]
        paths.append(str(path))
    with analyze_inputs(paths, SETTINGS, Silent()) as analysis:
        rows = analysis.store.execute(
            "SELECT tool, span_id FROM tool_call JOIN served_call USING (call_key)"
        ).fetchall()
        served: dict[str, set[str]] = {}
        for tool, span_id in rows:
            served.setdefault(tool, set()).add(span_id)
        return Found(analysis.report, served)


def test_every_safe_repeat_is_offered_and_no_other_call(tools: Tools, found: Found) -> None:
    assert {tool: len(spans) for tool, spans in found.served.items()} == {
        tool: len(spans) for tool, spans in tools.served.items()
    }
    assert found.served == {tool: set(spans) for tool, spans in tools.served.items()}
    assert found.report.savings.stale_calls == 0


def test_the_saved_tool_time_is_the_true_one(tools: Tools, found: Found) -> None:
    saved = {one.tool: one.seconds for one in found.report.savings.by_tool}
    for tool, spans in tools.served.items():
        assert saved[tool] == pytest.approx(sum(spans.values()), rel=0.01)


def test_only_those_may_share_who_are_told_the_same(found: Found) -> None:
    scopes = {one.tool: one.scope for one in found.report.sharing}
    assert (scopes["hours"], scopes["my_orders"], scopes["stock"]) == ("all", "user", "all")
    assert {rule.match.tool_name for rule in found.report.rules} == {
        "hours",
        "my_orders",
        "stock",
        "flaky",
    }


def test_the_volatile_argument_is_learned_and_no_other_one(found: Found) -> None:
    (vary,) = found.report.vary
    assert (vary.tool, vary.vary, vary.left_out) == ("quote", ("item",), ("request_id",))
    assert vary.proven
    assert (vary.pairs, vary.differing) == (800, 0)
    assert vary.more_reusable == 800
