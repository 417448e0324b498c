"""The settings in effect as rows of key, value and origin."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from visceral_cli.cli.config import Configuration
from visceral_cli.cli.durations import parse_duration
from visceral_cli.cli.exact_values import exact_duration, exact_share
from visceral_cli.cli.readers import inner_share
from visceral_cli.cli.setting_keys import SETTINGS, TOOL_KEYS, TOOL_LIMIT_KEYS, Setting
from visceral_cli.cli.shares import parse_share
from visceral_cli.cli.times import parse_time
from visceral_cli.report.plain_text import plain
from visceral_cli.report.quantities import duration_text


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One setting as it is shown."""

    key: str
    value: str
    origin: str


def config_rows(configuration: Configuration) -> list[ConfigRow]:
    """Return a row for each setting, then one for each key of each declared tool."""
    rows = [
        ConfigRow(setting.key, _shown(setting, value.value), value.origin)
        for setting in SETTINGS
        for value in [configuration.values[setting.key]]
    ]
    return rows + list(_tool_rows(configuration))


def _tool_rows(configuration: Configuration) -> Iterator[ConfigRow]:
    for name, declaration in configuration.tools.items():
        for key in TOOL_KEYS:
            value = getattr(declaration, key.field)
            if value is not None:
                shown = _duration(value) if key.parse is parse_duration else _text(value)
                yield ConfigRow(f"tools.{name}.{key.key}", shown, str(configuration.file))
    for name, limits in configuration.tool_limits.items():
        for key in TOOL_LIMIT_KEYS:
            limit = getattr(limits, key.field)
            if limit is not None:
                shown = _exact(Fraction(limit), key.parse)
                yield ConfigRow(f"tools.{name}.{key.key}", shown, str(configuration.file))


def _shown(setting: Setting[object], value: object) -> str:
    if setting.is_secret:
        return "set, not shown" if value else "none"
    if setting.parse is parse_duration:
        return _duration(value)
    if setting.parse in (parse_share, inner_share) and isinstance(value, float):
        return f"{value * 100:.10g}%"
    if isinstance(value, Fraction):
        return _exact(value, setting.parse)
    if setting.parse is parse_time and isinstance(value, int):
        return _moment(value)
    return _text(value)


def _exact(value: Fraction, parse: object) -> str:
    """Return a limit with all its digits; it was read from a decimal number."""
    if parse is exact_duration:
        return _duration(float(value))
    if parse is exact_share:
        return f"{_decimal(value * 100)}%"
    return _decimal(value)


def _decimal(value: Fraction) -> str:
    return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"


def _duration(value: object) -> str:
    return duration_text(value) if isinstance(value, float) else _text(value)


def _moment(time_ns: int) -> str:
    whole, fraction = divmod(time_ns, 1_000_000_000)
    text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}Z"


def _text(value: object) -> str:
    match value:
        case None | ():
            return "none"
        case dict() if not value:
            return "none"
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name}={amount}" for name, amount in value.items())
        case Path():
            return str(value)
        case _:
            return str(value)


def as_table(rows: Sequence[ConfigRow]) -> str:
    """Return aligned columns."""
    shown = [(plain(row.key), plain(row.value), plain(row.origin)) for row in rows]
    keys, values = (max(len(row[place]) for row in shown) for place in (0, 1))
    return "".join(f"{key:<{keys}}  {value:<{values}}  {origin}\n" for key, value, origin in shown)


def as_json(rows: Sequence[ConfigRow]) -> str:
    """Return ``{key: {"value": ..., "origin": ...}}``."""
    document = {row.key: {"value": row.value, "origin": row.origin} for row in rows}
    return json.dumps(document, indent=2) + "\n"
