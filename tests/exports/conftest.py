"""Rules as other programs' settings, loaded as a module."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

from visceral_cli.contract.identity import input_hash
from visceral_cli.contract.rule import (
    Action,
    Guard,
    Match,
    Rule,
    RuleKind,
    Sharing,
    decision_id,
)
from visceral_cli.rules.exports.cached_tool import select_tools
from visceral_cli.rules.exports.export import settings_text
from visceral_cli.rules.exports.target import Target


def make_rule(
    tool: str = "get_weather",
    arguments: dict[str, Any] | None = None,
    *,
    seconds: float = 1.9,
    longest: float = 0.5,
    any_arguments: bool = False,
    vary: list[str] | None = None,
    version: str | None = None,
    namespace: str = "shop",
    scope: Sharing | None = Sharing.ALL,
    plain: dict[str, Any] | None = None,
    **evidence: Any,
) -> Rule:
    """Return a rule; its time to live in a plain cache is ``floor(seconds - longest)``."""
    found = input_hash(tool, arguments or {"city": "Basel"}, vary=vary, version=version)
    told = {
        "freshness_seconds": seconds,
        "longest_call_seconds": longest,
        "any_arguments": any_arguments,
    }
    if vary is not None:
        told["vary"] = vary
    if version is not None:
        evidence["version"] = version
    return Rule(
        decision_id=decision_id(namespace, tool, found),
        kind=RuleKind.REUSE_IDENTITY,
        match=Match(tool, input_hash=found, hash_v=1, namespace=namespace, scope=scope),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action("reuse_cached_result", seconds, 0.05),
        evidence=evidence | {"plain_cache": told if plain is None else plain},
    )


@pytest.fixture(name="make_rule", scope="session")
def rule_maker() -> Callable[..., Rule]:
    """The builder of one rule."""
    return make_rule


@pytest.fixture(scope="session")
def load() -> Callable[..., Any]:
    """Return a function that loads the settings that rules are exported as."""

    def module_of(target: Target, *rules: Rule) -> Any:
        text = settings_text(select_tools(rules, target), target)
        module = types.ModuleType(f"{target}_settings")
        exec(compile(text, module.__name__, "exec"), module.__dict__)
        return module

    return module_of
