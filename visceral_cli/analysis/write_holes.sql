-- Reads tool_call, span. Defines _attested_write, _seeded_write, _read_during_write,
-- _write_beside_run, _run_under_way and _write_in_own_trace. Each row of those three whose names say
-- what was read or written is one finding: names, counts and span ids.

-- One row per call that the Visceral SDK recorded as a write, and that has times.
CREATE OR REPLACE TEMP VIEW _attested_write AS
SELECT call_key, namespace, tool, kind, service, trace_id, span_id, parent_span_id, start_ns, end_ns
FROM tool_call
WHERE readonly = false AND start_ns IS NOT NULL AND end_ns IS NOT NULL;

-- One row per such write below a span of the SDK, whose run therefore learns of it.
CREATE OR REPLACE TEMP VIEW _seeded_write AS
WITH RECURSIVE near AS (
    SELECT trace_id, span_id, parent_span_id, scope
    FROM span
    SEMI JOIN _attested_write USING (trace_id)
),
above AS (
    SELECT call_key, trace_id, parent_span_id AS span_id
    FROM _attested_write
    WHERE parent_span_id IS NOT NULL
    UNION
    SELECT call_key, above.trace_id, near.parent_span_id
    FROM above
    JOIN near USING (trace_id, span_id)
    WHERE near.parent_span_id IS NOT NULL
)
SELECT DISTINCT call_key
FROM above
JOIN near USING (trace_id, span_id)
WHERE near.scope = 'visceral';

-- One row per tool that was read while a writer of the same trace was at work: what it returned may
-- be from before the write, yet a runtime that looks at the writer's start alone would keep it.
CREATE OR REPLACE TEMP VIEW _read_during_write AS
SELECT
    namespace,
    tool,
    kind,
    count(*)                                        AS calls,
    list(trace_id ORDER BY call_key)[:10]           AS trace_ids,
    list(span_id ORDER BY call_key)[:10]            AS span_ids
FROM (
    SELECT DISTINCT call.call_key, call.namespace, call.tool, call.kind, call.trace_id, call.span_id
    FROM tool_call AS call
    JOIN _attested_write AS wrote
        ON wrote.trace_id = call.trace_id
        AND call.start_ns < wrote.end_ns
        AND call.end_ns > wrote.start_ns
    WHERE call.readonly AND call.replay_safe AND NOT call.failed AND call.input_hash IS NOT NULL
)
GROUP BY namespace, tool, kind;

-- One row per writer that wrote below no span of the SDK, while another branch of the same trace,
-- with read-only calls in it, was at work: a sibling task whose writes the branch does not see.
CREATE OR REPLACE TEMP VIEW _write_beside_run AS
SELECT
    namespace,
    tool,
    kind,
    count(*)                                        AS calls,
    list(trace_id ORDER BY call_key)[:10]           AS trace_ids,
    list(span_id ORDER BY call_key)[:10]            AS span_ids
FROM (
    SELECT DISTINCT wrote.*
    FROM _attested_write AS wrote
    ANTI JOIN _seeded_write USING (call_key)
    JOIN tool_call AS call
        ON call.trace_id = wrote.trace_id
        AND call.readonly
        AND call.replay_safe
        AND call.parent_span_id <> wrote.parent_span_id
    JOIN span AS branch
        ON branch.trace_id = call.trace_id
        AND branch.span_id = call.parent_span_id
        AND branch.start_ns < wrote.end_ns
        AND branch.end_ns > wrote.start_ns
    JOIN span AS own
        ON own.trace_id = wrote.trace_id
        AND own.span_id = wrote.parent_span_id
        AND own.parent_span_id IS DISTINCT FROM branch.span_id
        AND branch.parent_span_id IS DISTINCT FROM own.span_id
)
GROUP BY namespace, tool, kind;

-- One row per @node span at the top of a trace: until when some run of its service was under way
-- that had begun by its start.
CREATE OR REPLACE TEMP VIEW _run_under_way AS
SELECT
    coalesce(service, '')                                   AS service,
    start_ns,
    max(end_ns) OVER (PARTITION BY service ORDER BY start_ns) AS until_ns
FROM span
ANTI JOIN tool_call USING (trace_id, span_id)
WHERE scope = 'visceral' AND parent_span_id IS NULL AND start_ns IS NOT NULL;

-- One row per writer that wrote in a trace of its own while a run of the same service was under way,
-- as it does in a plain thread: that run does not learn of it.
CREATE OR REPLACE TEMP VIEW _write_in_own_trace AS
SELECT
    wrote.namespace,
    wrote.tool,
    wrote.kind,
    count(*)                                                    AS calls,
    list(wrote.trace_id ORDER BY wrote.call_key)[:10]           AS trace_ids,
    list(wrote.span_id ORDER BY wrote.call_key)[:10]            AS span_ids
FROM _attested_write AS wrote
ASOF JOIN _run_under_way AS run
    ON coalesce(wrote.service, '') = run.service
    AND wrote.start_ns >= run.start_ns
WHERE wrote.parent_span_id IS NULL AND run.until_ns > wrote.start_ns
GROUP BY wrote.namespace, wrote.tool, wrote.kind;
