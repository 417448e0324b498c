"""What a writer declares to void, as its spans carry it."""

from __future__ import annotations


def voids(declared: str | None, tool: str) -> bool:
    """Whether a writer voids results of ``tool`` by what its spans declare.

    ``declared`` is the value of `attributes.INVALIDATES`: names joined by commas, the empty text
    for none; ``None``: nothing is declared, so it voids the results of all tools. A name that holds
    a comma itself cannot be told from several names, and is taken to be declared wherever it may
    be.
    """
    if declared is None:
        return True
    if "," in tool:
        return f",{tool}," in f",{declared},"
    return tool in declared.split(",")
