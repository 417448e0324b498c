"""One row per call, with the verdict on it, batch by batch out of the store."""

from __future__ import annotations

import duckdb
import pyarrow as pa

BATCH_ROWS = 50_000


def call_rows(store: duckdb.DuckDBPyConnection, *, show_arguments: bool) -> pa.RecordBatchReader:
    """Return the calls in the order of time.

    Times are nanoseconds since the epoch, ``duration_ns`` nanoseconds, ``age_seconds`` seconds.
    ``arguments`` (canonical JSON) and ``result`` (canonical JSON) come only with
    ``show_arguments``, and only from a store that kept them.
    """
    query = _CALLS.replace("/* texts */", _TEXTS if show_arguments else "").replace(
        "/* joins */", _JOINS if show_arguments else ""
    )
    return store.sql(query).to_arrow_reader(BATCH_ROWS)


_CALLS = """
SELECT
    call.trace_id,
    call.span_id,
    call.parent_span_id,
    call.position,
    call.spans,
    call.namespace,
    call.service,
    call.session,
    call.user_id AS user,
    call.agent,
    call.tool,
    call.kind,
    call.version,
    call.convention,
    call.call_id,
    call.input_hash,
    call.hash_v,
    call.identity_missing,
    call.content_hash,
    call.content_missing,
    call.failed,
    call.start_ns,
    call.duration_ns,
    call.readonly,
    call.replay_safe,
    call.freshness_override,
    call.served_decision_id,
    call.verify_match,
    call.cost_usd,
    verdict.verdict::VARCHAR AS verdict,
    source.span_id AS source_span_id,
    verdict.age_ns / 1e9 AS age_seconds
    /* texts */
FROM tool_call AS call
JOIN call_verdict AS verdict USING (call_key)
LEFT JOIN tool_call AS source ON source.call_key = verdict.source_call_key
/* joins */
ORDER BY call.call_key
"""
_TEXTS = """,
    argument_text.text AS arguments,
    result_text.text AS result
"""
_JOINS = """
LEFT JOIN argument_text ON argument_text.arguments_hash = call.arguments_hash
LEFT JOIN result_text ON result_text.content_hash = call.content_hash
"""
