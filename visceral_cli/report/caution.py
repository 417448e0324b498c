"""What the proven rules do not cover, in the words of the readable formats."""

from __future__ import annotations

from visceral_cli.report.overview import active_rules
from visceral_cli.report.plain_text import plain
from visceral_cli.report.report import Report

_MOST = 3


def what_to_beware(report: Report) -> list[str]:
    """Return the warnings of the tools with rules, a line each, in the order of the tools.

    After a few of them the last line says how many there are beside.
    """
    ruled = active_rules(report)
    warned = {
        (bound.namespace, bound.tool, bound.kind): bound.warnings
        for bound in report.bounds
        if bound.warnings and (bound.namespace, bound.tool) in ruled
    }
    said = [
        f"{plain(tool.tool)}: {plain(warning, longest=None)}"
        for tool in report.tools
        for warning in warned.get((tool.namespace, tool.tool, tool.kind), ())
    ]
    more = len(said) - _MOST
    return said if more <= 0 else [*said[:_MOST], f"{more} more: visceral explain TOOL"]
