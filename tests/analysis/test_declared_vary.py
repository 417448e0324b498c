"""A declared vary is held against the traces."""

from __future__ import annotations

import pytest

from visceral_cli.analysis.figures import FindingKind
from visceral_cli.analysis.judge_arguments import judge_arguments
from visceral_cli.analysis.writers import writers_of
from visceral_cli.settings import ExtractSettings, Settings, ToolDeclaration

DECLARED = Settings(
    extract=ExtractSettings(tools={"get_weather": ToolDeclaration(vary=("q",))}),
)


@pytest.fixture
def refuted(recorded, call):
    """Return what refutes ``vary = ["q"]`` of calls given as (start, arguments, result)."""

    def refutation(*rows: tuple[float, str, str], settings: Settings = DECLARED, writer=None):
        calls = [call(start=s, arguments=text, result=result) for s, text, result in rows]
        if writer is not None:
            calls.append(call(start=writer, tool="update_weather", arguments="w", readonly=False))
        texts = dict.fromkeys(text for _, text, _ in rows)
        of = recorded(*calls, texts=[(text, text) for text in texts])
        # With the declared vary, all calls of one q have one identity.
        of.store.execute(
            "UPDATE tool_call SET input_hash = ("
            "SELECT sha256(json_extract(text, '$.q')::VARCHAR) FROM argument_text AS known "
            "WHERE known.arguments_hash = tool_call.arguments_hash) WHERE tool = 'get_weather'"
        )
        columns = of.columns(settings)
        return list(judge_arguments(of.store, columns, writers_of(columns), settings).refuted)

    return refutation


def test_two_results_for_one_key_veto_it_and_name_the_argument(refuted):
    (found,) = refuted((0, '{"lang":"en","q":"a"}', "1"), (5, '{"lang":"de","q":"a"}', "2"))
    assert found.finding.kind is FindingKind.UNKEYED_ARGUMENT
    assert "leaves out lang: 1 of 1 pairs" in found.message
    assert found.finding.span_ids == ("span-00000", "span-00001")
    assert '"a"' not in found.message


def test_equal_results_let_it_stand(refuted):
    assert refuted((0, '{"lang":"en","q":"a"}', "1"), (5, '{"lang":"de","q":"a"}', "1")) == []


def test_another_key_may_have_another_result(refuted):
    assert refuted((0, '{"lang":"en","q":"a"}', "1"), (5, '{"lang":"de","q":"b"}', "2")) == []


@pytest.mark.parametrize(("apart", "vetoed"), [(59, True), (60, True), (61, False)])
def test_only_calls_within_a_minute_veto(apart, vetoed, refuted):
    found = refuted((0, '{"lang":"en","q":"a"}', "1"), (apart, '{"lang":"de","q":"a"}', "2"))
    assert bool(found) is vetoed


def test_a_change_with_equal_arguments_is_no_veto(refuted):
    # The third call gives the text of language "en" at least two calls.
    rows = [(0, '{"lang":"en","q":"a"}', "1"), (5, '{"lang":"en","q":"a"}', "2")]
    assert refuted(*rows, (500, '{"lang":"de","q":"a"}', "1")) == []


def test_a_writer_between_excuses(refuted):
    rows = [(0, '{"lang":"en","q":"a"}', "1"), (5, '{"lang":"de","q":"a"}', "2")]
    assert refuted(*rows, writer=3) == []
    assert len(refuted(*rows, writer=9)) == 1


def test_where_one_argument_differs_it_alone_is_named(refuted):
    (found,) = refuted(
        (0, '{"lang":"en","q":"a","req":1}', "1"),
        (5, '{"lang":"de","q":"a","req":2}', "2"),
        (6, '{"lang":"en","q":"a","req":2}', "1"),
    )
    assert "leaves out lang: 2 of 2 pairs" in found.message


def test_without_a_declaration_nothing_is_vetoed(refuted):
    rows = [(0, '{"lang":"en","q":"a"}', "1"), (5, '{"lang":"de","q":"a"}', "2")]
    assert refuted(*rows, settings=Settings()) == []
