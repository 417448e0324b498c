"""What `wrap` has installed in this process: where spans go, and what may be served from where."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from visceral_cli.runtime.capture import Capture
from visceral_cli.runtime.clock import Clock, now_ns
from visceral_cli.runtime.outcome import Outcomes
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.rule_set import RulesFile
from visceral_cli.runtime.run import Writers
from visceral_cli.runtime.spans import NoSpans, Spans

_PROCESS_WRITERS = Writers()


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything that a decorated call needs."""

    agent_id: str = ""
    """Names the service on spans and the namespace of results."""
    spans: Spans = field(default_factory=NoSpans)
    capture: Capture = field(default_factory=Capture)
    rules: RulesFile | None = None
    """``None``: nothing is served to ``@tool``."""
    results: Results | None = None
    """``None``: nothing is kept for ``@tool``."""
    cache_results: Results | None = None
    """What ``cached_tool_call`` uses; ``None``: the default store, opened at first use."""
    may_keep: bool = True
    """``False``: encryption was asked for and there is no key, so nothing is kept."""
    outcomes: Outcomes = field(default_factory=Outcomes)
    writers: Writers = _PROCESS_WRITERS
    """What writers this process has seen: one log, however often `wrap` is called."""
    clock: Clock = now_ns
    draw: Callable[[], float] = random.SystemRandom().random
    """Returns a uniform number from 0 to 1: below a rule's verify rate the tool runs as well."""


class Installation:
    """Holds the runtime of the process."""

    __slots__ = ("runtime",)

    def __init__(self) -> None:
        self.runtime = Runtime()


INSTALLATION = Installation()
"""The one place that `wrap` changes and decorated calls read."""
