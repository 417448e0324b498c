"""Options, environment and ``[tool.visceral]`` of ``pyproject.toml`` → settings, with origins.

An option beats the environment, the environment the file, the file the default. An unknown key is
an error: a misspelt limit that is silently ignored is a gate left open.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from visceral_cli.cli import setting_keys as keys
from visceral_cli.cli.environment import process_environment
from visceral_cli.cli.key_file import read_key_file
from visceral_cli.cli.setting_keys import (
    SETTINGS,
    TOOL_KEYS,
    TOOL_LIMIT_KEYS,
    Setting,
    ToolKey,
)
from visceral_cli.cli.wrong_value import WrongValue, kind_of
from visceral_cli.errors import UsageError
from visceral_cli.settings import (
    NO_LIMITS,
    ExtractSettings,
    FreshnessSettings,
    Limits,
    Settings,
    ToolDeclaration,
)

T = TypeVar("T")

FILE_NAME = "pyproject.toml"
CONFIG_VARIABLE = "VISCERAL_CONFIG"
DEFAULT = "default"
_TABLE = "tool.visceral"
_NOBODY = "none"
"""The principal that says that answers do not depend on who asks."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The table ``[tool.visceral]`` of one file."""

    path: Path
    """As errors name it."""
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Value:
    """A value in effect, and its origin: ``--option``, ``VARIABLE``, a file, ``default``."""

    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """All values in effect."""

    values: Mapping[str, Value]
    """By key."""
    tools: Mapping[str, ToolDeclaration]
    file: Path | None
    tool_limits: Mapping[str, Limits] = field(default_factory=dict)
    """Of the gate, by tool."""
    keep_text: bool = False
    """Whether arguments and results are wanted, and so go into the store."""
    include_candidates: bool = False
    """Whether rules that are not proven are wanted too."""

    def get(self, setting: Setting[T]) -> T:
        """Return the value of one setting."""
        return cast(T, self.values[setting.key].value)

    def limits(self) -> Limits:
        """Return the limits that all tools together are held to."""
        return Limits(
            duplicate_rate=self.get(keys.MAX_DUPLICATE_RATE),
            repeats=self.get(keys.MAX_REPEATS),
            avoidable_seconds=self.get(keys.MAX_AVOIDABLE),
            cost_usd=self.get(keys.MAX_COST),
        )

    def settings(self) -> Settings:
        """Return the settings of the analysis. Reads the key file, if one is named."""
        return Settings(
            extract=self._extract(),
            freshness=self._freshness(),
            scope=self.get(keys.SCOPE),
            verify_rate=self.get(keys.VERIFY_RATE),
            include_empty_results=self.get(keys.INCLUDE_EMPTY_RESULTS),
            include_candidates=self.include_candidates,
            find_vary=self.get(keys.FIND_VARY),
            answers_depend_on_who=self.get(keys.PRINCIPAL) != _NOBODY,
            prices=self._prices(),
            exclude=self.get(keys.EXCLUDE),
            since_ns=self.get(keys.SINCE),
            until_ns=self.get(keys.UNTIL),
            only_tools=self.get(keys.TOOL),
            strict=self.get(keys.STRICT),
            store=self.get(keys.STORE),
            workers=self.get(keys.WORKERS),
        )

    def _extract(self) -> ExtractSettings:
        workspace_keys = self.get(keys.WORKSPACE_KEY)
        principal = self.get(keys.PRINCIPAL)
        key_file = self.get(keys.KEY_FILE)
        if key_file is not None:
            workspace_keys = workspace_keys | read_key_file(key_file)
        return ExtractSettings(
            tools=self.tools,
            workspace_keys=workspace_keys,
            namespace_attribute=self.get(keys.NAMESPACE),
            principal_attribute=None if principal == _NOBODY else principal,
            keep_text=self.keep_text
            or self.get(keys.STORE) is not None
            or self.get(keys.FIND_VARY) is True,
        )

    def _freshness(self) -> FreshnessSettings:
        return FreshnessSettings(
            max_stale_rate=self.get(keys.MAX_STALE_RATE),
            confidence=self.get(keys.CONFIDENCE),
            blocks=self.get(keys.BLOCKS),
            span_factor=self.get(keys.SPAN_FACTOR),
            min_results=self.get(keys.MIN_RESULTS),
            min_runs=self.get(keys.MIN_RUNS),
            false_discovery_control=self.get(keys.MULTIPLICITY) == "fdr",
            anytime=self.get(keys.ANYTIME),
            max_freshness_seconds=self.get(keys.MAX_FRESHNESS),
        )

    def _prices(self) -> dict[str, float]:
        declared = {
            name: tool.price_usd for name, tool in self.tools.items() if tool.price_usd is not None
        }
        return declared | self.get(keys.PRICE)


def load_configuration(
    options: Mapping[str, object],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Configuration:
    """Return the values in effect. ``options`` are the parameters of a command by name.

    Raises ``UsageError`` that names the option, variable, or file and key.
    """
    environment = process_environment() if environment is None else environment
    file = _config_file(options, environment, folder or Path())
    if file is not None:
        _refuse_unknown_keys(file)
    values = {setting.key: _value_of(setting, options, environment, file) for setting in SETTINGS}
    return Configuration(
        values=values,
        tools={} if file is None else _tools_of(file),
        tool_limits={} if file is None else _limits_of(file),
        file=None if file is None else file.path,
        keep_text=options.get("show_arguments") is True,
        include_candidates=options.get("include_candidates") is True,
    )


def _config_file(
    options: Mapping[str, object], environment: Mapping[str, str], folder: Path
) -> ConfigFile | None:
    if options.get("no_config"):
        return None
    named = options.get("config") or environment.get(CONFIG_VARIABLE)
    if named:
        path = Path(str(named))
        table = _table_of(path)
        if table is None:
            raise UsageError(f"{path}: no table [{_TABLE}]")
        return ConfigFile(path, table)
    absolute = folder.absolute()
    for place in (absolute, *absolute.parents):
        path = place / FILE_NAME
        if not path.is_file():
            continue
        path = Path(os.path.relpath(path, absolute))
        table = _table_of(folder / path)
        if table is not None:
            return ConfigFile(folder / path, table)
    return None


def _table_of(path: Path) -> Mapping[str, Any] | None:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    table = document.get("tool")
    table = table.get("visceral") if isinstance(table, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: {_TABLE}: {kind_of(table)} where a table is expected")
    return table


def _refuse_unknown_keys(file: ConfigFile) -> None:
    known: dict[str, set[str]] = {"": {"tools"}}
    for setting in SETTINGS:
        if setting.in_file:
            table, _, key = setting.key.rpartition(".")
            known.setdefault(table, set()).add(key)
    known[""] |= {table for table in known if table}
    _refuse_unknown(file, "", file.table, known[""])
    for table in known:
        if table and table in file.table:
            _refuse_unknown(file, table, file.table[table], known[table])


def _refuse_unknown(file: ConfigFile, name: str, table: object, known: set[str]) -> None:
    place = f"{file.path}: {_TABLE}{'.' if name else ''}{name}"
    if not isinstance(table, dict):
        raise UsageError(f"{place}: {kind_of(table)} where a table is expected")
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(sorted(known))}"
            raise UsageError(f'{place}: unknown key "{key}"', hint=hint)


def _value_of(
    setting: Setting[T],
    options: Mapping[str, object],
    environment: Mapping[str, str],
    file: ConfigFile | None,
) -> Value:
    given = options.get(setting.parameter)
    if given is not None and given != [] and given != ():
        origin = "argument" if setting is keys.INPUTS else f"--{setting.name}"
        return Value(_parsed(setting, given, origin), origin)
    if setting.environment and environment.get(setting.environment):
        origin = setting.environment
        return Value(_parsed(setting, environment[origin], origin), origin)
    if file is not None and setting.in_file:
        table, _, key = setting.key.rpartition(".")
        found = file.table.get(table, {}) if table else file.table
        if key in found:
            place = f"{file.path}: {_TABLE}{'.' if table else ''}{table}: {key}"
            value = _parsed(setting, found[key], place)
            return Value(_from_folder(setting, value, file.path.parent), str(file.path))
    return Value(setting.default, DEFAULT)


def _parsed(setting: Setting[T], given: object, place: str) -> T:
    try:
        return setting.parse(given)
    except WrongValue as wrong:
        raise UsageError(f"{place}: {wrong}", hint=wrong.hint) from None


def _from_folder(setting: Setting[T], value: T, folder: Path) -> object:
    """Return a path of a file as seen from where the program runs; ``-`` is standard input."""
    if not setting.is_path:
        return value
    if isinstance(value, tuple):
        return tuple(item if item == "-" else str(folder / item) for item in value)
    return folder / value if isinstance(value, Path) else value


def _tools_of(file: ConfigFile) -> dict[str, ToolDeclaration]:
    tables = file.table.get("tools", {})
    if not isinstance(tables, dict):
        place = f"{file.path}: {_TABLE}.tools"
        raise UsageError(f"{place}: {kind_of(tables)} where a table is expected")
    return {
        name: ToolDeclaration(**_values_of(file, name, table, TOOL_KEYS))
        for name, table in tables.items()
    }


def _limits_of(file: ConfigFile) -> dict[str, Limits]:
    limits = {
        name: Limits(**_values_of(file, name, table, TOOL_LIMIT_KEYS))
        for name, table in file.table.get("tools", {}).items()
    }
    return {name: of_tool for name, of_tool in limits.items() if of_tool != NO_LIMITS}


def _values_of(
    file: ConfigFile, name: str, table: object, wanted: Sequence[ToolKey]
) -> dict[str, Any]:
    known = {key.key for key in (*TOOL_KEYS, *TOOL_LIMIT_KEYS)}
    _refuse_unknown(file, f"tools.{name}", table, known)
    values: dict[str, Any] = {}
    for key in wanted:
        if key.key not in cast(Mapping[str, object], table):
            continue
        given = cast(Mapping[str, object], table)[key.key]
        try:
            values[key.field] = key.parse(given)
        except WrongValue as wrong:
            place = f"{file.path}: {_TABLE}.tools.{name}: {key.key}"
            raise UsageError(f"{place}: {wrong}", hint=wrong.hint) from None
    return values
