"""What evidence or declaration would change the verdict on a call."""

from __future__ import annotations

from collections.abc import Sequence

from visceral_cli.analysis.figures import Verdict
from visceral_cli.report.explain.evidence import CallRow, Evidence, ToolKey, WriterCall
from visceral_cli.report.explain.explanation import Line
from visceral_cli.report.plain_text import plain
from visceral_cli.rules.refusal import table_of

_ADVICE = {
    Verdict.FIRST: "needs an earlier call with equal keyed arguments; where an argument that "
    "differs does not matter, declare vary without it",
    Verdict.CHANGED: "none: the tool answered otherwise; a shorter freshness would serve less",
    Verdict.IN_FLIGHT: "none: only joining equal calls that run at once would have helped",
    Verdict.RETRY: "needs an earlier call that succeeds",
    Verdict.FAILED: "needs the call to succeed",
}


def other_verdict(evidence: Evidence, call: CallRow, writers: Sequence[WriterCall]) -> list[Line]:
    """Return what would change the verdict on a call; ``writers`` came between."""
    advice = _advice(evidence, call, writers)
    return [Line("other verdict", advice)] if advice else []


def _advice(evidence: Evidence, call: CallRow, writers: Sequence[WriterCall]) -> str:
    verdict = Verdict(call.verdict)
    if verdict is Verdict.NO_IDENTITY:
        return f"needs the arguments in the traces: visceral explain {call.identity_missing}"
    if verdict is Verdict.UNVERIFIABLE:
        return _for_unverifiable(call)
    if verdict is Verdict.AFTER_WRITER:
        return _for_writers(evidence, call, writers)
    if verdict is Verdict.WRITER:
        return _if_by_name([call.key], evidence) or "none: it is declared to change something"
    return _ADVICE.get(verdict, "")


def _for_unverifiable(call: CallRow) -> str:
    if not call.is_timed:
        return "needs start and end of the call in the traces: visceral explain clocks"
    if call.content_missing is not None:
        return f"needs its result in the traces: visceral explain {call.content_missing}"
    return "needs the result and the times of the earlier call in the traces"


def _for_writers(evidence: Evidence, call: CallRow, writers: Sequence[WriterCall]) -> str:
    if not writers:
        return "none: a writer was at work beside the earlier call, whose result was not stored"
    names = {one.tool for one in writers}
    keys = [
        ToolKey(tool.namespace, tool.tool, tool.kind)
        for tool in evidence.report.tools
        if tool.writer and tool.tool in names and tool.namespace == call.namespace
    ]
    by_name = _if_by_name(keys, evidence)
    return by_name or "none: what came between is declared to change something"


def _if_by_name(keys: Sequence[ToolKey], evidence: Evidence) -> str:
    """Return how to declare the tools that are writers only by their names."""
    wanted = {(key.namespace, key.tool) for key in keys}
    tables = [
        table_of(tool.tool)
        for tool in evidence.report.tools
        if (tool.namespace, tool.tool) in wanted and tool.writer and tool.declared_by == "name"
    ]
    if not tables:
        return ""
    only = "if it only reads" if len(tables) == 1 else "if they only read"
    shown = plain(", ".join(tables), longest=200)
    return f"{only}, write read-only = true under {shown} in pyproject.toml"
