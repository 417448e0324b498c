"""Every setting a user can give: its key in ``pyproject.toml``, its option, its variable.

A key has the name of its option. Adding a setting is adding a line here and a field in
``visceral_cli.settings``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, TypeVar

from visceral_cli.cli import readers
from visceral_cli.cli.durations import parse_duration
from visceral_cli.cli.exact_values import exact_duration, exact_money, exact_share
from visceral_cli.cli.key_file import parse_keys
from visceral_cli.cli.shares import parse_share
from visceral_cli.cli.times import parse_time
from visceral_cli.settings import ExtractSettings, FreshnessSettings, Settings

T = TypeVar("T")

_EXTRACT = ExtractSettings()
_FRESHNESS = FreshnessSettings()
_SETTINGS = Settings()


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting; ``parse`` takes TOML values and the text of an option or a variable."""

    key: str
    """Its place below ``[tool.visceral]``, such as ``rules.verify-rate``."""
    default: T
    parse: Callable[[object], T]
    environment: str | None = None
    option: bool = True
    in_file: bool = True
    is_path: bool = False
    """A relative path in a file is meant from that file's folder."""
    is_secret: bool = False

    @property
    def name(self) -> str:
        """The name of its option, without the dashes."""
        return self.key.rpartition(".")[2]

    @property
    def parameter(self) -> str:
        """The name of its parameter in the commands."""
        return self.name.replace("-", "_")


INPUTS: Setting[tuple[str, ...]] = Setting(
    "inputs", (), readers.parse_texts, option=False, is_path=True
)
EXCLUDE: Setting[tuple[str, ...]] = Setting("exclude", (), readers.parse_texts)
SINCE: Setting[int | None] = Setting("since", None, parse_time)
UNTIL: Setting[int | None] = Setting("until", None, parse_time)
TOOL: Setting[tuple[str, ...]] = Setting("tool", (), readers.parse_texts)
STRICT: Setting[bool] = Setting("strict", _SETTINGS.strict, readers.parse_flag)
SCOPE: Setting[str] = Setting("scope", _SETTINGS.scope, readers.one_of("all", "trace"))
NAMESPACE: Setting[str | None] = Setting(
    "namespace", _EXTRACT.namespace_attribute, readers.parse_text_or_none
)
PRINCIPAL: Setting[str | None] = Setting("principal", None, readers.parse_text)
FIND_VARY: Setting[bool | None] = Setting("find-vary", _SETTINGS.find_vary, readers.parse_flag)
KEY_FILE: Setting[Path | None] = Setting("key-file", None, readers.parse_path, is_path=True)
WORKSPACE_KEY: Setting[dict[str, bytes]] = Setting(
    "workspace-key",
    {},
    parse_keys,
    environment="VISCERAL_WORKSPACE_KEY",
    option=False,
    in_file=False,
    is_secret=True,
)
STORE: Setting[Path | None] = Setting(
    "store", None, readers.parse_path, environment="VISCERAL_STORE", is_path=True
)
WORKERS: Setting[int | None] = Setting("workers", None, readers.at_least(1))
PRICE: Setting[dict[str, float]] = Setting("price", {}, readers.parse_prices, in_file=False)
OUTPUT_FORMAT: Setting[str | None] = Setting(
    "output-format", None, readers.parse_text, environment="VISCERAL_OUTPUT_FORMAT"
)
OUTPUT: Setting[Path | None] = Setting(
    "output", None, readers.parse_path, environment="VISCERAL_OUTPUT", is_path=True
)
TOP: Setting[int | None] = Setting("top", None, readers.at_least(0))

MAX_FRESHNESS: Setting[float | None] = Setting("rules.max-freshness", None, parse_duration)
VERIFY_RATE: Setting[float] = Setting("rules.verify-rate", _SETTINGS.verify_rate, parse_share)
MAX_STALE_RATE: Setting[float] = Setting(
    "rules.max-stale-rate", _FRESHNESS.max_stale_rate, readers.inner_share
)
CONFIDENCE: Setting[float] = Setting("rules.confidence", _FRESHNESS.confidence, readers.inner_share)
INCLUDE_EMPTY_RESULTS: Setting[bool] = Setting(
    "rules.include-empty-results", _SETTINGS.include_empty_results, readers.parse_flag
)
BLOCKS: Setting[int] = Setting("rules.blocks", _FRESHNESS.blocks, readers.at_least(2), option=False)
SPAN_FACTOR: Setting[float] = Setting(
    "rules.span-factor", _FRESHNESS.span_factor, readers.parse_factor, option=False
)
MIN_RESULTS: Setting[int] = Setting(
    "rules.min-results", _FRESHNESS.min_results, readers.at_least(1), option=False
)
MIN_RUNS: Setting[int] = Setting(
    "rules.min-runs", _FRESHNESS.min_runs, readers.at_least(1), option=False
)
ANYTIME: Setting[bool] = Setting("rules.anytime", _FRESHNESS.anytime, readers.parse_flag)
MULTIPLICITY: Setting[str] = Setting(
    "rules.multiplicity", "fdr", readers.one_of("fdr", "none"), option=False
)

MAX_DUPLICATE_RATE: Setting[Fraction | None] = Setting(
    "check.max-duplicate-rate", None, exact_share
)
MAX_REPEATS: Setting[int | None] = Setting("check.max-repeats", None, readers.at_least(0))
MAX_AVOIDABLE: Setting[Fraction | None] = Setting("check.max-avoidable", None, exact_duration)
MAX_COST: Setting[Fraction | None] = Setting("check.max-cost", None, exact_money)
CHECK_RULES: Setting[Path | None] = Setting("check.rules", None, readers.parse_path, is_path=True)
AGAINST: Setting[Path | None] = Setting("check.against", None, readers.parse_path, is_path=True)
BASELINE: Setting[Path | None] = Setting("check.baseline", None, readers.parse_path, is_path=True)

CHECK_SETTINGS = (
    MAX_DUPLICATE_RATE,
    MAX_REPEATS,
    MAX_AVOIDABLE,
    MAX_COST,
    CHECK_RULES,
    AGAINST,
    BASELINE,
)
"""What the gate holds an analysis against."""

VERIFY_RULES: Setting[Path | None] = Setting("verify.rules", None, readers.parse_path, is_path=True)
HOLDOUT: Setting[float | None] = Setting("verify.holdout", None, readers.inner_share)
MAX_MISMATCH_RATE: Setting[float | None] = Setting("verify.max-mismatch-rate", None, parse_share)
SAMPLE_RATE: Setting[float] = Setting("verify.sample-rate", 1.0, parse_share)
WITHIN: Setting[float] = Setting("verify.within", 7 * 86_400.0, parse_duration)
LEDGER: Setting[Path | None] = Setting("verify.ledger", None, readers.parse_path, is_path=True)
EXECUTE_LIMIT: Setting[int] = Setting("verify.execute-limit", 20, readers.at_least(1))
EXECUTE_TIMEOUT: Setting[float] = Setting("verify.execute-timeout", 30.0, parse_duration)

VERIFY_SETTINGS = (
    VERIFY_RULES,
    HOLDOUT,
    MAX_MISMATCH_RATE,
    SAMPLE_RATE,
    WITHIN,
    LEDGER,
    EXECUTE_LIMIT,
    EXECUTE_TIMEOUT,
)
"""How rules are verified. That calls are made again is no setting: it has to be asked for."""

SETTINGS: tuple[Setting[Any], ...] = (
    INPUTS,
    EXCLUDE,
    SINCE,
    UNTIL,
    TOOL,
    STRICT,
    SCOPE,
    NAMESPACE,
    PRINCIPAL,
    FIND_VARY,
    KEY_FILE,
    WORKSPACE_KEY,
    STORE,
    WORKERS,
    PRICE,
    OUTPUT_FORMAT,
    OUTPUT,
    TOP,
    MAX_FRESHNESS,
    VERIFY_RATE,
    MAX_STALE_RATE,
    CONFIDENCE,
    INCLUDE_EMPTY_RESULTS,
    BLOCKS,
    SPAN_FACTOR,
    MIN_RESULTS,
    MIN_RUNS,
    ANYTIME,
    MULTIPLICITY,
    *CHECK_SETTINGS,
    *VERIFY_SETTINGS,
)


@dataclass(frozen=True, slots=True)
class ToolKey:
    """One key of ``[tool.visceral.tools.NAME]``: what the spans of a tool do not say."""

    key: str
    field: str
    """The field of ``ToolDeclaration``, or of ``Limits``."""
    parse: Callable[[object], object]


TOOL_KEYS = (
    ToolKey("read-only", "read_only", readers.parse_flag),
    ToolKey("replay-safe", "replay_safe", readers.parse_flag),
    ToolKey("vary", "vary", readers.parse_texts),
    ToolKey("version", "version", readers.parse_text),
    ToolKey("freshness", "freshness_seconds", parse_duration),
    ToolKey("price-usd", "price_usd", readers.parse_money),
    ToolKey("ignore-result", "ignore_result", readers.parse_json_paths),
    ToolKey("error-key", "error_key", readers.parse_text),
    ToolKey("error-prefix", "error_prefix", readers.parse_text),
)

TOOL_LIMIT_KEYS = (
    ToolKey("max-duplicate-rate", "duplicate_rate", exact_share),
    ToolKey("max-repeats", "repeats", readers.at_least(0)),
    ToolKey("max-avoidable", "avoidable_seconds", exact_duration),
    ToolKey("max-cost", "cost_usd", exact_money),
)
"""The limits of one tool, fields of ``Limits``."""
