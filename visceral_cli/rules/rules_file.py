"""Rules JSON in and out: the document that runtimes and the SDK client read.

``{"format": 1, "rules": [...]}``; the rules are those of `contract.rule`, in order of priority. The
same rules give the same bytes. Evidence and members that nobody knows are carried through.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from visceral_cli.contract.acceptance import Inert, ReadRule, read_rules
from visceral_cli.contract.identity import HASH_VERSION
from visceral_cli.contract.rule import Rule, RuleStatus, rule_to_json
from visceral_cli.errors import UsageError
from visceral_cli.rules.merge import merged

RULES_FORMAT = 1
"""The number of the document's format; within one number members are only added."""

_LEFT_ALONE = frozenset({Inert.PROMPT_CACHE, Inert.UNKNOWN_KIND})
"""Rules of other readers, which share the document."""


def rules_text(rules: Sequence[Rule]) -> str:
    """Return the document of the rules: indented JSON in ASCII, with a line break at its end.

    What rules of several namespaces grant alike is one rule of it.
    """
    document = {"format": RULES_FORMAT, "rules": [rule_to_json(rule) for rule in merged(rules)]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def write_rules_file(path: Path, rules: Sequence[Rule]) -> None:
    """Write the document beside its place and rename it when whole.

    Raises `UsageError` if the folder cannot be written to; what was there before is then left.
    """
    text = rules_text(rules)
    place = path.resolve()
    beside = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="ascii", newline="\n") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(place)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {_reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def read_rules_file(path: Path) -> list[ReadRule]:
    """Return every rule of the document in its order, with what a client makes of it.

    Rules that no client uses are no error here. Raises `UsageError` if the file cannot be read, is
    not JSON, holds no list of rules, or has another format.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {_reason(error)}") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("rules"), list):
        raise UsageError(
            f'{path}: no rules document: an object with a list "rules" is expected',
            hint="visceral rules writes one",
        )
    written = document.get("format", RULES_FORMAT)
    if written != RULES_FORMAT:
        shown = written if isinstance(written, int) else "of another kind"
        raise UsageError(
            f"{path}: format {shown}, but this version reads {RULES_FORMAT}",
            hint="export the rules again with this version",
        )
    return read_rules(document["rules"], limited=True)


def load_rules(path: Path) -> list[Rule]:
    """Return the rules of the document that are meant to be used.

    Candidates and rules of other readers are left out. Raises `UsageError`, with file and rule
    named, for a rule that no client would use, and as `read_rules_file` does.
    """
    usable = []
    for number, read in enumerate(read_rules_file(path), start=1):
        if read.inert is None and read.rule is not None:
            usable.append(read.rule)
        elif not _is_left_alone(read):
            reason, hint = _explain(read)
            raise UsageError(f"{path}: rule {_name(read, number)}: {reason}", hint=hint)
    return usable


def _is_left_alone(read: ReadRule) -> bool:
    candidate = read.rule is not None and read.rule.status is RuleStatus.CANDIDATE
    return candidate or read.inert in _LEFT_ALONE


def _explain(read: ReadRule) -> tuple[str, str | None]:
    match read.inert:
        case Inert.HASH_VERSION if read.rule is not None:
            found = read.rule.match.hash_v
            shown = "no hash_v" if found is None else f"hash_v {found}"
            again = "export the rules again with this version"
            return f"{shown}, but this version writes {HASH_VERSION}", again
        case Inert.GUARD:
            return "its guard does not hold true for read_only and replay_safe", None
        case Inert.BEHIND_BROKEN:
            return "a broken rule of the same tool keeps clients from using it", None
        case _:
            return f"no client would use it: {read.inert}", None


def _name(read: ReadRule, number: int) -> str:
    """Return the rule's id, or its place in the document, from 1."""
    found = read.value.get("decision_id") if isinstance(read.value, dict) else None
    return found if isinstance(found, str) else f"number {number}"


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
