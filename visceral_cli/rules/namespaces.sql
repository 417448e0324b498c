-- Reads tool_call and the registered _namespace_rule (tool, input_hash, hash_v, freshness_ns), one
-- row per identity. Defines _namespace_pair.

-- One row per identity and two namespaces that it was called in: consecutive executions of which
-- one was in the first and one in the second, whose results are known.
CREATE OR REPLACE TEMP VIEW _namespace_pair AS
WITH execution AS (
    SELECT
        rule.*,
        call.call_key,
        call.namespace,
        call.content_hash,
        call.start_ns
    FROM _namespace_rule AS rule
    JOIN tool_call AS call USING (tool, input_hash, hash_v)
    WHERE NOT call.failed
      AND (call.served_decision_id IS NULL OR call.verify_match IS NOT NULL)
      AND call.content_hash IS NOT NULL
      AND call.start_ns IS NOT NULL
),
with_earlier AS (
    SELECT
        *,
        lag(namespace) OVER by_time               AS earlier_namespace,
        lag(content_hash) OVER by_time            AS earlier_content_hash,
        start_ns - lag(start_ns) OVER by_time     AS age_ns
    FROM execution
    WINDOW by_time AS (PARTITION BY tool, input_hash, hash_v ORDER BY start_ns, call_key)
)
SELECT
    tool,
    input_hash,
    least(namespace, earlier_namespace)                    AS one,
    greatest(namespace, earlier_namespace)                 AS other,
    count(*) FILTER (content_hash = earlier_content_hash)  AS same,
    count(*) FILTER (age_ns <= freshness_ns)               AS near,
    count(*) FILTER (age_ns <= freshness_ns AND content_hash <> earlier_content_hash)
                                                           AS differing
FROM with_earlier
WHERE namespace <> earlier_namespace
GROUP BY ALL;
