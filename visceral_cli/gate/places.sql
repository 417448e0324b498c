-- Reads tool_call, _span_record, input_file and the registered _wanted_evidence (place, tool,
-- input_hash, trace_id, span_id). Defines _evidence_place.

-- One row per evidence: a span that shows it, and the first input that holds the span.
CREATE OR REPLACE TEMP VIEW _evidence_place AS
WITH shown AS (
    SELECT
        wanted.place,
        arg_min(struct_pack(trace_id := call.trace_id, span_id := call.span_id), call.call_key)
            AS at
    FROM _wanted_evidence AS wanted
    JOIN tool_call AS call
        ON call.tool = wanted.tool
        AND call.input_hash = wanted.input_hash
    WHERE wanted.span_id = ''
    GROUP BY wanted.place
    UNION ALL
    SELECT place, struct_pack(trace_id := trace_id, span_id := span_id)
    FROM _wanted_evidence
    WHERE span_id <> ''
)
SELECT
    shown.place,
    shown.at.trace_id                                        AS trace_id,
    shown.at.span_id                                         AS span_id,
    arg_min(input_file.path, record.record)                  AS path
FROM shown
JOIN _span_record AS record
    ON record.trace_id = shown.at.trace_id
    AND record.span_id = shown.at.span_id
JOIN input_file USING (file_id)
GROUP BY shown.place, shown.at.trace_id, shown.at.span_id;
