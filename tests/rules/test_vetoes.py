"""What forbids rules although a freshness is proven."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from visceral_cli.analysis.declared_vary import UnkeyedArgument
from visceral_cli.analysis.figures import Finding, FindingKind
from visceral_cli.analysis.tools import ToolFacts, ToolName
from visceral_cli.contract.identity import InputHash
from visceral_cli.rules.evidence import BoundEvidence, IdentityCalls, IdentityServes, ToolEvidence
from visceral_cli.rules.propose import RulePolicy, propose_rules
from visceral_cli.rules.refusal import RefusalKind
from visceral_cli.rules.vetoes import vetoes_of_arguments, with_limits

NAME = ToolName("shop", "search", "tool")
A = InputHash("a" * 64)
BOUND = BoundEvidence(600.0, False, 0.0099, 0.95, 300.0, 310, 0, 300, 40, 86400.0, 598.5)


@pytest.fixture
def proven() -> ToolEvidence:
    """Evidence that gives one rule."""
    return ToolEvidence(
        facts=ToolFacts(NAME, True, True, False, "span", None, None),
        bound=BOUND,
        missing=None,
        repeats=5,
        identities=[IdentityCalls(A, 1, 6, 5, 5, 0, False)],
        serves={A: IdentityServes(5, 0, False, True)},
    )


def refuted(name: ToolName) -> UnkeyedArgument:
    message = "the declared vary leaves out lang: 1 of 2 pairs ..."
    finding = Finding(FindingKind.UNKEYED_ARGUMENT, name.namespace, name.tool, message, 1)
    return UnkeyedArgument(name, message, finding)


def test_a_refuted_vary_leaves_no_rule_and_says_which_argument(proven):
    vetoes = vetoes_of_arguments([refuted(NAME)])
    proposal = propose_rules(with_limits([proven], vetoes, {}, {}), RulePolicy())
    assert proposal.rules == ()
    (refusal,) = proposal.refusals
    assert refusal.kind is RefusalKind.UNKEYED_ARGUMENT
    assert "leaves out lang" in refusal.message
    assert refusal.repeats == 5


def test_a_veto_holds_for_its_own_tool_only(proven):
    vetoes = vetoes_of_arguments([refuted(replace(NAME, namespace="docs"))])
    proposal = propose_rules(with_limits([proven], vetoes, {}, {}), RulePolicy())
    assert [rule.match.input_hash for rule in proposal.rules] == [A]
    assert proposal.refusals == ()
