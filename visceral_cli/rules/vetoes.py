"""What forbids rules for a tool although a freshness is proven."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from visceral_cli.analysis.declared_vary import UnkeyedArgument
from visceral_cli.analysis.figures import SharingFigures
from visceral_cli.analysis.tools import ToolName
from visceral_cli.rules.evidence import ToolEvidence, Veto
from visceral_cli.rules.refusal import RefusalKind
from visceral_cli.settings import NO_DECLARATION, ToolDeclaration


def vetoes_of_arguments(refuted: Iterable[UnkeyedArgument]) -> dict[ToolName, list[Veto]]:
    """Return the vetoes of tools whose declared ``vary`` the traces refute."""
    return {
        one.name: [
            Veto(
                RefusalKind.UNKEYED_ARGUMENT,
                one.message,
                "add what it leaves out to the tool's vary, and record anew",
            )
        ]
        for one in refuted
    }


def with_limits(
    tools: Iterable[ToolEvidence],
    vetoes: Mapping[ToolName, Sequence[Veto]],
    sharing: Mapping[ToolName, SharingFigures],
    declarations: Mapping[str, ToolDeclaration],
) -> Iterator[ToolEvidence]:
    """Yield the evidence of every tool, with what else limits its rules."""
    for tool in tools:
        name = tool.facts.name
        yield replace(
            tool,
            vetoes=tuple(vetoes.get(name, ())),
            sharing=sharing.get(name),
            ignored=declarations.get(name.tool, NO_DECLARATION).ignore_result,
        )
