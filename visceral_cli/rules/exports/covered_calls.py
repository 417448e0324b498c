"""The part that several exports share: which calls a rule covers, as Python source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visceral_cli.rules.exports.cached_tool import CachedTool
from visceral_cli.rules.exports.python_text import literal, literals

IMPORTS = "import hashlib\nimport json\n"
"""What the source needs."""

FUNCTIONS = '''
def keyed(tool, arguments):
    """Return the arguments that a result depends on; None: one of them is missing."""
    vary = RULES[tool]["vary"]
    if vary is None:
        return arguments
    if all(name in arguments for name in vary):
        return {name: arguments[name] for name in vary}
    return None


def identity(tool, arguments):
    """Return the input hash of a call; None: it is not told apart safely, and never cached."""
    chosen = keyed(tool, arguments)
    if chosen is None:
        return None
    call = {"args": chosen, "tool": tool, "version": RULES[tool]["version"]}
    try:
        text = json.dumps(call, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if json.loads(text)["args"] != chosen:
            return None
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()


def seconds(tool, arguments):
    """Return for how long the result of a call may be kept; None: it may not be."""
    if tool not in RULES:
        return None
    kept, found = RULES[tool]["seconds"], identity(tool, arguments)
    if found is None or not isinstance(kept, dict):
        return None if found is None else kept
    return kept.get(found)
'''


def rules_table(tools: Sequence[CachedTool]) -> str:
    """Return the assignment of ``RULES``: by tool its version, keyed arguments and seconds."""
    return "\n".join(_table(tools)) + "\n"


def _table(tools: Sequence[CachedTool]) -> Iterator[str]:
    yield "# By tool; seconds by input hash, or one number where the arguments do not matter."
    yield "RULES = {"
    for tool in tools:
        yield f"    {literal(tool.name)}: {{"
        yield f'        "version": {literal(tool.version)},'
        yield f'        "vary": {"None" if tool.vary is None else literals(tool.vary)},'
        if tool.any_arguments is not None:
            yield f'        "seconds": {tool.any_arguments},'
        else:
            yield '        "seconds": {'
            for input_hash, seconds in tool.seconds.items():
                yield f"            {literal(input_hash)}: {seconds},"
            yield "        },"
        yield "    },"
    yield "}"
