-- Reads tool_call, _call_key, _call_record, result_text, and the registered
-- _seed_rule (place, namespace, tool, input_hash, hash_v, by_user, by_session, only_own_writers;
-- namespace NULL: any) and _seed_writer (tool). Defines _seed_newest, _seed_write, _seed_voided_by.

-- One row per rule, agent, user and session as far as these matter: the execution that began last,
-- with what its own span tells.
CREATE OR REPLACE TEMP VIEW _seed_newest AS
WITH execution AS (
    SELECT
        rule.place,
        call.*,
        CASE WHEN rule.by_user THEN call.user_id END       AS for_user,
        CASE WHEN rule.by_session THEN call.session END    AS for_session,
        coalesce(rule.namespace, call.service)             AS agent_id
    FROM _seed_rule AS rule
    JOIN tool_call AS call
        ON call.tool = rule.tool
        AND call.input_hash = rule.input_hash
        AND call.hash_v = rule.hash_v
        AND (rule.namespace IS NULL OR call.namespace = rule.namespace)
    WHERE NOT call.failed
      AND (call.served_decision_id IS NULL OR call.verify_match IS NOT NULL)
),
newest AS (
    SELECT *
    FROM execution
    QUALIFY row_number() OVER (
        PARTITION BY place, agent_id, for_user, for_session
        ORDER BY start_ns DESC NULLS FIRST, call_key DESC
    ) = 1
)
SELECT
    newest.place,
    newest.call_key,
    newest.agent_id,
    newest.namespace,
    newest.service,
    newest.trace_id,
    newest.declared_run,
    newest.for_user,
    newest.for_session,
    own.user_id,
    own.session,
    newest.version,
    newest.start_ns,
    newest.end_ns,
    newest.freshness_override,
    newest.content_hash,
    kept.text,
    own.result_order,
    newest.convention,
    newest.spans = 1 AND own.record IS NOT NULL AND NOT newest.hash_disagrees AS is_as_recorded
FROM newest
JOIN _call_key AS key USING (call_key)
LEFT JOIN _call_record AS own ON own.record = key.record AND own.position = key.position
LEFT JOIN result_text AS kept ON kept.content_hash = newest.content_hash;

-- One row per execution of a writer. One whose times are not known may go on until now.
CREATE OR REPLACE TEMP VIEW _seed_write AS
SELECT
    namespace,
    trace_id,
    declared_run,
    invalidates,
    coalesce(start_ns, 0)                                         AS start_ns,
    CASE WHEN start_ns IS NULL THEN 9223372036854775807
         ELSE coalesce(end_ns, 9223372036854775807) END           AS end_ns
FROM tool_call
WHERE tool IN (SELECT tool FROM _seed_writer)
  AND (served_decision_id IS NULL OR verify_match IS NOT NULL);

-- One row per newest execution and what writers declare that keep it from being served: those after
-- it, unless both ran in declared runs or the rule is proven to outlive writers of other traces, and
-- in its own declared run those beside it.
CREATE OR REPLACE TEMP VIEW _seed_voided_by AS
WITH everywhere AS (
    SELECT namespace, invalidates, declared_run IS NULL AS is_outside, max(end_ns) AS end_ns
    FROM _seed_write
    GROUP BY ALL
)
SELECT newest.place, newest.call_key, writer.invalidates
FROM _seed_newest AS newest
JOIN everywhere AS writer USING (namespace)
WHERE place IN (SELECT place FROM _seed_rule WHERE NOT only_own_writers)
  AND (writer.is_outside OR newest.declared_run IS NULL)
  AND writer.end_ns >= newest.start_ns
UNION
SELECT newest.place, newest.call_key, writer.invalidates
FROM _seed_newest AS newest
JOIN _seed_write AS writer USING (namespace, trace_id)
WHERE (writer.declared_run IS NULL OR newest.declared_run IS NULL)
  AND writer.end_ns >= newest.start_ns
UNION
SELECT newest.place, newest.call_key, writer.invalidates
FROM _seed_newest AS newest
JOIN _seed_write AS writer USING (namespace, declared_run)
WHERE writer.start_ns <= newest.end_ns AND writer.end_ns >= newest.start_ns;
