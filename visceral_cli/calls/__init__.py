"""Spans to tool calls."""
