-- Reads tool_call. Defines _call_column, _declared_invalidates.

-- One row per call: what an analysis reads of it as plain numbers. Texts become 64-bit hashes: that
-- any two of a million texts meet in one has a probability of 3e-8. NULLs stand only in the columns
-- that most stores have nothing in.
CREATE OR REPLACE TEMP MACRO _call_column(by_trace) AS TABLE
SELECT
    call_key,
    tool_key,
    hash(trace_id)                       AS run_key,
    hash(coalesce(service, ''))          AS service_key,
    hash(trace_id, span_id)              AS span_key,
    CASE WHEN parent_span_id IS NULL THEN 0::UBIGINT ELSE hash(trace_id, parent_span_id) END
                                         AS parent_key,   -- 0: a root
    CASE                                      -- 0: no identity
        WHEN input_hash IS NULL THEN 0::UBIGINT
        WHEN by_trace
            THEN hash(tool_key, version, hash_v, input_hash, trace_id)
        ELSE hash(tool_key, version, hash_v, input_hash)
    END                                  AS identity_key,
    CASE WHEN content_hash IS NULL THEN 0::UBIGINT ELSE hash(content_hash) END
                                         AS content_key,  -- 0: unknown
    coalesce(start_ns, 0)                AS start_ns,
    coalesce(end_ns, 0)                  AS end_ns,
    start_ns IS NOT NULL                 AS has_start,
    end_ns IS NOT NULL                   AS has_end,
    failed,
    empty_result,
    served_decision_id IS NULL OR verify_match IS NOT NULL AS ran,
    verify_match IS NOT NULL             AS verified,
    coalesce(verify_match, false)        AS matched,
    readonly::TINYINT                    AS readonly,
    replay_safe::TINYINT                 AS replay_safe,
    freshness_override,
    CASE WHEN invalidates IS NOT NULL THEN hash(invalidates) END   AS invalidates_key,
    CASE WHEN declared_run IS NOT NULL THEN hash(declared_run) END AS declared_run_key,
    CASE WHEN user_id IS NOT NULL THEN hash(user_id) END           AS user_key,
    CASE WHEN session IS NOT NULL THEN hash(session) END           AS session_key,
    served_start_ns,
    cost_usd
FROM (SELECT *, hash(namespace, tool, kind) AS tool_key FROM tool_call);

-- One row per writer call that declares what it voids: the text, and what stands for it in
-- _call_column.
CREATE OR REPLACE TEMP VIEW _declared_invalidates AS
SELECT hash(invalidates) AS key, invalidates AS text
FROM tool_call
WHERE invalidates IS NOT NULL;
