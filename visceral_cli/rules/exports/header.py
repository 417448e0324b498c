"""The comments at the head of exported settings: what is cached, what is not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visceral_cli import __version__
from visceral_cli.rules.exports.cached_tool import CachedTool, LeftOut, Selection
from visceral_cli.rules.exports.python_text import comment, literal, literals


def header(
    title: str, use: Sequence[str], selection: Selection, not_enforced: Sequence[str]
) -> str:
    """Return the comments: ``use`` are lines of code, ``not_enforced`` what a reader must know."""
    return "\n".join(_lines(title, use, selection, not_enforced)) + "\n"


def _lines(
    title: str, use: Sequence[str], selection: Selection, not_enforced: Sequence[str]
) -> Iterator[str]:
    yield comment(f"{title}, by the rules that visceral {__version__} proved.")
    yield "#"
    yield from (f"#     {line}".rstrip() for line in use)
    yield "#"
    if selection.tools:
        yield "# Cached:"
        yield from (comment(_in_words(tool), indent=2) for tool in selection.tools)
    else:
        yield "# Cached: nothing."
    if selection.left_out:
        yield "#"
        yield "# Left out:"
        yield from (comment(_why(one), indent=2) for one in selection.left_out)
    if selection.tools:
        yield "#"
        yield "# What this cache cannot do:"
        yield from (comment(one, indent=2) for one in (*not_enforced, *_caveats(selection.tools)))


def _in_words(tool: CachedTool) -> str:
    what = "any arguments"
    if tool.any_arguments is None:
        count = len(tool.seconds)
        what = "1 identity" if count == 1 else f"{count:,} identities"
    longest = max(tool.seconds.values())
    if tool.any_arguments is not None:
        longest = tool.any_arguments
    kept = f"{longest} s"
    if tool.any_arguments is None and tool.shortest_seconds != longest:
        kept = f"{tool.shortest_seconds} to {longest} s"
    said = f"{literal(tool.name)}: {what}, kept {kept}"
    said += (
        f" (fresh for {tool.freshness_seconds:.3f} s from the beginning of a call, and calls "
        f"take up to {tool.longest_call_seconds:.3f} s)"
    )
    if tool.vary is not None:
        said += f"; keyed on {literals(tool.vary)}"
    if tool.version is not None:
        said += f"; version {literal(tool.version)}"
    namespaces = [name for name in tool.namespaces if name]
    return f"{said}; proven in {literals(namespaces)}" if namespaces else said


def _why(one: LeftOut) -> str:
    rules = "1 rule" if one.rules == 1 else f"{one.rules:,} rules"
    return f"{literal(one.tool)}, {rules}: {one.why}"


def _caveats(tools: Sequence[CachedTool]) -> Iterator[str]:
    versions = [tool.name for tool in tools if tool.version is not None]
    if versions:
        yield (
            f"It does not look at the version of {', '.join(map(literal, versions))}: after a "
            "change of version, empty it and write these settings anew."
        )
    for tool in tools:
        if tool.compared_without:
            yield (
                f"Results of {literal(tool.name)} were compared without "
                f"{', '.join(map(literal, tool.compared_without))}: a kept result shows these as "
                "they were."
            )


def common_limits(keyed: str) -> tuple[str, ...]:
    """Return what no such cache does; ``keyed`` says what of the arguments counts."""
    return (
        "It voids nothing when a writer runs. The freshness above was proven without that, on "
        "traces in which a kept result would have outlived every write; a tool that is known to "
        "change with a writer is left out. If a new tool begins to write what these read, write "
        "the settings anew.",
        "It tells no users, sessions or runs apart: only rules that hold for all who ask are here.",
        keyed,
        "It never runs a call to compare (the rules' verify rate): run visceral verify on new "
        "traces from time to time.",
    )
