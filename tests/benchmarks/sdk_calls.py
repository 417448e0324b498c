"""Calls of the real SDK's decorator: captured, without a rule, and served over HTTP.

Spans go through a batching pipeline that exports to nowhere. Rules and stored results come from
`tests/sdk/loopback_backend.py` in a process of its own, since the SDK asks a server for every one.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BACKEND = Path(__file__).parent.parent / "sdk" / "loopback_backend.py"
KEY = bytes(range(32))


class SdkCalls:
    """The SDK, armed; ``None`` as its configuration is what ``wrap(apply=False)`` leaves."""

    def __init__(
        self, rules: list[Any], results: dict[str, Any], end: contextlib.ExitStack
    ) -> None:
        """Start the backend; raises ``ImportError`` where the SDK is not installed."""
        self._tool = importlib.import_module("visceral.tool")
        self._serve = importlib.import_module("visceral.tool_serve")
        apply_rules = importlib.import_module("visceral.apply_rules")
        provider = _pipeline()
        end.callback(provider.shutdown)
        self._tool.get_tracer = lambda: provider.get_tracer("visceral")
        backend = subprocess.Popen(
            [sys.executable, "-B", BACKEND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        end.enter_context(backend)
        end.callback(backend.terminate)
        assert backend.stdin is not None
        assert backend.stdout is not None
        json.dump({"rules": rules, "results": results}, backend.stdin)
        backend.stdin.close()
        url = backend.stdout.readline().strip()
        self._serve.install("key", url, KEY)
        self._armed = self._serve._config
        apply_rules.start("key", url, ttl_seconds=3600)
        end.callback(apply_rules.reset)
        end.callback(self._serve.reset)
        assert apply_rules.current().enabled

    def call(
        self, function: Callable[..., Any], name: str, arguments: dict[str, Any], *, apply: bool
    ) -> Callable[[], object]:
        """Return a call of a function that the SDK has decorated."""
        decorated = self._tool.tool(name, readonly=True, replay_safe=True)(function)
        configuration = self._armed if apply else None

        def call() -> object:
            self._serve._config = configuration
            return decorated(**arguments)

        return call


def _pipeline() -> Any:
    trace = importlib.import_module("opentelemetry.sdk.trace")
    export = importlib.import_module("opentelemetry.sdk.trace.export")

    class Nowhere(export.SpanExporter):  # type: ignore[name-defined, misc]
        """Takes spans and forgets them."""

        def export(self, spans: Any) -> Any:
            """Say that it worked."""
            return export.SpanExportResult.SUCCESS

    provider = trace.TracerProvider()
    provider.add_span_processor(export.BatchSpanProcessor(Nowhere()))
    return provider
