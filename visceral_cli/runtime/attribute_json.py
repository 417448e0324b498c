"""Span attributes as OTLP JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes that every span of one tool or node carries, written once."""

    values: Mapping[str, object]
    json: str = field(init=False)
    """The members of the OTLP list, joined by commas."""

    def __post_init__(self) -> None:
        written = (attribute_json(name, value) for name, value in self.values.items())
        object.__setattr__(self, "json", ",".join(text for text in written if text))


def attribute_json(name: str, value: object) -> str:
    """Return one attribute as an OTLP ``KeyValue``; empty for a type that has no attribute form."""
    if isinstance(value, str):
        return f'{{"key":{quoted(name)},"value":{{"stringValue":{quoted(value)}}}}}'
    if isinstance(value, bool):
        return f'{{"key":{quoted(name)},"value":{{"boolValue":{"true" if value else "false"}}}}}'
    if isinstance(value, int):
        return f'{{"key":{quoted(name)},"value":{{"intValue":"{int(value)}"}}}}'
    if isinstance(value, float):
        return f'{{"key":{quoted(name)},"value":{{"doubleValue":{_double(value)}}}}}'
    return ""


def _double(value: float) -> str:
    if math.isfinite(value):
        return json.dumps(float(value))
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
