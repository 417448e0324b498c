-- Reads tool_call, call_verdict, argument_text and the registered _checked_rule (namespace, tool,
-- input_hash, hash_v). Defines _tool_now, _rule_seen, _rule_arguments, _soon_changed.

-- One row per tool: its calls, and the declared version of the last one. NULL: none is declared.
CREATE OR REPLACE TEMP VIEW _tool_now AS
SELECT
    namespace,
    tool,
    count(*)                                                 AS calls,
    arg_max_null(version, call_key)                          AS version,
    arg_max(struct_pack(trace_id, span_id), call_key)        AS last_call
FROM tool_call
GROUP BY namespace, tool;

-- One row per identity of a rule that is called here. NULL: no version is declared.
CREATE OR REPLACE TEMP VIEW _rule_seen AS
SELECT
    call.namespace,
    call.tool,
    call.input_hash,
    arg_max_null(call.version, call.call_key)                AS version,
    max(call.arguments_hash)                                 AS arguments_hash
FROM tool_call AS call
JOIN _checked_rule AS rule
    ON rule.tool = call.tool
    AND rule.input_hash = call.input_hash
    AND rule.hash_v = call.hash_v
    AND (rule.namespace = call.namespace OR rule.namespace = '')
GROUP BY call.namespace, call.tool, call.input_hash;

-- One row per identity of a rule that is called here and whose arguments are known by name.
CREATE OR REPLACE TEMP VIEW _rule_arguments AS
SELECT namespace, tool, input_hash, json_keys(text) AS names
FROM _rule_seen
JOIN argument_text USING (arguments_hash)
WHERE text LIKE '{"%';

-- One row per tool with a repeat within the given age of a result that no writer voided.
CREATE OR REPLACE TEMP MACRO _soon_changed(within_ns) AS TABLE
SELECT
    call.namespace,
    call.tool,
    count(*)                                                 AS pairs,
    count(*) FILTER (verdict.verdict = 'changed')            AS changed,
    list(
        struct_pack(
            input_hash := call.input_hash,
            trace_id := call.trace_id,
            span_id := call.span_id,
            source := source.span_id,
            age_ns := verdict.age_ns
        )
        ORDER BY call.call_key
    ) FILTER (verdict.verdict = 'changed')[:5]               AS examples
FROM call_verdict AS verdict
JOIN tool_call AS call USING (call_key)
JOIN tool_call AS source ON source.call_key = verdict.source_call_key
WHERE verdict.verdict IN ('reusable', 'changed')
  AND verdict.age_ns <= within_ns
GROUP BY call.namespace, call.tool;
