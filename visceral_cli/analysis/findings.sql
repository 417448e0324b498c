-- Reads tool_call, argument_text. Defines _hash_disagrees, _verify_mismatch, _missing_times,
-- _disjoint_arguments, _near_duplicate. Each row is one finding: names and counts, never a value.

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

-- One row per tool, and set of argument names.
CREATE OR REPLACE TEMP VIEW _argument_names AS
SELECT namespace, tool, kind, names, sum(calls)::BIGINT AS calls
FROM (
    SELECT namespace, tool, kind, arguments_hash, count(*) AS calls
    FROM tool_call
    WHERE arguments_hash IS NOT NULL
    GROUP BY namespace, tool, kind, arguments_hash
)
JOIN (
    SELECT arguments_hash, list_sort(TRY(json_keys(text))) AS names
    FROM argument_text
    WHERE text LIKE '{"%'
) USING (arguments_hash)
WHERE names IS NOT NULL
GROUP BY namespace, tool, kind, names;

-- One row per tool that is called with two sets of argument names that have none in common; of the
-- 50 commonest sets. ``calls``: those with the rarer set of the commonest such pair.
CREATE OR REPLACE TEMP VIEW _disjoint_arguments AS
WITH common AS (
    SELECT *
    FROM _argument_names
    QUALIFY row_number() OVER (
        PARTITION BY namespace, tool, kind ORDER BY calls DESC, names
    ) <= 50
)
SELECT namespace, tool, kind, max(rarer.calls) AS calls
FROM common
JOIN common AS rarer USING (namespace, tool, kind)
WHERE (rarer.calls, rarer.names) < (common.calls, common.names)
  AND NOT list_has_any(rarer.names, common.names)
GROUP BY namespace, tool, kind;

-- One row per tool with arguments that differ only in letter case, white space, Unicode form or as
-- 1 differs from 1.0. ``texts``: how many arguments have such a neighbour.
CREATE OR REPLACE TEMP VIEW _near_duplicate AS
WITH folded AS (
    SELECT
        arguments_hash,
        regexp_replace(
            regexp_replace(nfc_normalize(lower(json(text))), '\s+|\\[nrt]', '', 'g'),
            '([:\[,]-?[0-9]+)\.0([,\]}])', '\1\2', 'g'
        ) AS fold
    FROM argument_text
    WHERE json_valid(text)
),
identity AS (
    SELECT namespace, tool, kind, version, arguments_hash, count(*) AS calls
    FROM tool_call
    WHERE arguments_hash IS NOT NULL AND input_hash IS NOT NULL
    GROUP BY namespace, tool, kind, version, arguments_hash
),
neighbours AS (
    SELECT namespace, tool, kind, version, fold, count(*) AS texts, sum(calls)::BIGINT AS calls
    FROM identity
    JOIN folded USING (arguments_hash)
    GROUP BY namespace, tool, kind, version, fold
    HAVING count(*) > 1
)
SELECT namespace, tool, kind, sum(texts)::BIGINT AS texts, sum(calls)::BIGINT AS calls
FROM neighbours
GROUP BY namespace, tool, kind;
