-- Reads tool_call and the registered _rule (place, decision_id, namespace, tool, input_hash,
-- hash_v). Defines _rule_of_call and _rule_of_serve.

-- One row per call whose identity a rule names: the first such rule of the document.
CREATE OR REPLACE TEMP VIEW _rule_of_call AS
SELECT call.call_key, min(rule.place) AS place
FROM tool_call AS call
JOIN _rule AS rule
    ON rule.tool = call.tool
    AND rule.input_hash = call.input_hash
    AND rule.hash_v = call.hash_v
    AND (rule.namespace = call.namespace OR rule.namespace = '')
GROUP BY call.call_key;

-- One row per call that names the rule which answered it, where the document has that rule.
CREATE OR REPLACE TEMP VIEW _rule_of_serve AS
SELECT call.call_key, min(rule.place) AS place
FROM tool_call AS call
JOIN _rule AS rule
    ON rule.decision_id = call.served_decision_id
    AND rule.tool = call.tool
WHERE call.served_decision_id IS NOT NULL
GROUP BY call.call_key;
