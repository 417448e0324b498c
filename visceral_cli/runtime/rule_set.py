"""The rules in force: a rules file, indexed by tool and identity, reloaded when it changes.

A file that cannot be read, is not JSON or no rules document keeps everything from being served
until it is good again; that is said once. Rules that a client would not use are skipped.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from visceral_cli.contract.acceptance import read_rules
from visceral_cli.contract.rule import Operation, Rule, RuleStatus
from visceral_cli.runtime.forking import begin_afresh_after_fork

logger = logging.getLogger("visceral_cli.runtime")

RULES_FORMAT = 1
LOOK_SECONDS = 1.0
"""How often the file is looked at, at most."""


class RulesBroken(ValueError):
    """The document cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The identity rules of one document, the first of each tool, identity and namespace."""

    by_identity: Mapping[tuple[str, str], Sequence[Rule]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def find(self, tool: str, input_hash: str, *, namespace: str) -> Rule | None:
        """Return the first rule for the identity that was proven here or anywhere."""
        for rule in self.by_identity.get((tool, input_hash), ()):
            if rule.match.holds_in(namespace):
                return rule
        return None


NO_RULES = Rules()


def index_rules(values: Sequence[object]) -> Rules:
    """Return the usable rules of a document: active, accepted by clients, and with a freshness.

    The client cannot know how long a result may be served where a rule does not say.
    """
    found: dict[tuple[str, str], list[Rule]] = {}
    for read in read_rules(values, limited=True):
        rule = read.rule
        if rule is None or read.inert is not None or rule.status is not RuleStatus.ACTIVE:
            continue
        identity = rule.match.input_hash
        if rule.action.op != Operation.REUSE_CACHED_RESULT or identity is None:
            continue
        if rule.action.freshness_seconds is not None:
            found.setdefault((rule.match.tool_name, identity), []).append(rule)
    return Rules(MappingProxyType(found))


def parse_rules(text: bytes) -> Rules:
    """Return the rules of a document; raises `RulesBroken`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise RulesBroken("not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("rules"), list):
        raise RulesBroken("no rules document")
    if document.get("format", RULES_FORMAT) != RULES_FORMAT:
        raise RulesBroken("a format of another version")
    return index_rules(document["rules"])


class RulesFile:
    """A rules file and what was last read from it."""

    def __init__(
        self, path: Path | str, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = Path(path)
        self._monotonic = monotonic
        self.begin_afresh()
        begin_afresh_after_fork(self)
        self._state: tuple[int, int, int] | str | None = None
        self._looked_at = -math.inf
        self._rules: Rules | None = None

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process; the rules are kept."""
        self._lock = threading.Lock()

    @property
    def is_due(self) -> bool:
        """Whether the file was not looked at for `LOOK_SECONDS`."""
        return self._monotonic() - self._looked_at >= LOOK_SECONDS

    def current(self) -> Rules | None:
        """Return the rules as last read; ``None``: broken, nothing may be served."""
        return self._rules

    def look(self) -> Rules | None:
        """Read the file if it has changed; returns the rules, ``None`` if they are broken."""
        with self._lock:
            self._looked_at = self._monotonic()
            state: tuple[int, int, int] | str = ""
            try:
                found = self.path.stat()
                state = (found.st_mtime_ns, found.st_size, found.st_ino)
                if state != self._state:
                    self._rules = parse_rules(self.path.read_bytes())
            except OSError as error:
                state = (error.strerror or type(error).__name__).lower()
                self._break(state, state)
            except RulesBroken as error:
                self._break(state, str(error))
            self._state = state
            return self._rules

    def suspend(self) -> None:
        """Serve nothing until the file was read again: looking at it takes too long."""
        self._looked_at = self._monotonic()
        self._rules = None
        self._state = None

    def _break(self, state: object, reason: str) -> None:
        self._rules = None
        if state != self._state:
            logger.warning("visceral: %s: %s; nothing is served", self.path, reason)
