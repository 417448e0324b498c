"""What somebody asks about: a span id, digits of an input hash, a rule, a tool, or a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from visceral_cli.contract.rule import Rule, decision_id
from visceral_cli.errors import UsageError
from visceral_cli.report.explain.call import explain_call
from visceral_cli.report.explain.evidence import Evidence, ToolKey
from visceral_cli.report.explain.explanation import Explanation
from visceral_cli.report.explain.identity import explain_identity
from visceral_cli.report.explain.pages import pages, pages_of
from visceral_cli.report.explain.rule import explain_rule
from visceral_cli.report.explain.tool import explain_tool
from visceral_cli.report.explain.word_in_traces import explain_word
from visceral_cli.report.explain.words import Inserts, unknown
from visceral_cli.report.row_tables import HASH_DIGITS

_FEWEST_DIGITS = 6
_HEX = re.compile(r"[0-9a-f]+")
_RULE = re.compile(r"r-([0-9a-f]{6,})")
_MOST_CANDIDATES = 10
_WHAT = "give a span id, six digits of an identity, r-… of a rule, a tool or a word of a report"


def explain_subject(evidence: Evidence, what: str, inserts: Inserts) -> list[Explanation]:
    """Return what these traces say of ``what``: each of its meanings, one after the other.

    Raises:
        UsageError: it has none, or digits or a rule fit several identities.
    """
    found = [explain_word(evidence, page, inserts) for page in pages_of(what)]
    found += [explain_tool(evidence, tool) for tool in evidence.report.tools if tool.tool == what]
    found = found or _call_or_identity(evidence, what.lower()) or _rule(evidence, what.lower())
    if not found:
        names = [page.name for page in pages()] + [tool.tool for tool in evidence.report.tools]
        raise unknown(what, names, hint=_WHAT)
    return found


def _call_or_identity(evidence: Evidence, digits: str) -> list[Explanation]:
    calls = evidence.calls_of_span(digits)
    if calls:
        traces = sorted({call.trace_id for call in calls})
        if len(traces) > 1:
            raise _ambiguous(digits, "trace", traces, "")
        return [explain_call(evidence, call) for call in calls]
    if not _HEX.fullmatch(digits):
        return []
    if len(digits) < _FEWEST_DIGITS:
        raise UsageError(f'"{digits}" is too short', hint="give six or more digits")
    identities = evidence.identities_like(digits)
    hashes = list(dict.fromkeys(input_hash for _, input_hash in identities))
    if len(hashes) > 1:
        shown = [f"{one[:HASH_DIGITS]}" for one in hashes]
        raise _ambiguous(digits, "identity", shown, "give more digits")
    return [explain_identity(evidence, key, input_hash) for key, input_hash in identities]


def _rule(evidence: Evidence, name: str) -> list[Explanation]:
    asked = _RULE.fullmatch(name)
    if asked is None:
        return []
    proposed: dict[str, Rule] = {
        rule.decision_id: rule for rule in (*evidence.report.candidates, *evidence.report.rules)
    }
    fitting: dict[str, list[tuple[ToolKey, str]]] = {}
    for key, hash_v, input_hash in evidence.identities():
        identified = decision_id(key.namespace, key.tool, input_hash, hash_v=hash_v)
        if identified.startswith(name):
            fitting.setdefault(identified, []).append((key, input_hash))
    if len(fitting) > 1:
        raise _ambiguous(name, "rule", sorted(fitting), "give more digits")
    found: list[Explanation] = []
    for identified, identities in fitting.items():
        key, input_hash = identities[0]
        found.append(explain_rule(evidence, identified, proposed.get(identified), key, input_hash))
        found += [explain_identity(evidence, *identity) for identity in identities]
    return found


def _ambiguous(what: str, noun: str, fitting: Sequence[str], hint: str) -> UsageError:
    plural = "identities" if noun == "identity" else f"{noun}s"
    shown = ", ".join(fitting[:_MOST_CANDIDATES])
    more = f" and {len(fitting) - _MOST_CANDIDATES} more" if len(fitting) > _MOST_CANDIDATES else ""
    return UsageError(f'"{what}" fits {len(fitting)} {plural}: {shown}{more}', hint=hint or None)
