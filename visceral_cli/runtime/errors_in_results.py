"""Results that say they are errors; such a result is never stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

ERROR_KEY = "error"
"""The member whose presence marks a failed result."""

ERROR_TEXT_PREFIX = "Error:"
"""The text that begins a failed result."""

ToolCallErrorCheck = Callable[[object], bool]
"""Whether a result says that the call failed."""


def is_error_result(value: object) -> bool:
    """Whether a result says that the call failed.

    That is a text that begins with `ERROR_TEXT_PREFIX`, an object that has `ERROR_KEY`, that object
    as JSON text, or a result of an MCP tool with ``isError``.
    """
    if isinstance(value, str):
        return value.startswith(ERROR_TEXT_PREFIX) or _is_error_object_text(value)
    if isinstance(value, dict | Mapping):  # dict first: an abstract class takes longer to ask
        return ERROR_KEY in value or value.get("isError") is True
    return getattr(value, "isError", False) is True


def _is_error_object_text(text: str) -> bool:
    if f'"{ERROR_KEY}"' not in text and '"isError"' not in text and "\\" not in text:
        return False
    bare = text.lstrip()
    if not bare.startswith("{"):
        return False
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (ERROR_KEY in value or value.get("isError") is True)
