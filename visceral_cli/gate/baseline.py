"""Findings that are known and accepted: a JSON file that stands in the repository.

``{"format": 1, "accepted": [...]}``, one object for each finding with its ``fingerprint`` and,
where a number was compared, what was ``measured`` as an exact fraction. A finding is accepted as
long as it is not worse than that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from visceral_cli.errors import UsageError
from visceral_cli.gate.finding import Case, State

BASELINE_FORMAT = 1
"""The number of the file's format; within one number members are only added."""

Baseline = Mapping[str, Fraction | None]
"""By fingerprint what was measured; ``None``: no number."""


class BaselineChange(msgspec.Struct, frozen=True):
    """What writing a baseline anew changes; fingerprints in order."""

    added: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]


def read_baseline(path: Path) -> dict[str, Fraction | None]:
    """Return what the file accepts.

    Raises:
        UsageError: the file cannot be read, is no baseline, or one of a newer format.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise UsageError(
            f"{path}: {reason}", hint="--update-baseline writes one that accepts what is found now"
        ) from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("accepted"), list):
        raise UsageError(f'{path}: no baseline: an object with a list "accepted" is expected')
    if document.get("format") != BASELINE_FORMAT:
        raise UsageError(
            f"{path}: a baseline of another format than {BASELINE_FORMAT}",
            hint="write it anew with --update-baseline",
        )
    return dict(_entry(path, number, entry) for number, entry in enumerate(document["accepted"], 1))


def _entry(path: Path, number: int, entry: object) -> tuple[str, Fraction | None]:
    place = f"{path}: entry {number}"
    if not isinstance(entry, dict) or not isinstance(entry.get("fingerprint"), str):
        raise UsageError(f'{place}: no "fingerprint"')
    measured = entry.get("measured")
    try:
        return entry["fingerprint"], None if measured is None else Fraction(measured)
    except (ValueError, TypeError, ZeroDivisionError):
        raise UsageError(f'{place}: "measured" is no fraction such as "71/312"') from None


def apply_baseline(
    cases: Sequence[Case], accepted: Baseline
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Return the cases, with what is known marked as accepted, and the stale entries.

    An entry is stale when nothing broken has its fingerprint any more.
    """
    judged = tuple(_judged(case, accepted) for case in cases)
    broken = {case.fingerprint for case in cases if case.state is State.BROKEN}
    return judged, tuple(sorted(accepted.keys() - broken))


def _judged(case: Case, accepted: Baseline) -> Case:
    if case.state is not State.BROKEN or case.fingerprint not in accepted:
        return case
    known = accepted[case.fingerprint]
    if known is not None and case.measured is not None and case.measured > known:
        return case
    return replace(case, state=State.ACCEPTED)


def baseline_text(cases: Sequence[Case]) -> str:
    """Return the file that accepts every broken case; the same cases give the same bytes."""
    entries: list[dict[str, Any]] = []
    for case in sorted(_to_accept(cases), key=lambda case: case.fingerprint):
        entry: dict[str, Any] = {"fingerprint": case.fingerprint}
        if case.measured is not None:
            entry["measured"] = str(case.measured)
        entries.append(entry | {"message": case.message})
    document = {"format": BASELINE_FORMAT, "accepted": entries}
    return json.dumps(document, indent=2) + "\n"


def baseline_change(cases: Sequence[Case], before: Baseline) -> BaselineChange:
    """Return what writing the baseline anew adds, removes and changes."""
    now = {case.fingerprint: case.measured for case in _to_accept(cases)}
    return BaselineChange(
        added=tuple(sorted(now.keys() - before.keys())),
        gone=tuple(sorted(before.keys() - now.keys())),
        changed=tuple(sorted(key for key in now.keys() & before.keys() if now[key] != before[key])),
    )


def accept_all(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the cases with everything broken marked as accepted."""
    return tuple(
        replace(case, state=State.ACCEPTED) if case.state is State.BROKEN else case
        for case in cases
    )


def _to_accept(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.state in (State.BROKEN, State.ACCEPTED)]
