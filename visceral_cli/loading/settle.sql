-- Reads _span_record, _call_record, _mention, _copy. Defines the views and macros by which
-- settle.py fills _copy and tool_call.

-- The records that are copies of another: of one span the record with the latest end stays, then
-- the one with the most attributes, then the first.
CREATE OR REPLACE TEMP VIEW _copies_found AS
SELECT record
FROM (
    SELECT
        record,
        row_number() OVER (
            PARTITION BY trace_id, span_id
            ORDER BY end_ns DESC NULLS LAST, attributes DESC, record
        ) AS place
    FROM _span_record
)
WHERE place > 1;

-- One row per call record whose span is no copy.
CREATE OR REPLACE TEMP VIEW _call_told AS
SELECT *
FROM _call_record
WHERE record NOT IN (SELECT record FROM _copy);

-- One row per call record, argument or result of it, and text that other records tell for it: by the
-- span they name, or by its call id within the trace.
CREATE OR REPLACE TEMP VIEW _told_elsewhere AS
WITH open_call AS (
    SELECT record, position, trace_id, span_id, call_id, tool, identity_missing, content_missing
    FROM _call_told
    WHERE identity_missing = 'not-captured' OR content_missing = 'not-captured'
),
match AS (
    SELECT open_call.*, what, text
    FROM open_call
    JOIN _mention ON _mention.trace_id = open_call.trace_id AND _mention.span_id = open_call.span_id
    UNION ALL
    SELECT open_call.*, what, text
    FROM open_call
    JOIN _mention ON _mention.trace_id = open_call.trace_id AND _mention.call_id = open_call.call_id
    WHERE _mention.tool IS NULL OR _mention.tool = open_call.tool
)
SELECT DISTINCT
    trace_id,
    record,
    position,
    what,
    text
FROM match
WHERE (what = 'arguments' AND identity_missing = 'not-captured')
   OR (what = 'result' AND content_missing = 'not-captured');

-- One row per call that runs while another with its call id and tool does: the traces of both.
CREATE OR REPLACE TEMP VIEW _same_id_at_once AS
WITH repeated AS (
    SELECT hash(call_id) AS id
    FROM _call_told
    WHERE call_id IS NOT NULL
    GROUP BY id
    HAVING count(*) > 1
),
earlier AS (
    SELECT
        trace_id,
        start_ns,
        max(end_ns) OVER same_id_before              AS end_before,
        max_by(trace_id, end_ns) OVER same_id_before AS trace_before
    FROM _call_told
    WHERE hash(call_id) IN (SELECT id FROM repeated)
    WINDOW same_id_before AS (
        PARTITION BY call_id, tool
        ORDER BY start_ns, end_ns, record
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT DISTINCT trace_before, trace_id
FROM earlier
WHERE start_ns <= end_before;

-- Whether spans of a convention tell the phases of a call.
CREATE OR REPLACE TEMP MACRO _tells_phases(convention) AS
    convention IN ('openinference-beeai', 'claude-code-execution');

-- Whether several instrumentations, or both sides of a connection, tell of the calls of a group, or
-- spans tell the phases of a call.
CREATE OR REPLACE TEMP MACRO _several_tell(convention, scope, span_kind) AS
    min(convention) <> max(convention)
    OR min(scope) <> max(scope)
    OR min(span_kind) <> max(span_kind)
    OR bool_or(_tells_phases(convention));

-- One row per trace in which several may tell of any tool, by hashes, which are soon compared.
CREATE OR REPLACE TEMP VIEW _perhaps_told_by_several AS
SELECT run_key
FROM (
    SELECT
        hash(trace_id)                     AS run_key,
        hash(convention, scope, span_kind) AS teller,
        _tells_phases(convention)          AS tells_phases
    FROM _call_told
)
GROUP BY run_key
HAVING min(teller) <> max(teller) OR bool_or(tells_phases);

-- One row per trace in which several tell of one tool: only the calls of few traces are grouped.
CREATE OR REPLACE TEMP VIEW _told_by_several AS
SELECT DISTINCT trace_id
FROM _call_told
WHERE hash(trace_id) IN (SELECT run_key FROM _perhaps_told_by_several)
GROUP BY trace_id, tool
HAVING _several_tell(convention, scope, span_kind);

-- One row per trace whose spans agree on one session, user or agent: what a call of the trace
-- whose own span names none belongs to.
CREATE OR REPLACE TEMP VIEW _trace_who AS
SELECT
    hash(trace_id)                                              AS run_key,
    CASE WHEN min(session) = max(session) THEN min(session) END AS session,
    CASE WHEN min(user_id) = max(user_id) THEN min(user_id) END AS user_id,
    CASE WHEN min(agent) = max(agent) THEN min(agent) END       AS agent
FROM span
WHERE session IS NOT NULL OR user_id IS NOT NULL OR agent IS NOT NULL
GROUP BY run_key;

-- One row per trace in which calls may have to be completed or joined, with the number of the set
-- of traces that are judged together.
CREATE OR REPLACE TEMP TABLE _judged (nth BIGINT NOT NULL, trace_id VARCHAR NOT NULL);

-- One row per call record of these traces.
CREATE OR REPLACE TEMP VIEW _call_to_judge AS
SELECT nth, _call_told.*
FROM _judged
JOIN _call_told USING (trace_id);

-- One row per span of these traces.
CREATE OR REPLACE TEMP VIEW _span_to_judge AS
SELECT nth, trace_id, span_id, parent_span_id
FROM _judged
JOIN span USING (trace_id);

-- One row per argument or result of a call of these traces that another record tells.
CREATE OR REPLACE TEMP VIEW _text_to_judge AS
SELECT nth, record, position, what, text
FROM _judged
JOIN _told_elsewhere USING (trace_id);

-- One row per call record that a row of _call_joined stands for or has absorbed.
CREATE OR REPLACE TEMP TABLE _replaced (record BIGINT NOT NULL, position INTEGER NOT NULL);

-- One row per call: what tells its place in the order of time, and whom it says it belongs to.
CREATE OR REPLACE TEMP VIEW _call_to_order AS
SELECT record, position, trace_id, span_id, start_ns, end_ns, session, user_id, agent
FROM _call_told
WHERE (record, position) NOT IN (SELECT (record, position) FROM _replaced)
UNION ALL
SELECT record, position, trace_id, span_id, start_ns, end_ns, session, user_id, agent
FROM _call_joined;
