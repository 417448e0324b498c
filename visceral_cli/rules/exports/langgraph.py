"""Rules as cache policies of LangGraph.

LangGraph caches what a node or a task gave back, under a key made of what it was given. For a tool
that is the task: a node of tools answers with messages that carry the id of the tool call, which
must not be given to another one.
"""

from __future__ import annotations

from visceral_cli.rules.exports import covered_calls
from visceral_cli.rules.exports.cached_tool import Selection
from visceral_cli.rules.exports.header import common_limits, header

_USE = (
    "@cached_task",
    "def TOOL(...): ...              # awaited or .result(), as any task",
    "",
    "@entrypoint(cache=InMemoryCache())   # or StateGraph(...).compile(cache=...)",
    "",
    "A node of tools (ToolNode) must have no cache policy: its answers carry the id of the call.",
)
_KEY = (
    "It is asked with the arguments of the function, as given or with the defaults filled in; "
    "arguments that are not plain JSON values make a call that is not cached. LangGraph before "
    "1.2.15 also keeps a failure for that time."
)

_CODE = '''

def cached_task(function, tool=None):
    """Return the function as a task; its calls that a rule covers are answered from the cache.

    tool: the name that the rules have for it, where that is not the function's.
    """
    tool = tool or function.__name__
    signature = inspect.signature(function)

    def asked(args, kwargs):
        bound = signature.bind(*args, **kwargs)
        given = dict(bound.arguments)
        if seconds(tool, given) is None:
            bound.apply_defaults()
        return dict(bound.arguments)

    def policy(ttl):
        return CachePolicy(key_func=lambda *a, **k: identity(tool, asked(a, k)), ttl=ttl)

    kept = RULES.get(tool, {}).get("seconds", {})
    times = set(kept.values()) if isinstance(kept, dict) else {kept}
    uncached = task(function)
    cached = {ttl: task(function, cache_policy=policy(ttl)) for ttl in times}

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            ttl = seconds(tool, asked(args, kwargs))
        except TypeError:  # the arguments do not fit, which the task says
            ttl = None
        return cached.get(ttl, uncached)(*args, **kwargs)

    # Where you know of a write, empty it: call.clear_cache(cache).
    for each in cached.values():
        call.clear_cache, call.aclear_cache = each.clear_cache, each.aclear_cache
    return call
'''


def langgraph_text(selection: Selection) -> str:
    """Return a module whose ``cached_task`` takes the place of ``langgraph.func.task``."""
    return "".join(
        [
            header("Cache policies of LangGraph", _USE, selection, common_limits(_KEY)),
            "\nimport functools\n",
            "import hashlib\nimport inspect\nimport json\n",
            "\nfrom langgraph.func import task\nfrom langgraph.types import CachePolicy\n\n",
            covered_calls.rules_table(selection.tools),
            "\n",
            covered_calls.FUNCTIONS,
            _CODE,
        ]
    )
