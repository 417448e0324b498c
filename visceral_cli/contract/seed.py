"""``Seed``: a recorded result that may go into a store of results, and why another one may not.

The analysis chooses what the traces prove to be usable; the runtime writes it as it would have
kept it itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from visceral_cli.contract.identity import ContentHash, InputHash
from visceral_cli.contract.rule import Sharing


class NotSeeded(StrEnum):
    """Why the newest result under a rule does not go into the store."""

    NO_CALL = "no execution is recorded"
    NO_TIME = "its time is not recorded"
    NO_RESULT = "its result is not recorded"
    NOT_EXACT = "the tool's own value is not recorded as it was"
    NO_ORDER = "the order of its keys is not recorded"
    NOBODY = "for whom it was made is not recorded"
    ONE_RUN = "it holds for its own run only"
    OTHER_PRINCIPAL = "it holds for somebody the runtime does not tell apart"
    FUTURE = "it was made after now"
    EXPIRED = "it is too old"
    WRITER = "a writer came after it"
    FAILED = "it says that it failed"
    TOO_LARGE = "it is too large for the store"
    NEWER = "the store has one as new"
    BUSY = "somebody is executing the call"


@dataclass(frozen=True, slots=True)
class Seed:
    """The newest result of one identity, for all or for one user or session."""

    tool: str
    namespace: str
    """The name of the agent."""
    version: str | None
    input_hash: InputHash
    scope: Sharing
    user: str | None
    """For whom it was made, as far as its own span tells."""
    session: str | None
    canonical: str
    """The result as canonical JSON."""
    content: ContentHash
    order: str | None
    """Of the keys (`key_order`); ``None``: not known."""
    start_ns: int
    """When the execution began: a result is as old as that."""
    end_ns: int
    freshness_ns: int
    """The greatest age at which it may be served."""
