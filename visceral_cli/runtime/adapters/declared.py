"""Declarations for tools that carry no decorator: given in code, or attested in pyproject.toml.

``[tool.visceral.tools.NAME]`` takes ``read-only``, ``replay-safe``, ``vary``, ``version`` and
``freshness`` (seconds, or text such as ``"10m"``), as the offline half reads them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from visceral_cli.runtime.binding import ByKeyword
from visceral_cli.runtime.declaration import Declaration, declare
from visceral_cli.runtime.tool import attach

Declarations = Mapping[str, Mapping[str, Any]]
"""By tool: the options of `visceral_cli.tool`, such as ``{"readonly": True}``."""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BY_NAME = ByKeyword()


def attested_tools(start: Path | str | None = None) -> dict[str, dict[str, Any]]:
    """Return the declarations of the nearest pyproject.toml upwards that has any; else none.

    Raises ``ValueError`` for a file that is not TOML or a declaration that means nothing.
    """
    here = Path.cwd() if start is None else Path(start)
    for folder in (here, *here.resolve().parents):
        path = folder if folder.suffix == ".toml" else folder / "pyproject.toml"
        if path.is_file():
            tools = tomllib.loads(path.read_text("utf-8")).get("tool", {}).get("visceral", {})
            if tools.get("tools"):
                return {name: _options(name, table) for name, table in tools["tools"].items()}
    return {}


def declaration_of(name: str, tools: Declarations) -> Declaration:
    """Return what is declared of a tool; nothing declared means a writer."""
    return declare(name, **tools.get(name, {}))


def call_by_name(
    declaration: Declaration,
    run: Callable[[], Awaitable[Any]],
    arguments: Mapping[str, Any],
) -> Awaitable[Any]:
    """Run one call of a declared tool whose arguments are known by name."""

    async def call(**_: Any) -> Any:
        return await run()

    answer: Awaitable[Any] = attach(call, declaration, _BY_NAME)(**arguments)
    return answer


def _options(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "readonly": table.get("read-only") is True,
        "replay_safe": table.get("replay-safe") is True,
        "version": table.get("version"),
        "vary": table.get("vary"),
    }
    if "freshness" in table:
        options["freshness_seconds"] = _seconds(name, table["freshness"])
    return options


def _seconds(name: str, value: object) -> float:
    if isinstance(value, str) and value:
        number, unit = (value[:-1], value[-1]) if value[-1] in _UNITS else (value, "s")
        try:
            return float(number) * _UNITS[unit]
        except ValueError:
            pass
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"tool.visceral.tools.{name}.freshness is no duration")
