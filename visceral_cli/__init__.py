"""Find the tool calls that LLM agents make twice, and prove when a stored result may stand in.

What an agent imports is here; each name loads its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visceral_cli.runtime.cached_tool_call import (
        acached_tool_call,
        awriting,
        cached_tool_call,
        writing,
    )
    from visceral_cli.runtime.call_arguments import ToolCallKeyPart, canonical_arguments
    from visceral_cli.runtime.errors_in_results import (
        ERROR_KEY,
        ERROR_TEXT_PREFIX,
        ToolCallErrorCheck,
        is_error_result,
    )
    from visceral_cli.runtime.node import node
    from visceral_cli.runtime.result_cache import CachedToolResult, ToolCall
    from visceral_cli.runtime.sharing import acting_for
    from visceral_cli.runtime.tool import tool
    from visceral_cli.runtime.wrap import wrap

__version__ = "0.1.0"

__all__ = [
    "ERROR_KEY",
    "ERROR_TEXT_PREFIX",
    "CachedToolResult",
    "ToolCall",
    "ToolCallErrorCheck",
    "ToolCallKeyPart",
    "__version__",
    "acached_tool_call",
    "acting_for",
    "awriting",
    "cached_tool_call",
    "canonical_arguments",
    "is_error_result",
    "node",
    "tool",
    "wrap",
    "writing",
]

_MODULES = {
    "ERROR_KEY": "errors_in_results",
    "ERROR_TEXT_PREFIX": "errors_in_results",
    "CachedToolResult": "result_cache",
    "ToolCall": "result_cache",
    "ToolCallErrorCheck": "errors_in_results",
    "ToolCallKeyPart": "call_arguments",
    "acached_tool_call": "cached_tool_call",
    "acting_for": "sharing",
    "awriting": "cached_tool_call",
    "cached_tool_call": "cached_tool_call",
    "canonical_arguments": "call_arguments",
    "is_error_result": "errors_in_results",
    "node": "node",
    "tool": "tool",
    "wrap": "wrap",
    "writing": "cached_tool_call",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"visceral_cli.runtime.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
