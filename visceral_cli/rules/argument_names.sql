-- Reads tool_call, argument_text and the registered _named_rule (place, namespace, tool, input_hash).
-- Defines _rule_argument_names.

-- One row per rule whose arguments are known by name.
CREATE OR REPLACE TEMP VIEW _rule_argument_names AS
WITH seen AS (
    SELECT rule.place, min(call.arguments_hash) AS arguments_hash
    FROM _named_rule AS rule
    JOIN tool_call AS call
        ON call.namespace = rule.namespace
        AND call.tool = rule.tool
        AND call.input_hash = rule.input_hash
    GROUP BY rule.place
)
SELECT seen.place, list_sort(TRY(json_keys(argument_text.text))) AS names
FROM seen
JOIN argument_text USING (arguments_hash)
WHERE argument_text.text LIKE '{%';
