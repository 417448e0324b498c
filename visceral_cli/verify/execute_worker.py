"""The process that ``--execute`` makes calls in: one JSON line in, one word out, for each call.

Whatever the user's code prints goes nowhere, and no value, result or error text leaves the process.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from visceral_cli.contract.identity import NotCanonical, content_hash, faithful_json

Function = Callable[[str, dict[str, Any]], Any]


def serve(function: Function, asked: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line of ``asked``: the word for how the call came out."""
    for line in asked:
        ask = json.loads(line)
        word = execute(function, ask["tool"], ask["arguments"], ask["content_hash"])
        answers.write(word.encode("ascii") + b"\n")
        answers.flush()


def execute(function: Function, tool: str, arguments: str, expected: str) -> str:
    """Return how one call came out, as a word of `outcome.Execution`."""
    try:
        result = function(tool, json.loads(arguments))
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
    except (Exception, SystemExit):  # noqa: BLE001 - the user's code may raise anything
        return "failed"
    try:
        found = content_hash(faithful_json(result))
    except NotCanonical:
        return "not-comparable"
    return "same" if found == expected else "different"


async def _awaited(result: Any) -> Any:
    return await result


def find_function(name: str) -> Function:
    """Return the function ``MODULE:FUNCTION``; raises whatever importing it raises."""
    module, _, attribute = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found  # type: ignore[no-any-return]


def main() -> None:
    """Import the function, say so, and answer until there is nothing more to answer."""
    answers = os.fdopen(os.dup(1), "wb")
    asked = os.fdopen(os.dup(0), "rb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    sys.path.insert(0, str(Path.cwd()))
    function = find_function(sys.argv[1])
    answers.write(b"ready\n")
    answers.flush()
    serve(function, asked, answers)


if __name__ == "__main__":
    main()
