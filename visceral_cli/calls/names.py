"""Whether a tool's name sounds as if it changes something.

Only for tools that neither the spans nor the user declare: such a name is taken for a writer until
declared otherwise, since a stored result must not outlive a write nobody told of. So the lists lean
towards "writer": a name that begins by reading (``get_updates``, ``list_created``) is none, unless
it also says that it may write (``get_or_create``); any other name with a writing word in it is, and
so is one that begins with a word that may be a verb (``order_pizza``, but not ``get_order``).
"""

from __future__ import annotations

import re
from functools import lru_cache

READING_WORDS = frozenset(
    {
        "analyze", "browse", "calc", "calculate", "check", "classify", "compare", "compute",
        "convert", "count", "describe", "detect", "diff", "estimate", "explain", "extract",
        "fetch", "filter", "find", "get", "glob", "grep", "inspect", "is", "list", "load", "look",
        "lookup", "ls", "peek", "predict", "preview", "query", "rank", "read", "recommend",
        "resolve", "retrieve", "scan", "search", "select", "show", "stat", "status", "suggest",
        "summarize", "translate", "validate", "verify", "view", "weather", "what", "who",
    }
)  # fmt: skip
"""A name that begins with one of these reads."""

WRITING_WORDS = frozenset(
    {
        "accept", "activate", "add", "allocate", "append", "apply", "approve", "archive",
        "assign", "attach", "ban", "bash", "block", "cancel", "change", "commit", "complete",
        "configure", "confirm", "create", "deactivate", "debit", "decline", "delete", "deploy",
        "disable", "discard", "dispatch", "drop", "edit", "enable", "enqueue", "exec", "execute",
        "grant", "increment", "insert", "install", "invite", "kill", "merge", "modify", "mutate",
        "notify", "overwrite", "patch", "post", "publish", "purchase", "purge", "push", "put",
        "rebase", "reboot", "refund", "register", "reject", "remind", "remove", "rename",
        "replace", "reply", "reschedule", "reserve", "reset", "restart", "restore", "revert",
        "revoke", "rollback", "rotate", "save", "schedule", "sell", "send", "set", "shell",
        "submit", "subscribe", "terminal", "terminate", "toggle", "transfer", "truncate",
        "unassign", "unblock", "uninstall", "unlock", "unpublish", "unsubscribe", "update",
        "upgrade", "upload", "upsert", "void", "wipe", "withdraw", "write",
    }
)  # fmt: skip
"""Words that change something, wherever in a name they stand."""

WRITING_BEGINNINGS = frozenset(
    {
        "book", "buy", "charge", "checkout", "click", "close", "copy", "email", "import", "issue",
        "join", "launch", "leave", "lock", "log", "mail", "make", "mark", "message", "move",
        "open", "order", "pay", "place", "record", "release", "share", "sign", "start", "stop",
        "store", "sync", "tag", "touch", "trigger", "type",
    }
)  # fmt: skip
"""Words that change something where a name begins with them; elsewhere they are mostly things."""

_ALTERNATIVE = frozenset({"or", "and", "then"})
_SERVER = re.compile(r"^(?:mcp__)?[\w.-]+?(?:__|/|:)(?=\w)")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def words(tool: str) -> list[str]:
    """Return the words of a name in lower case: of ``snake_case``, ``camelCase``, ``Plugin-name``.

    The name of an MCP server before ``__``, ``/`` or ``:`` is left out.
    """
    own = _SERVER.sub("", tool)
    while own != (shorter := _SERVER.sub("", own)):
        own = shorter
    return [word.lower() for word in _WORD.findall(own or tool)]


@lru_cache(maxsize=4096)
def looks_like_writer(tool: str) -> bool:
    """Whether a tool of this name is to be taken for a writer until it is declared."""
    found = words(tool)
    if not found:
        return False
    if found[0] in READING_WORDS:
        return any(
            word in _ALTERNATIVE
            and found[place + 1 : place + 2]
            and found[place + 1] in WRITING_WORDS
            for place, word in enumerate(found)
        )
    return found[0] in WRITING_BEGINNINGS or any(word in WRITING_WORDS for word in found)
