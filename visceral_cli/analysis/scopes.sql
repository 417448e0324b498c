-- Reads tool_call. Defines _call_who.

-- One row per call: for whom it was made, as hashes; 0: not known.
CREATE OR REPLACE TEMP VIEW _call_who AS
SELECT
    call_key,
    CASE WHEN user_id IS NULL THEN 0::UBIGINT ELSE hash(user_id) END AS user_key,
    CASE WHEN session IS NULL THEN 0::UBIGINT ELSE hash(session) END AS session_key
FROM tool_call;
