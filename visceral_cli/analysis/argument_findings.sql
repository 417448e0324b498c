-- Reads tool_call, argument_text. Defines _disjoint_arguments, _near_duplicate. Each row is one
-- finding: names and counts, never a value.

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

-- Arguments without white space, and with 1 for 1.0.
CREATE OR REPLACE TEMP MACRO _spaceless(text) AS regexp_replace(text, '\s+|\\[nrt]', '', 'g');
CREATE OR REPLACE TEMP MACRO _whole(text) AS
    regexp_replace(text, '([:\[,]-?[0-9]+)\.0([,\]}])', '\1\2', 'g');

-- One row per tool with arguments that differ only in letter case, white space, Unicode form or as
-- 1 differs from 1.0. ``texts``: how many arguments have such a neighbour; ``by_...``: in which of
-- these any do differ; ``first_calls``: keys of the first call with each of some of them.
CREATE OR REPLACE TEMP VIEW _near_duplicate AS
WITH told AS (
    SELECT arguments_hash, json(text) AS told
    FROM argument_text
    WHERE json_valid(text)
),
-- Few texts have a neighbour: all else is told apart by hashes, which need no memory for texts.
folded AS (
    SELECT arguments_hash, hash(_whole(_spaceless(nfc_normalize(lower(told))))) AS fold_key
    FROM told
),
near AS (
    SELECT arguments_hash
    FROM folded
    WHERE fold_key IN (SELECT fold_key FROM folded GROUP BY fold_key HAVING count(*) > 1)
),
identity AS (
    SELECT
        namespace, tool, kind, version, arguments_hash,
        count(*) AS calls, min(call_key) AS first_call
    FROM tool_call
    WHERE arguments_hash IN (SELECT arguments_hash FROM near) AND input_hash IS NOT NULL
    GROUP BY namespace, tool, kind, version, arguments_hash
),
neighbours AS (
    SELECT
        namespace, tool, kind, version,
        _whole(_spaceless(nfc_normalize(lower(told))))                        AS fold,
        count(*)                                                              AS texts,
        sum(calls)::BIGINT                                                    AS calls,
        min(first_call)                                                       AS first_call,
        list(first_call ORDER BY first_call)                                  AS first_calls,
        count(DISTINCT _whole(_spaceless(nfc_normalize(told)))) > 1           AS by_case,
        count(DISTINCT _whole(nfc_normalize(lower(told)))) > 1                AS by_space,
        count(DISTINCT _whole(_spaceless(lower(told)))) > 1                   AS by_form,
        count(DISTINCT _spaceless(nfc_normalize(lower(told)))) > 1            AS by_number
    FROM identity
    JOIN told USING (arguments_hash)
    GROUP BY namespace, tool, kind, version, fold
    HAVING count(*) > 1
)
SELECT
    namespace, tool, kind,
    count(*)                                           AS questions,
    sum(texts)::BIGINT                                 AS texts,
    sum(calls)::BIGINT                                 AS calls,
    bool_or(by_case)                                   AS by_case,
    bool_or(by_space)                                  AS by_space,
    bool_or(by_form)                                   AS by_form,
    bool_or(by_number)                                 AS by_number,
    flatten(list(first_calls ORDER BY first_call))[:10] AS first_calls
FROM neighbours
GROUP BY namespace, tool, kind;
