-- Reads span, and the registered _call_span (span_key) and _run (run_key). Defines _other_span.

-- One row per span that takes time, is no tool call, and belongs to a trace with a tool call. By IN
-- the smaller sides are hashed, which a join would not do: it takes the filtered spans for few.
CREATE OR REPLACE TEMP MACRO _other_span() AS TABLE
SELECT *
FROM (
    SELECT
        hash(trace_id)          AS run_key,
        hash(trace_id, span_id) AS span_key,
        CASE WHEN parent_span_id IS NULL THEN 0::UBIGINT ELSE hash(trace_id, parent_span_id) END
                                AS parent_key,  -- 0: a root
        start_ns,
        end_ns
    FROM span
    WHERE end_ns > start_ns
)
WHERE run_key IN (SELECT run_key FROM _run)
  AND span_key NOT IN (SELECT span_key FROM _call_span);
