-- Reads tool_call and the registered _plain_rule (place, namespace, tool, input_hash, hash_v).
-- Defines _plain_vary.

-- One row per rule and declaration of vary among the calls of its identity. NULL: the span declares
-- none; as_recorded: nor do the settings, as the span brought its hash along.
CREATE OR REPLACE TEMP VIEW _plain_vary AS
SELECT DISTINCT rule.place, call.vary, call.vary IS NULL AND call.recorded_hash AS as_recorded
FROM _plain_rule AS rule
JOIN tool_call AS call
    ON call.namespace = rule.namespace
    AND call.tool = rule.tool
    AND call.input_hash = rule.input_hash
    AND call.hash_v = rule.hash_v;
