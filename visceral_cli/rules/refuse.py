"""Why a tool, or an identity of it, may have no rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

from visceral_cli.analysis.tools import ToolFacts
from visceral_cli.contract.identity import HASH_VERSION
from visceral_cli.contract.rule import Sharing
from visceral_cli.rules.evidence import IdentityCalls, IdentityServes, Missing, ToolEvidence
from visceral_cli.rules.refusal import Refusal, RefusalKind, table_of


def refuse_tool(tool: ToolEvidence) -> Iterator[Refusal]:
    """Yield what keeps the tool as a whole from having rules: at most one reason of each sort."""
    repeats = tool.repeats
    if tool.facts.writer:
        yield _refusal(tool, RefusalKind.WRITER, *_why_writer(tool.facts), repeats)
        return
    if not repeats:
        message = "no call repeats an earlier one"
        yield _refusal(tool, RefusalKind.NO_REPEATS, message, "", repeats)
        return
    if not tool.facts.may_be_served:
        yield _refusal(tool, *_why_not_declared(tool.facts), repeats)
    for veto in tool.vetoes:
        yield _refusal(tool, veto.kind, veto.message, veto.next_step, repeats)
    if tool.missing is not None:
        missing = tool.missing
        next_step = _what_would_prove(tool, missing)
        yield _refusal(tool, missing.kind, _within(tool, missing.message), next_step, repeats)


def _why_writer(facts: ToolFacts) -> tuple[str, str]:
    if facts.readonly is None:
        return (
            "its name looks like that of a tool that changes something",
            f"if it only reads, write read-only = true under {table_of(facts.name.tool)} in "
            "pyproject.toml",
        )
    return "it is declared to change something", ""


def _why_not_declared(facts: ToolFacts) -> tuple[RefusalKind, str, str]:
    if facts.replay_safe is False:
        message = "it is declared not to be replay-safe"
        return RefusalKind.NOT_REPLAY_SAFE, message, ""
    said = {"read-only": facts.readonly is True, "replay-safe": facts.replay_safe is True}
    open_keys = [key for key, declared in said.items() if not declared]
    return (
        RefusalKind.NOT_DECLARED,
        f"neither spans nor settings declare it {' and '.join(open_keys)}",
        f"if it is, write {' and '.join(f'{key} = true' for key in open_keys)} under "
        f"{table_of(facts.name.tool)} in pyproject.toml",
    )


def _within(tool: ToolEvidence, message: str) -> str:
    """Add the scope in which results were compared, where it is not all."""
    sharing = tool.sharing
    if sharing is None or sharing.scope == Sharing.ALL:
        return message
    if not sharing.judged:
        return f"{message} (within one {sharing.scope}, as no span names a user)"
    return f"{message} (within one {sharing.scope}: {sharing.why})"


_NOTHING_HELPS = frozenset({RefusalKind.DECLARED_NEVER, RefusalKind.NO_REPEATS})
_RESULT_DIFFERS = frozenset({RefusalKind.NEW_EVERY_TIME, RefusalKind.CHANGES_IN_SECONDS})


def _what_would_prove(tool: ToolEvidence, missing: Missing) -> str:
    who = _who_would_help(tool)
    if missing.kind in _NOTHING_HELPS:
        return who if missing.kind is RefusalKind.NO_REPEATS else ""
    if missing.kind in _RESULT_DIFFERS:
        return "look for a time, an id or a model's words in the result"
    rate = None if tool.bound is None else tool.bound.smallest_passing_stale_rate
    said = "analyse more traces"
    if rate is not None and rate < 1:
        # Rounded up, in decimals, so that the rate named does pass.
        percent = math.ceil(Decimal(repr(rate)) * 10_000) / 100
        said += f"; today it passes at --max-stale-rate {percent}%"
    return f"{said}; {who}" if who else said


def _who_would_help(tool: ToolEvidence) -> str:
    if tool.sharing is None or tool.sharing.judged:
        return ""
    return "name who asks with --principal, or say none if answers do not depend on it"


def choose_identities(
    tool: ToolEvidence, *, include_empty_results: bool
) -> tuple[list[IdentityCalls], list[Refusal]]:
    """Return the identities that a rule may name, and why the others may not be named."""
    eligible: list[IdentityCalls] = []
    refusals: list[Refusal] = []
    never_compared: list[IdentityCalls] = []
    foreign: list[IdentityCalls] = []
    for identity in tool.identities:
        serves = tool.serves.get(identity.input_hash)
        if identity.hash_v != HASH_VERSION:
            foreign.append(identity)
        elif serves is not None and serves.volatile:
            refusals.append(_refuse_volatile(tool, identity, serves))
        elif not _is_in_scope(tool, serves):
            never_compared.append(identity)
        elif identity.empty_result and not include_empty_results:
            refusals.append(_refuse_empty(tool, identity))
        else:
            eligible.append(identity)
    if foreign:
        refusals.append(_refuse_foreign(tool, foreign))
    if never_compared:
        refusals.append(_refuse_never_compared(tool, never_compared))
    return eligible, refusals


def _is_in_scope(tool: ToolEvidence, serves: IdentityServes | None) -> bool:
    if tool.bound is not None and tool.bound.any_identity:
        return True
    return serves is not None and serves.in_scope


def _refuse_volatile(
    tool: ToolEvidence, identity: IdentityCalls, serves: IdentityServes
) -> Refusal:
    message = f"{serves.stale} of {serves.serves} serves would have been stale"
    kind = RefusalKind.VOLATILE
    return _refusal(tool, kind, message, "", identity.repeats, identity.input_hash)


def _refuse_empty(tool: ToolEvidence, identity: IdentityCalls) -> Refusal:
    return _refusal(
        tool,
        RefusalKind.EMPTY_RESULT,
        "its result is empty, and what found nothing may soon find something",
        "--include-empty-results, if an empty answer may be repeated",
        identity.repeats,
        identity.input_hash,
    )


def _refuse_foreign(tool: ToolEvidence, identities: Sequence[IdentityCalls]) -> Refusal:
    versions = ", ".join(str(v) for v in sorted({identity.hash_v for identity in identities}))
    return _refusal(
        tool,
        RefusalKind.HASH_VERSION,
        f"{_counted(identities)} with hash_v {versions}, but clients make {HASH_VERSION}",
        "record the traces with the SDK that will serve",
        sum(identity.repeats for identity in identities),
    )


def _refuse_never_compared(tool: ToolEvidence, identities: Sequence[IdentityCalls]) -> Refusal:
    return _refusal(
        tool,
        RefusalKind.NOT_COMPARED,
        f"{_counted(identities)} with no comparison within the proven freshness, "
        "which holds only for those that were compared",
        "analyse more traces",
        sum(identity.repeats for identity in identities),
    )


def _counted(identities: Sequence[IdentityCalls]) -> str:
    return "1 identity" if len(identities) == 1 else f"{len(identities)} identities"


def _refusal(
    tool: ToolEvidence,
    kind: RefusalKind,
    message: str,
    next_step: str,
    repeats: int,
    input_hash: str | None = None,
) -> Refusal:
    name = tool.facts.name
    return Refusal(kind, name.namespace, name.tool, input_hash, message, next_step, repeats)
