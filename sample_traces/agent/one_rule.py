"""A rules file with one rule, as ``visceral rules`` would write it once the traces prove it.

The examples with a framework make few calls, too few to prove anything, so they take a rule for
granted. `circle.py` shows how rules come about.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from visceral_cli import wrap
from visceral_cli.contract.identity import HASH_VERSION, input_hash
from visceral_cli.contract.rule import Action, Guard, Match, Operation, Rule, RuleKind
from visceral_cli.rules.rules_file import write_rules_file
from visceral_cli.runtime.outcome import Kind
from visceral_cli.runtime.wrap import outcomes, unwrap


@contextmanager
def serving(tool: str, arguments: Mapping[str, object]) -> Iterator[Path]:
    """Serve one call of one tool for ten minutes, from a store in a folder of its own."""
    rule = Rule(
        decision_id="r-example",
        kind=RuleKind.REUSE_IDENTITY,
        match=Match(tool, input_hash(tool, arguments), HASH_VERSION),
        guard=Guard(read_only=True, replay_safe=True),
        action=Action(Operation.REUSE_CACHED_RESULT, freshness_seconds=600),
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_rules_file(folder / "rules.json", [rule])
        wrap(
            None,
            "library-desk",
            apply=True,
            rules=folder / "rules.json",
            results=folder / "results.sqlite3",
            trace_file=folder / "traces.jsonl",
        )
        try:
            yield folder
        finally:
            unwrap()


def told() -> str:
    """Return what became of the calls, such as ``1 miss, 2 hit``."""
    found = ((outcomes().of_kind(kind), kind.value) for kind in (Kind.MISS, Kind.HIT))
    return ", ".join(f"{number} {kind}" for number, kind in found)
