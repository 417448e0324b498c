"""Which calls a set of rules covers, and how old the results may be that answer them."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import numpy as np

from visceral_cli.analysis.columns import NONE, CallColumns, first_rows
from visceral_cli.analysis.history import Times
from visceral_cli.analysis.names import call_names
from visceral_cli.contract.rule import Rule


def freshness_under_rules(
    store: duckdb.DuckDBPyConnection, calls: CallColumns, proven: Times, rules: Iterable[Rule]
) -> Times:
    """Return, by identity, the freshness in nanoseconds that a rule grants; `NONE` without one.

    ``proven`` is what the traces prove for each identity: a rule never grants more.
    """
    granted = np.full(len(proven), NONE, np.int64)
    covered: dict[tuple[str, str, str | None], int] = {
        (rule.match.namespace, rule.match.tool_name, rule.match.input_hash): round(
            (rule.action.freshness_seconds or 0.0) * 1e9
        )
        for rule in rules
    }
    if not covered:
        return granted
    may_be_served = np.array([facts.may_be_served for facts in calls.tools], np.bool_)
    first = first_rows(calls.identity, len(proven))
    identities = np.flatnonzero((proven > 0) & may_be_served[calls.tool[first]])
    names = call_names(store, first[identities])
    for identity, row in zip(identities.tolist(), first[identities].tolist(), strict=True):
        name = names[row]
        freshness_ns = covered.get((name.namespace, name.tool, name.input_hash))
        if freshness_ns is not None:
            granted[identity] = min(freshness_ns, proven[identity])
    return granted
