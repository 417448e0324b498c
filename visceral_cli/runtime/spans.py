"""Where the spans of tools and nodes go: a trace file, an OpenTelemetry pipeline, or nowhere."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

from visceral_cli.contract.attributes import SCOPE_NAME
from visceral_cli.runtime.attribute_json import Attributes


class OpenSpan(Protocol):
    """A span that is current until it ends."""

    def set(self, name: str, value: object) -> None:
        """Add an attribute."""

    def end(self, error_type: str | None = None) -> None:
        """Close the span; ``error_type`` is the name of the exception that left it."""


class Spans(Protocol):
    """A place that takes spans."""

    def start_span(self, name: str, static: Attributes) -> OpenSpan:
        """Open a span below the current one and make it current."""

    def flush(self) -> object:
        """Hand over what is waiting."""


class _NoSpan:
    __slots__ = ()

    def set(self, name: str, value: object) -> None:
        """Ignore it."""

    def end(self, error_type: str | None = None) -> None:
        """Do nothing."""


class NoSpans:
    """Takes spans and forgets them."""

    _span = _NoSpan()

    def start_span(self, name: str, static: Attributes) -> OpenSpan:
        """Return a span that records nothing."""
        return self._span

    def flush(self) -> None:
        """Do nothing."""


class OpenTelemetrySpans:
    """Hands spans to a tracer provider of the user's; the global one is not touched."""

    def __init__(self, provider: Any) -> None:
        # the provider comes from the API, so that is installed; an agent without it pays nothing
        self.provider = provider
        self.tracer = provider.get_tracer(SCOPE_NAME)
        self.context: Any = import_module("opentelemetry.context")
        self.trace: Any = import_module("opentelemetry.trace")

    def start_span(self, name: str, static: Attributes) -> OpenSpan:
        """Open a span below the current one and make it current."""
        return _OpenTelemetrySpan(self, name, static)

    def flush(self) -> None:
        """Ask the provider to hand over what is waiting, if it can."""
        flush = getattr(self.provider, "force_flush", None)
        if flush is not None:
            flush()


class _OpenTelemetrySpan:
    __slots__ = ("_span", "_spans", "_token")

    def __init__(self, spans: OpenTelemetrySpans, name: str, static: Attributes) -> None:
        self._spans = spans
        self._span = spans.tracer.start_span(name, attributes=dict(static.values))
        self._token = spans.context.attach(spans.trace.set_span_in_context(self._span))

    def set(self, name: str, value: object) -> None:
        """Add an attribute."""
        self._span.set_attribute(name, value)

    def end(self, error_type: str | None = None) -> None:
        """Close the span; neither message nor traceback of an exception is recorded."""
        self._spans.context.detach(self._token)
        if error_type is not None:
            self._span.add_event(
                "exception", {"exception.type": error_type, "exception.escaped": "False"}
            )
            self._span.set_status(self._spans.trace.StatusCode.ERROR)
        self._span.end()
