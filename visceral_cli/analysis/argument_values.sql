-- Reads tool_call, argument_text and the registered _wanted_arguments (arguments_key, place).
-- Defines _call_arguments, _argument_value and _declared_vary. Values appear as hashes only.

-- One row per call whose arguments were kept.
CREATE OR REPLACE TEMP MACRO _call_arguments(by_trace) AS TABLE
SELECT
    call_key,
    hash(arguments_hash) AS arguments_key,
    CASE WHEN by_trace THEN hash(version, trace_id) ELSE hash(version) END
                         AS apart_key     -- calls with different ones never share a result
FROM tool_call
WHERE arguments_hash IS NOT NULL;

-- One row per wanted arguments and name in them; the name is NULL for arguments without any.
CREATE OR REPLACE TEMP MACRO _argument_value() AS TABLE
SELECT wanted.place, each.key AS name, hash(each.type, each.value::VARCHAR) AS value_key
FROM _wanted_arguments AS wanted
JOIN (
    SELECT hash(arguments_hash) AS arguments_key, text
    FROM argument_text
    WHERE text LIKE '{%' AND json_valid(text)
) USING (arguments_key)
LEFT JOIN json_each(text) AS each ON true;

-- One row per tool whose spans declare which arguments matter; of several the first in order.
CREATE OR REPLACE TEMP VIEW _declared_vary AS
SELECT namespace, tool, kind, min(vary) AS vary
FROM tool_call
WHERE vary IS NOT NULL
GROUP BY namespace, tool, kind;
