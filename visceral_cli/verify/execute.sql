-- Reads tool_call and argument_text. Defines _call_text.

-- One row per wanted call whose arguments were kept and whose result is known.
CREATE OR REPLACE TEMP MACRO _call_text(call_keys) AS TABLE
SELECT call.call_key, kept.text AS arguments, call.content_hash
FROM tool_call AS call
JOIN argument_text AS kept USING (arguments_hash)
WHERE list_contains(call_keys, call.call_key)
  AND call.content_hash IS NOT NULL;
