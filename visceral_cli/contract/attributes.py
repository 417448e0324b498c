"""The span attribute names of the runtime, each once; observed on spans of ``visceral-ai`` 0.2.5.

Presence follows the call: a served call carries no hash and no sections, a call of a tool that is
not read-only neither, a failed one no output section. Two conclusions a reader may draw:

* short-circuited: `SERVED_DECISION_ID` is there and `VERIFY_MATCH` is not;
* executed for real: every other span.
"""

SCOPE_NAME = "visceral"
"""Instrumentation scope of spans that the runtime's decorators open."""

SPAN_KIND = "openinference.span.kind"
"""Text. `SPAN_KIND_TOOL` on tools, `SPAN_KIND_NODE` on nodes."""

SPAN_KIND_TOOL = "TOOL"
"""The value of `SPAN_KIND` on a tool call."""

SPAN_KIND_NODE = "AGENT"
"""The value of `SPAN_KIND` on a node."""

AGENT_ID = "visceral.agent.id"
"""Text, on the resource: the agent that the process announced first; equals ``service.name``."""

NODE = "visceral.node"
"""Text, on node spans: the node's name."""

APPLY_DECISION_ID = "visceral.apply.decision_id"
"""Text, on model spans: sorted ids, joined by commas, of prompt-cache rules. Not about tools."""

TOOL_NAME = "visceral.tool.name"
"""Text, always: the declared name, which is part of the identity."""

TOOL_NAME_OPENINFERENCE = "tool.name"
"""Text, always: `TOOL_NAME` under the name that OpenInference gives it."""

READONLY = "visceral.tool.readonly"
"""Boolean, always: the author attests that the tool changes nothing."""

REPLAY_SAFE = "visceral.tool.replay_safe"
"""Boolean, always: the author attests that a stored result may stand in; implied by nothing."""

VARY = "visceral.tool.vary"
"""Text, when declared: the argument names that count, in declared order, joined by commas."""

VERSION = "visceral.tool.version"
"""When declared: part of the identity. Text as a rule; its type is not checked by the decorator."""

FRESHNESS_OVERRIDE = "visceral.tool.freshness_override"
"""Double, seconds, when declared: an upper bound of the freshness; it may only shorten."""

INVALIDATES = "visceral.tool.invalidates"
"""Text, on writers, when declared: the tools whose results it voids, joined by commas; empty: none.

Not written by the SDK. Without it a writer voids the results of all tools.
"""

RUN_ID = "visceral.run.id"
"""Text, on tool spans inside of a declared run (``node(..., run=True)``): the id of that run.

Not written by the SDK. Writers of such a run void nothing in other declared runs; a call without it
belongs to no declared run, and its writers void results everywhere.
"""

INPUT_HASH = "visceral.tool.input_hash"
"""Text, 64 lower-case hex digits, when a read-only tool really ran and could be hashed.

An attribute length limit of the process cuts it; a reader validates it.
"""

HASH_V = "visceral.tool.hash_v"
"""Integer, exactly when `INPUT_HASH` is there: the version of the rules that made it."""

INPUT_SECTION = "visceral.input"
"""Prefix of the four attributes that hold the canonical JSON of all bound arguments, encrypted."""

OUTPUT_SECTION = "visceral.output"
"""Prefix of the four attributes that hold the canonical JSON of the result, encrypted."""

SECTION_CIPHERTEXT = "ciphertext"
"""Standard base64 after ``PREFIX.``; decoded it is as long as the plaintext (AES-256-GCM)."""

SECTION_IV = "iv"
"""Standard base64 of 12 bytes."""

SECTION_TAG = "tag"
"""Standard base64 of 16 bytes."""

SECTION_KEY_ID = "key_id"
"""Text: the version of the key; missing when the backend named none. Not authenticated."""

SERVED_DECISION_ID = "visceral.tool.served_decision_id"
"""Text, on served calls and on verify samples of suppress rules: the rule that served."""

VERIFY_MATCH = "visceral.tool.verify_match"
"""Boolean, on verify samples whose real execution returned: was the stored result equal."""

SERVED_START = "visceral.tool.served_start_ns"
"""Integer, nanoseconds since the Unix epoch, on served calls and verify samples: when the execution
began whose result was served. Not written by the SDK."""

USER_ID = "user.id"
"""Text: for whom the agent acted, where the program has said so."""

SESSION_ID = "session.id"
"""Text: the session in which it acted, where the program has said so."""

INPUT_VALUE = "input.value"
"""Text: the canonical JSON of all bound arguments in clear; only when the user asked for that."""

OUTPUT_VALUE = "output.value"
"""Text: the canonical JSON of the result in clear; only when the user asked for that."""

OUTPUT_ORDER = "visceral.tool.output_order"
"""Text, beside a captured result with an object of several keys: their order (`key_order`).

Not written by the SDK. A capture is canonical JSON, which sorts keys; without this the value cannot
be rendered as the tool returned it. Names no key and no value.
"""

OUTPUT_HASH = "visceral.tool.output_hash"
"""Text, 64 lower-case hex digits: the content hash of the result. Not written by the SDK.

Our runtime writes it where the SDK writes `OUTPUT_SECTION`, when no capture was asked for: equal
hashes mean equal results, and nothing of them is on the span. A result that says it is an error
gets none.
"""
