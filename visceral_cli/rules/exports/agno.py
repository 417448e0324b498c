"""Rules as the caching settings of Agno's tools, which keep every call of a tool or none."""

from __future__ import annotations

import hashlib
import json

from visceral_cli.rules.exports.cached_tool import CachedTool, Selection
from visceral_cli.rules.exports.header import common_limits, header
from visceral_cli.rules.exports.python_text import literal

_USE = ('@tool(**caching("TOOL"))', "def TOOL(...): ...")
_KEY = (
    "It keys on all arguments, those that do not matter included, and keeps what is empty too. "
    "Results lie in files of this machine, in a folder of their own for these namespaces and "
    "this version."
)

_CODE = '''

def caching(name):
    """Return the caching settings of a tool; none where no rule covers it."""
    if name not in TOOLS:
        return {}
    ttl, folder = TOOLS[name]
    place = Path(tempfile.gettempdir()) / "agno_cache" / folder
    return {"cache_results": True, "cache_ttl": ttl, "cache_dir": str(place)}
'''


def agno_text(selection: Selection) -> str:
    """Return a module whose ``caching(NAME)`` are the settings of one tool."""
    lines = [
        f"    {literal(tool.name)}: ({tool.any_arguments}, {literal(_folder(tool))}),"
        for tool in selection.tools
    ]
    table = "\n".join(["TOOLS = {", *lines, "}"]) if lines else "TOOLS = {}"
    return "".join(
        [
            header("Caching settings of Agno's tools", _USE, selection, common_limits(_KEY)),
            "\nimport tempfile\nfrom pathlib import Path\n",
            f"\n# By tool: the time to live in seconds, and the folder.\n{table}\n",
            _CODE,
        ]
    )


def _folder(tool: CachedTool) -> str:
    """Return a name that no other namespace, version or tool has: Agno itself looks at the name."""
    told = json.dumps([list(tool.namespaces), tool.name, tool.version])
    return f"visceral-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
