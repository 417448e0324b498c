"""What is known of each tool: whether it only reads, may be replayed, and how old a result may be.

A declaration in the settings beats what the spans attest; of spans that disagree the cautious one
counts. A tool that neither declares is a writer if its name looks like one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from visceral_cli.calls.names import looks_like_writer
from visceral_cli.settings import NO_DECLARATION, ToolDeclaration


class ToolName(msgspec.Struct, frozen=True):
    """A tool of one namespace; a retriever is never mixed with a tool of the same name."""

    namespace: str
    tool: str
    kind: str


class Attested(msgspec.Struct, frozen=True):
    """What the spans of one tool say of it, all calls together; ``None``: nothing."""

    readonly: bool | None = None
    """False as soon as one span says so."""
    replay_safe: bool | None = None
    freshness_seconds: float | None = None
    """The smallest bound of any span."""


class ToolFacts(msgspec.Struct, frozen=True):
    """What is known of one tool, spans and settings together."""

    name: ToolName
    readonly: bool | None
    replay_safe: bool | None
    writer: bool
    """Its executions void older stored results of their run."""
    declared_by: str | None
    """``settings``, ``span``, ``name`` (a writer by its name) or ``None``."""
    freshness_cap_seconds: float | None
    """The smallest declared bound; a stored result is never served at a greater age."""
    price_usd: float | None
    """Money per call, where the call's own span names no cost."""

    @property
    def may_be_served(self) -> bool:
        """Whether it is declared to be read-only and safe to replay."""
        return self.readonly is True and self.replay_safe is True


def tool_facts(
    name: ToolName,
    attested: Attested,
    declarations: Mapping[str, ToolDeclaration],
    prices: Mapping[str, float],
) -> ToolFacts:
    """Return what is known of one tool; declarations and prices are found by its name alone."""
    declared = declarations.get(name.tool, NO_DECLARATION)
    readonly = attested.readonly if declared.read_only is None else declared.read_only
    replay_safe = attested.replay_safe if declared.replay_safe is None else declared.replay_safe
    by_name = readonly is None and name.kind == "tool" and looks_like_writer(name.tool)
    caps = [
        cap
        for cap in (attested.freshness_seconds, declared.freshness_seconds)
        if cap is not None and not math.isnan(cap)
    ]
    return ToolFacts(
        name=name,
        readonly=readonly,
        replay_safe=replay_safe,
        writer=readonly is False or by_name,
        declared_by=_declared_by(declared, attested, by_name=by_name),
        freshness_cap_seconds=min(caps, default=None),
        price_usd=prices.get(name.tool, declared.price_usd),
    )


def _declared_by(declared: ToolDeclaration, attested: Attested, *, by_name: bool) -> str | None:
    if declared.read_only is not None or declared.replay_safe is not None:
        return "settings"
    if attested.readonly is not None or attested.replay_safe is not None:
        return "span"
    return "name" if by_name else None
