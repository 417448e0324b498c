"""The tree of all spans as columns: who is whose parent, without holding an id in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

MAX_DEPTH = 10_000
"""Where a chain of parents is taken for a cycle in damaged ids."""


SpanKeys = dict[str, NDArray[Any]]
"""By column, one element per span: ``record``, ``own`` and ``parent`` (hashes), ``has_parent``."""


@dataclass(frozen=True, slots=True)
class SpanTree:
    """All distinct spans, in the order of their records.

    Parents are found by a 64-bit hash of (trace id, span id), so two of n spans are confused with
    a probability of n²/2^65: 1 in 18 million for a million spans.
    """

    record: NDArray[np.int64]
    """Ascending; shape (spans,)."""
    parent: NDArray[np.int64]
    """Index of the parent, -1 for a root or an orphan; shape (spans,)."""
    orphan: NDArray[np.bool_]
    """Whether the span names a parent that was never seen."""
    has_copies: bool
    """Whether any span is here more than once."""

    def index_of(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of the given records, all of which must be in the tree."""
        return np.searchsorted(self.record, records)

    def nearest_marked_ancestor(
        self, spans: NDArray[np.int64], marked: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """For each span index the index of its nearest ancestor with a mark, or -1."""
        ancestor = self.parent[spans]
        for _ in range(MAX_DEPTH):
            climbing = np.flatnonzero((ancestor >= 0) & ~marked[ancestor])
            if not climbing.size:
                break
            ancestor[climbing] = self.parent[ancestor[climbing]]
        else:
            ancestor[(ancestor >= 0) & ~marked[ancestor]] = -1
        return ancestor


def read_span_keys(store: duckdb.DuckDBPyConnection) -> SpanKeys:
    """Return what `span_tree` needs of the spans in ``store`` that are no copies."""
    return store.execute(
        """
        SELECT
            record,
            hash(trace_id, span_id)                AS own,
            hash(trace_id, parent_span_id)         AS parent,
            coalesce(parent_span_id <> span_id, FALSE) AS has_parent
        FROM _span_record
        WHERE record NOT IN (SELECT record FROM _copy)
        """
    ).fetchnumpy()


def span_tree(columns: SpanKeys) -> SpanTree:
    """Build the tree of the spans, given in any order."""
    by_record = np.argsort(columns["record"], kind="stable")  # nearly in order: soon done
    own = columns["own"][by_record]
    wanted = columns["parent"][by_record]
    has_parent = columns["has_parent"][by_record].astype(bool)
    by_own = np.argsort(own)
    sorted_own = own[by_own]
    place = np.searchsorted(sorted_own, wanted)
    place[place == len(own)] = 0
    found = has_parent & (sorted_own[place] == wanted) if len(own) else has_parent
    return SpanTree(
        record=columns["record"][by_record],
        parent=np.where(found, by_own[place], -1) if len(own) else place,
        orphan=has_parent & ~found,
        has_copies=bool((sorted_own[1:] == sorted_own[:-1]).any()),
    )
