"""Every setting with its default; reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """What the user says of one tool in ``[tool.visceral.tools.NAME]``; ``None``: says nothing."""

    read_only: bool | None = None
    replay_safe: bool | None = None
    vary: tuple[str, ...] | None = None
    version: str | None = None
    freshness_seconds: float | None = None
    price_usd: float | None = None
    """Money per call."""
    error_key: str | None = None
    """The key whose truthy value marks a failed result instead of ``error``; "" for none."""
    error_prefix: str | None = None
    """The text that begins a failed result instead of ``Error:``; "" for none."""


NO_DECLARATION = ToolDeclaration()


@dataclass(frozen=True, slots=True)
class ExtractSettings:
    """How spans become calls."""

    tools: Mapping[str, ToolDeclaration] = field(default_factory=dict)
    workspace_keys: Mapping[str, bytes] = field(default_factory=dict)
    """AES-256 keys by key id; the key under "" opens sections that name no key id, and all others
    when it is the only one given without an id."""
    namespace_attribute: str | None = "service.name"
    """The span or resource attribute that separates results; ``None``: none does."""
    keep_text: bool = False
    """Whether arguments and results go into the store as text, beside their hashes."""


@dataclass(frozen=True, slots=True)
class FreshnessSettings:
    """How a freshness bound is proven (``analysis.freshness``)."""

    max_stale_rate: float = 0.01
    confidence: float = 0.95
    blocks: int = 8
    span_factor: float = 30.0
    min_results: int = 30
    min_runs: int = 30
    false_discovery_control: bool = True
    """Share the level over the tools (Benjamini-Hochberg); otherwise each keeps the user's."""
    max_freshness_seconds: float | None = None
    """A cap the user sets on every proposed rule."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the offline half."""

    extract: ExtractSettings = ExtractSettings()
    freshness: FreshnessSettings = FreshnessSettings()
    scope: str = "all"
    """Where a repeat counts: ``all`` traces of a namespace, or one ``trace``."""
    verify_rate: float = 0.05
    """The share of served calls that a proposed rule verifies."""
    include_empty_results: bool = False
    """Whether a rule may serve an empty result: what found nothing may soon find something."""
    include_candidates: bool = False
    """Whether the report names the identities for which nothing is proven yet."""
    prices: Mapping[str, float] = field(default_factory=dict)
    """Money per call of a tool, in USD."""
    exclude: tuple[str, ...] = ()
    since_ns: int | None = None
    until_ns: int | None = None
    only_tools: tuple[str, ...] = ()
    strict: bool = False
    store: Path | None = None
    workers: int | None = None
    """Reading processes; ``None``: one for each available core."""
    max_decompressed_bytes: int = 64 << 30
    """What one compressed input may unfold to."""
    max_document_bytes: int = 256 << 20
    """The largest single JSON document or protobuf message that is read whole."""
