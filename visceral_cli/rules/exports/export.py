"""Rules in, the settings of another cache out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from visceral_cli.rules.exports.agno import agno_text
from visceral_cli.rules.exports.cached_tool import Selection
from visceral_cli.rules.exports.crewai import crewai_text
from visceral_cli.rules.exports.fastmcp import fastmcp_text
from visceral_cli.rules.exports.langgraph import langgraph_text
from visceral_cli.rules.exports.target import Target

_WRITERS: Mapping[Target, Callable[[Selection], str]] = {
    Target.FASTMCP: fastmcp_text,
    Target.LANGGRAPH: langgraph_text,
    Target.CREWAI: crewai_text,
    Target.AGNO: agno_text,
}


def settings_text(selection: Selection, target: Target) -> str:
    """Return a Python module for the target, in ASCII; the same rules give the same bytes."""
    return _WRITERS[target](selection)
