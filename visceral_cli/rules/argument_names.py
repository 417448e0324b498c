"""The names of a rule's arguments into its evidence, so that a later change of them is noticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import duckdb
import pyarrow as pa

from visceral_cli.contract.rule import Rule
from visceral_cli.store.database import run_file


def with_argument_names(
    store: duckdb.DuckDBPyConnection, rules: Sequence[Rule]
) -> tuple[Rule, ...]:
    """Return the rules with ``argument_names`` in their evidence, where the store keeps the texts.

    Names are told, never values.
    """
    if not rules or not store.execute("SELECT 1 FROM argument_text LIMIT 1").fetchall():
        return tuple(rules)
    columns = {
        "place": pa.array(range(len(rules)), pa.int32()),
        "namespace": pa.array([rule.match.namespace for rule in rules], pa.string()),
        "tool": pa.array([rule.match.tool_name for rule in rules], pa.string()),
        "input_hash": pa.array([rule.match.input_hash for rule in rules], pa.string()),
    }
    store.register("_named_rule", pa.table(columns))
    run_file(store, "visceral_cli.rules", "argument_names.sql")
    found = store.execute("SELECT place, names FROM _rule_argument_names").fetchall()
    store.unregister("_named_rule")
    names = {place: known for place, known in found if known is not None}
    return tuple(
        rule
        if place not in names
        else replace(rule, evidence=dict(rule.evidence or {}) | {"argument_names": names[place]})
        for place, rule in enumerate(rules)
    )
