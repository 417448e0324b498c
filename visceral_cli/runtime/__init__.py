"""The live half, inside the agent: records tool calls, and serves results that rules allow.

The standard library only; the OpenTelemetry API is used when the agent has loaded it,
``cryptography`` when a key is set, a database client when its store is asked for.
"""
