-- Reads tool_call. Defines _hash_disagrees, _verify_mismatch, _missing_times. Each row is one
-- finding: names and counts, never a value.

-- One row per tool some of whose recorded input hashes are not those of the recorded arguments.
CREATE OR REPLACE TEMP VIEW _hash_disagrees AS
SELECT
    namespace,
    tool,
    kind,
    count(*)                                        AS calls,
    list(trace_id ORDER BY call_key)[:10]           AS trace_ids,
    list(span_id ORDER BY call_key)[:10]            AS span_ids
FROM tool_call
WHERE hash_disagrees
GROUP BY namespace, tool, kind;

-- One row per identity for which the runtime, when it ran a tool beside a stored result, got
-- another result. NULL: the calls have no identity.
CREATE OR REPLACE TEMP VIEW _verify_mismatch AS
SELECT
    namespace,
    tool,
    kind,
    input_hash,
    count(*) FILTER (NOT verify_match)                                   AS calls,
    count(*)                                                             AS verified,
    list(trace_id ORDER BY call_key) FILTER (NOT verify_match)[:10]      AS trace_ids,
    list(span_id ORDER BY call_key) FILTER (NOT verify_match)[:10]       AS span_ids
FROM tool_call
WHERE verify_match IS NOT NULL
GROUP BY namespace, tool, kind, input_hash
HAVING bool_or(NOT verify_match);

-- One row per tool with calls whose start or end is missing or impossible.
CREATE OR REPLACE TEMP VIEW _missing_times AS
SELECT
    namespace,
    tool,
    kind,
    count(*)                                        AS calls,
    list(trace_id ORDER BY call_key)[:10]           AS trace_ids,
    list(span_id ORDER BY call_key)[:10]            AS span_ids
FROM tool_call
WHERE start_ns IS NULL OR end_ns IS NULL OR end_ns < start_ns
GROUP BY namespace, tool, kind;
