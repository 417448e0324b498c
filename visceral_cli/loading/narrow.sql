-- Reads tool_call, and the temporary _chosen_call (old_key). Defines tool_call anew for this
-- connection: the chosen calls alone, numbered again.

-- One row per chosen call: its number here, and its number among all.
CREATE OR REPLACE TEMP TABLE _narrow_key AS
SELECT row_number() OVER (ORDER BY old_key) - 1 AS call_key, old_key
FROM _chosen_call;

-- One row per chosen call, with the columns of tool_call. A table: a view of this name could not
-- read the other one.
CREATE OR REPLACE TEMP TABLE tool_call AS
SELECT _narrow_key.call_key, wide.* EXCLUDE (call_key)
FROM _narrow_key
JOIN main.tool_call AS wide ON wide.call_key = _narrow_key.old_key;
