"""The arguments of a cached call as text, and the identity of the call.

Two calls share an identity only if namespace, key parts and arguments are the same: all three go
into one JSON document, so no text of one can look like the border to the next, and ``1``, ``1.0``,
``True`` and ``"1"`` stay apart.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import pathlib
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from visceral_cli.contract.identity import (
    InputHash,
    NotCanonical,
    canonical_json,
    input_hash_of_text,
)

ToolCallKeyPart = str | int | float | bool | None
"""What a key is made of."""

_PARTS = frozenset({str, int, float, bool, type(None)})
_JSON_LEAVES = (str, int, float, type(None))
_TEXT_IS_VALUE = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    pathlib.PurePath,
    bytes,
    enum.Enum,
)
"""Types of which ``str()`` says all that is in the value."""

_MOST_VALUES = 1_000_000
"""What has more is circular, or would take longer to look at than to run."""

_SECRET = "**********"
"""How pydantic writes every secret: two different ones would look equal."""


def canonical_arguments(arguments: object) -> str:
    """Return the text of a call's arguments.

    A pydantic model gives its fields in their order, everything else JSON with sorted keys. Raises
    `NotCanonical` if there is no such text (NaN, keys that are not text, cycles), or if the text
    would not say all: an object of a type whose ``str()`` may leave something out.
    """
    if _is_model(arguments):
        return _model_text(arguments)
    _check(arguments)
    return canonical_json(arguments)


def call_identity(
    namespace: str,
    key: Sequence[ToolCallKeyPart] | ToolCallKeyPart,
    arguments: object,
    *,
    tool: str,
    version: object = None,
) -> tuple[InputHash, str]:
    """Return the identity of a cached call, and the canonical JSON of what it is made of.

    Raises `NotCanonical` as `canonical_arguments` does, and for a key part of another type.
    """
    text = canonical_arguments(arguments)
    kind = "model" if _is_model(arguments) else "json"
    named = {"arguments": {kind: text}, "key": _key(key), "namespace": namespace}
    whole = canonical_json(named)
    return input_hash_of_text(tool, whole, version=version), whole


def name_of_tool(namespace: str, key: Sequence[ToolCallKeyPart] | ToolCallKeyPart) -> str:
    """Return the name that spans and rules use: the first key part if it is a text."""
    parts = list(key) if isinstance(key, list | tuple) else [key]
    first = parts[0] if parts else None
    return first if isinstance(first, str) and first else namespace


def _key(key: Sequence[ToolCallKeyPart] | ToolCallKeyPart) -> object:
    is_list = isinstance(key, list | tuple)
    parts = list(key) if isinstance(key, list | tuple) else [key]
    for part in parts:
        if type(part) not in _PARTS or (isinstance(part, float) and not math.isfinite(part)):
            raise NotCanonical("a key part is no text, number, boolean or None")
    return parts if is_list else key


def _check(arguments: object) -> None:
    """Refuse values whose ``str()`` does not say what they are."""
    waiting: list[Any] = [arguments]
    for seen, item in enumerate(waiting):
        if seen > _MOST_VALUES:
            raise NotCanonical("circular or too large")
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
        elif not isinstance(item, (*_JSON_LEAVES, *_TEXT_IS_VALUE)):
            raise NotCanonical("a type whose text may leave something out")


def _is_model(value: object) -> bool:
    pydantic = sys.modules.get("pydantic")
    model = getattr(pydantic, "BaseModel", None)
    return model is not None and isinstance(value, model)


def _model_text(model: Any) -> str:
    try:
        fields = type(model).model_fields
        if any(field.exclude for field in fields.values()):
            raise NotCanonical("a model with fields that its JSON leaves out")
        text = json.dumps(model.model_dump(mode="json"), separators=(",", ":"), allow_nan=False)
    except NotCanonical:
        raise
    except Exception as error:  # noqa: BLE001 - serializers are the user's code
        raise NotCanonical(f"the model has no JSON ({type(error).__name__})") from None
    if _SECRET in text:
        raise NotCanonical("a model with a secret that its JSON hides")
    return text
