-- Reads tool_call and the registered _wanted_call (call_key). Defines _few_call_names and
-- _call_names. One row of either per wanted call: the texts of its identity.

-- One row per call.
CREATE OR REPLACE TEMP VIEW _call_name AS
SELECT call_key, namespace, tool, kind, version, input_hash, hash_v, trace_id, span_id
FROM tool_call;

-- For few keys: the list is searched for each call, but before anything is joined.
CREATE OR REPLACE TEMP MACRO _few_call_names(call_keys) AS TABLE
SELECT * FROM _call_name WHERE list_contains(call_keys, call_key);

-- For many keys.
CREATE OR REPLACE TEMP MACRO _call_names() AS TABLE
SELECT * FROM _call_name SEMI JOIN _wanted_call USING (call_key);
