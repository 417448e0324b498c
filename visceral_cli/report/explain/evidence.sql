-- Reads tool_call, argument_text, result_text, the temporary call_verdict (call_key, verdict,
-- source_call_key, age_ns) and _writer_tool (namespace, tool, kind). Defines _explained_call,
-- _word_of_call, _writer_call, _call_text, _other_identity, _identity_of_tool, _known_identity, _changed_pair,
-- _tool_identities, _tool_ages, _tool_hashes, _tool_writers.

-- One row per call, with the verdict on it.
CREATE OR REPLACE TEMP VIEW _explained_call AS
SELECT
    call.call_key,
    call.namespace,
    call.trace_id,
    call.span_id,
    call.position,
    call.tool,
    call.kind,
    call.version,
    call.convention,
    call.input_hash,
    call.hash_v,
    call.recorded_hash,
    call.hash_disagrees,
    call.identity_missing,
    call.arguments_hash,
    call.content_hash,
    call.content_missing,
    call.failed,
    call.start_ns,
    call.end_ns,
    call.vary,
    call.served_decision_id,
    call.verify_match,
    verdict.verdict::VARCHAR AS verdict,
    verdict.source_call_key,              -- NULL: no stored result could have answered it
    verdict.age_ns                        -- NULL as source_call_key
FROM tool_call AS call
JOIN call_verdict AS verdict USING (call_key);

-- One row per call and column that says a word of it.
CREATE OR REPLACE TEMP VIEW _word_of_call AS
SELECT call_key, namespace, tool, kind, span_id, 'verdict' AS which, verdict AS word
FROM _explained_call
UNION ALL
SELECT call_key, namespace, tool, kind, span_id, 'identity_missing', identity_missing
FROM tool_call
UNION ALL
SELECT call_key, namespace, tool, kind, span_id, 'content_missing', content_missing
FROM tool_call;

-- One row per execution of a writer. What is not known of its time counts as the whole run.
CREATE OR REPLACE TEMP VIEW _writer_call AS
SELECT
    call_key,
    trace_id,
    span_id,
    tool,
    coalesce(start_ns, 0)                 AS from_ns,
    CASE WHEN end_ns >= start_ns THEN end_ns ELSE 9223372036854775807 END AS until_ns
FROM tool_call
SEMI JOIN _writer_tool USING (namespace, tool, kind)
WHERE served_decision_id IS NULL OR verify_match IS NOT NULL;

-- One row per call: its texts. NULL: not known.
CREATE OR REPLACE TEMP VIEW _call_text AS
SELECT call_key, argument_text.text AS arguments, result_text.text AS result
FROM tool_call
LEFT JOIN argument_text USING (arguments_hash)
LEFT JOIN result_text USING (content_hash);

-- One row per identity of a tool, the nearest in time first: its calls, and the arguments of its
-- first call whose arguments are known.
CREATE OR REPLACE TEMP MACRO _identity_of_tool(namespace_, tool_, kind_, near_ns, most) AS TABLE
SELECT
    input_hash,
    any_value(version)                    AS version,
    count(*)                              AS calls,
    arg_min(text, call_key)               AS arguments,
    arg_min(vary, call_key)               AS vary
FROM tool_call
JOIN argument_text USING (arguments_hash)
WHERE namespace = namespace_
  AND tool = tool_
  AND kind = kind_
  AND input_hash IS NOT NULL
  AND length(text) < 100000
GROUP BY input_hash
ORDER BY abs(coalesce(min(start_ns), 0) - near_ns), input_hash
LIMIT most;

-- One row per identity.
CREATE OR REPLACE TEMP VIEW _known_identity AS
SELECT namespace, tool, kind, hash_v, input_hash, min(call_key) AS first_call_key
FROM tool_call
WHERE input_hash IS NOT NULL
GROUP BY namespace, tool, kind, hash_v, input_hash;

-- One row per call of a tool whose result was another one than that of its source, in the order of
-- time; input_hash_ NULL: of all identities.
CREATE OR REPLACE TEMP MACRO _changed_pair(namespace_, tool_, kind_, input_hash_, most) AS TABLE
SELECT
    later.call_key,
    later.source_call_key,
    later.age_ns,
    old.text                              AS old_result,
    new.text                              AS new_result
FROM _explained_call AS later
JOIN tool_call AS earlier ON earlier.call_key = later.source_call_key
JOIN result_text AS old ON old.content_hash = earlier.content_hash
JOIN result_text AS new ON new.content_hash = later.content_hash
WHERE later.namespace = namespace_
  AND later.tool = tool_
  AND later.kind = kind_
  AND (input_hash_ IS NULL OR later.input_hash = input_hash_)
  AND later.verdict = 'changed'
ORDER BY later.call_key
LIMIT most;

-- One row per identity of a tool, most repeats first.
CREATE OR REPLACE TEMP MACRO _tool_identities(namespace_, tool_, kind_) AS TABLE
SELECT
    input_hash,
    count(*)                                          AS calls,
    count(*) FILTER (verdict = 'reusable')            AS same,
    count(*) FILTER (verdict = 'changed')             AS changed,
    count(DISTINCT content_hash)                      AS results
FROM _explained_call
WHERE namespace = namespace_
  AND tool = tool_
  AND kind = kind_
  AND input_hash IS NOT NULL
GROUP BY input_hash
ORDER BY calls DESC, input_hash;

-- One row: the ages of stored results of a tool. NULL: none was seen.
CREATE OR REPLACE TEMP MACRO _tool_ages(namespace_, tool_, kind_) AS TABLE
SELECT
    max(age_ns) FILTER (verdict = 'reusable')         AS stable_ns,   -- the largest, unchanged
    min(age_ns) FILTER (verdict = 'changed')          AS changed_ns   -- the smallest, changed
FROM _explained_call
WHERE namespace = namespace_
  AND tool = tool_
  AND kind = kind_;

-- One row per way in which identities of a tool came about, most calls first.
CREATE OR REPLACE TEMP MACRO _tool_hashes(namespace_, tool_, kind_) AS TABLE
SELECT
    convention,
    coalesce(hash_v, 0)                               AS hash_v,      -- 0: without identity
    recorded_hash,
    hash_disagrees,
    count(*)                                          AS calls
FROM tool_call
WHERE namespace = namespace_
  AND tool = tool_
  AND kind = kind_
GROUP BY ALL
ORDER BY ALL;

-- One row per writer that ran in a run in which calls of a tool follow a writer.
CREATE OR REPLACE TEMP MACRO _tool_writers(namespace_, tool_, kind_) AS TABLE
SELECT _writer_call.tool, count(*) AS calls
FROM _writer_call
WHERE trace_id IN (
    SELECT trace_id
    FROM _explained_call
    WHERE namespace = namespace_
      AND tool = tool_
      AND kind = kind_
      AND verdict = 'after-writer'
)
GROUP BY _writer_call.tool
ORDER BY calls DESC, _writer_call.tool;
