"""``Format``, ``Rows`` and ``View``: how much of an answer to show, as what, and on what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    GITHUB = "github"
    JUNIT = "junit"
    SARIF = "sarif"


class Rows(StrEnum):
    """What one row of a table, a CSV or a Parquet file is."""

    TOOLS = "tools"
    GROUPS = "groups"
    RULES = "rules"
    CANDIDATES = "candidates"
    """What was seen of a tool for which nothing is proven yet."""
    REFUSALS = "refusals"
    FINDINGS = "findings"
    FUNNEL = "funnel"
    CALLS = "calls"


@dataclass(frozen=True, slots=True)
class View:
    """How to show a report."""

    rows: Rows | None = None
    """``None``: the overview where the format has one, else groups."""
    top: int | None = None
    """Rows in a table or page; 0 for all, ``None`` for what fits. Files always hold all."""
    show_arguments: bool = False
    width: int | None = None
    """Columns of the terminal; ``None``: the natural width, nothing is cut or wrapped."""
    height: int | None = None
    """Lines of the terminal; the overview fits in them, or in 24."""
    color: bool = False
    encoding: str = "utf-8"
    """Of the stream; what it cannot carry is escaped."""
    command: tuple[str, ...] = ()
    """Inputs and options of this run as typed, for the next command to propose."""
