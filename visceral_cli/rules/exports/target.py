"""Whose settings rules can be written as."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Target(StrEnum):
    """Whose settings are written."""

    FASTMCP = "fastmcp"
    LANGGRAPH = "langgraph"
    CREWAI = "crewai"
    AGNO = "agno"


TITLES: Mapping[Target, str] = {
    Target.FASTMCP: "FastMCP",
    Target.LANGGRAPH: "LangGraph",
    Target.CREWAI: "CrewAI",
    Target.AGNO: "Agno",
}
"""What each calls itself."""
