"""Every setting with its default; reads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
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
    ignore_result: tuple[str, ...] = ()
    """JSON paths of what does not count in a result, such as ``$.observed_at``: results that are
    equal without these parts are equal."""


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
    principal_attribute: str | None = None
    """The span or resource attribute that names who asks; ``None``: what each library calls it."""
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
    anytime: bool = False
    """Whether bounds hold however often growing traces are analysed again."""
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
    for_plain_caches: bool = False
    """Whether rules also say what they are worth in a cache that knows no writers."""
    answers_depend_on_who: bool = True
    """Whether two users may get different answers to one question; then a result is shared by all
    only where the traces prove it."""
    find_vary: bool | None = None
    """Whether to look for the arguments that decide a result; ``None``: where the store keeps the
    texts of arguments, without which nothing is found."""
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What the gate allows, of all tools or of one; each may be reached. ``None``: no limit."""

    duplicate_rate: Fraction | None = None
    repeats: int | None = None
    avoidable_seconds: Fraction | None = None
    """Of the repeats with the same result."""
    cost_usd: Fraction | None = None
    """Of the same repeats."""


NO_LIMITS = Limits()
