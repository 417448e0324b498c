"""Results without the parts that the user says do not count, such as a time of observation.

A part is named by a JSON path of names, indices and stars: ``$.observed_at``, ``$.items[*].id``,
``$['odd name'][0]`` (a subset of RFC 9535).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from visceral_cli.contract.identity import canonical_json

Step = str | int | None
"""A name, an index, or ``None`` for all members or elements."""

_STEP = re.compile(
    r"""\.(?P<name>[^\W\d][\w-]*)|(?P<every>\.\*|\[\*\])|\[(?P<index>\d+)\]"""
    r"""|\[(?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)")\]"""
)
_PLAIN_NAME = re.compile(r"[^\W\d][\w-]*")


class NoPath(ValueError):
    """The text is none of the JSON paths that are understood."""


@lru_cache(maxsize=256)
def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a JSON path; raises `NoPath`. There is at least one."""
    if not path.startswith("$") or path == "$":
        raise NoPath(path)
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise NoPath(path)
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["every"] is not None:
        return None
    if found["index"] is not None:
        return int(found["index"])
    if found["name"] is not None:
        return found["name"]
    quoted = found["single"] if found["single"] is not None else found["double"]
    return re.sub(r"\\(.)", r"\1", quoted)


def path_text(steps: Sequence[Step]) -> str:
    """Return the JSON path of some steps."""
    return "$" + "".join(map(_step_text, steps))


def _step_text(step: Step) -> str:
    if step is None:
        return "[*]"
    if isinstance(step, int):
        return f"[{step}]"
    if _PLAIN_NAME.fullmatch(step):
        return f".{step}"
    escaped = step.replace("\\", "\\\\").replace("'", "\\'")
    return f"['{escaped}']"


def without_paths(text: str, paths: Sequence[str]) -> str:
    """Return the canonical JSON ``text`` without what the paths name; elements become null.

    What is no object or array has no parts, and stays as it is.
    """
    if text[:1] not in ("{", "["):
        return text
    value = json.loads(text)
    for path in paths:
        _remove(value, parse_path(path))
    return canonical_json(value)


def _remove(value: object, steps: Sequence[Step]) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        names = list(value) if step is None else [step] if step in value else []
        for name in names:
            if rest:
                _remove(value[name], rest)
            else:
                del value[name]
    elif isinstance(value, list):
        places = range(len(value)) if step is None else [step]
        for place in places:
            if isinstance(place, int) and place < len(value):
                if rest:
                    _remove(value[place], rest)
                else:
                    value[place] = None
