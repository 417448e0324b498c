"""Rules as response caching of FastMCP, one middleware for each time to live."""

from __future__ import annotations

from visceral_cli.rules.exports import covered_calls
from visceral_cli.rules.exports.cached_tool import CachedTool, Selection
from visceral_cli.rules.exports.header import common_limits, header
from visceral_cli.rules.exports.python_text import literals

_USE = ("for middleware in response_caching():", "    server.add_middleware(middleware)")
_PLAIN_KEY = (
    "It keys on all arguments as the client sends them, recent versions also on the access token: "
    "callers with different tokens share nothing, all without one do."
)
_IDENTITY_KEY = (
    "It sees arguments as the client sends them: a call that leaves a default out is another "
    "call than the rules are about, and runs. Recent versions also key on the access token: "
    "callers with different tokens share nothing, all without one do."
)

_OFF = """\
# Lists, resources and prompts were not analysed.
OFF = {"enabled": False}
NOTHING_ELSE = {
    "list_tools_settings": OFF,
    "list_resources_settings": OFF,
    "list_prompts_settings": OFF,
    "read_resource_settings": OFF,
    "get_prompt_settings": OFF,
}
"""

_PLAIN = '''

def response_caching(cache_storage=None):
    """Return the middleware, one for each time to live; by default results stay in memory."""
    return [
        ResponseCachingMiddleware(
            cache_storage=cache_storage,
            call_tool_settings={"ttl": ttl, "included_tools": tools},
            **NOTHING_ELSE,
        )
        for ttl, tools in TOOLS.items()
    ]
'''

_BY_IDENTITY = '''

class CoveredCalls(ResponseCachingMiddleware):
    """Caches the calls that a rule covers; all others run."""

    def __init__(self, ttl, tools, cache_storage=None):
        super().__init__(
            cache_storage=cache_storage,
            call_tool_settings={"ttl": ttl, "included_tools": tools},
            **NOTHING_ELSE,
        )
        self._ttl = ttl

    async def on_call_tool(self, context, call_next):
        asked = context
        tool, arguments = asked.message.name, asked.message.arguments or {}
        if seconds(tool, arguments) != self._ttl:
            return await call_next(asked)

        async def run(context):  # the tool gets what was asked, the cache looks at what is keyed
            return await call_next(asked)

        shown = asked.message.model_copy(update={"arguments": keyed(tool, arguments)})
        return await super().on_call_tool(asked.copy(message=shown), run)


def response_caching(cache_storage=None):
    """Return the middleware, one for each time to live; by default results stay in memory."""
    return [CoveredCalls(ttl, tools, cache_storage) for ttl, tools in TOOLS.items()]
'''


def fastmcp_text(selection: Selection) -> str:
    """Return a module whose ``response_caching()`` is the middleware to add to a server."""
    plain = all(tool.any_arguments is not None and tool.vary is None for tool in selection.tools)
    limits = common_limits(_PLAIN_KEY if plain else _IDENTITY_KEY)
    middleware = "from fastmcp.server.middleware.caching import ResponseCachingMiddleware\n"
    parts = [header("Response caching of FastMCP", _USE, selection, limits), "\n"]
    if plain:
        parts += [middleware, "\n", _tools(selection), "\n", _OFF, _PLAIN]
    else:
        parts += [covered_calls.IMPORTS, "\n", middleware, "\n"]
        parts += [covered_calls.rules_table(selection.tools), "\n", _tools(selection), "\n"]
        parts += [_OFF, "\n", covered_calls.FUNCTIONS, _BY_IDENTITY]
    return "".join(parts)


def _tools(selection: Selection) -> str:
    by_ttl: dict[int, list[str]] = {}
    for tool in selection.tools:
        for ttl in _times_to_live(tool):
            by_ttl.setdefault(ttl, []).append(tool.name)
    lines = [f"    {ttl}: {literals(by_ttl[ttl])}," for ttl in sorted(by_ttl)]
    table = "\n".join(["TOOLS = {", *lines, "}"]) if lines else "TOOLS = {}"
    return f"# By time to live in seconds.\n{table}\n"


def _times_to_live(tool: CachedTool) -> set[int]:
    return set(tool.seconds.values()) if tool.any_arguments is None else {tool.any_arguments}
