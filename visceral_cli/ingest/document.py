"""One parsed JSON document of any known shape into spans.

The shape is told by the keys, the most telling first; a document of no known shape is noted with
the names of its first keys.
"""

from __future__ import annotations

from collections.abc import Callable

from visceral_cli.ingest import (
    bare_span,
    go_stdouttrace,
    jaeger,
    js_console,
    langfuse,
    mlflow,
    phoenix,
    python_console,
    stdout_envelope,
)
from visceral_cli.ingest.otlp_document import read_otlp
from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.ingest.span_fields import Object
from visceral_cli.ingest.values import name_of

_WRAPPERS = ("trace", "result", "data", "traces")
"""Keys around a document: Tempo's and Jaeger's newer interfaces, answers with a list."""

_MAX_WRAPPERS = 4
_MAX_NAMES = 5

_SHAPES: tuple[tuple[Callable[[Object], bool], Callable[[Object, Reading], None]], ...] = (
    (python_console.is_python_console, python_console.read_python_console),
    (go_stdouttrace.is_go_stdouttrace, go_stdouttrace.read_go_stdouttrace),
    (jaeger.is_jaeger_trace, jaeger.read_jaeger_trace),
    (jaeger.is_jaeger_span, jaeger.read_jaeger_span),
    (langfuse.is_langfuse_export, langfuse.read_langfuse_export),
    (langfuse.is_langfuse_observation, langfuse.read_langfuse_observation),
    (mlflow.is_mlflow_trace, mlflow.read_mlflow_trace),
    (stdout_envelope.is_envelope, stdout_envelope.read_envelope),
    (js_console.is_js_console, js_console.read_js_console),
    (bare_span.is_span_event, bare_span.read_span_event),
)


def read_document(document: object, reading: Reading, *, seed: str) -> None:
    """Add what a parsed JSON document holds to ``reading``.

    ``seed`` names the place of the document, for the synthetic ids of spans without any. Never
    raises: what is not understood is noted.
    """
    reading.begin_document(seed)
    try:
        _read(document, reading, 0)
    except RecursionError:
        reading.add_damage(DamageKind.NOT_JSON, "nested too deep; left out")


def _read(document: object, reading: Reading, depth: int) -> None:
    if isinstance(document, dict):
        _read_object(document, reading, depth)
    elif isinstance(document, list) and depth <= _MAX_WRAPPERS:
        for item in document:
            _read(item, reading, depth + 1)
    else:
        reading.add_damage(DamageKind.UNKNOWN_SHAPE, "no object; left out")


def _read_object(document: Object, reading: Reading, depth: int) -> None:
    if read_otlp(document, reading):
        return
    if phoenix.is_phoenix_span(document):
        phoenix.read_phoenix_span(document, reading)
        return
    for is_shape, read in _SHAPES:
        if is_shape(document):
            read(document, reading)
            return
    if bare_span.is_span_list(document):
        bare_span.read_span_list(document, reading, lambda span: _read(span, reading, depth + 1))
    elif bare_span.is_bare_span(document):
        bare_span.read_bare_span(document, reading)
    else:
        _read_wrapped(document, reading, depth)


def _read_wrapped(document: Object, reading: Reading, depth: int) -> None:
    for key in _WRAPPERS:
        inner = document.get(key)
        if isinstance(inner, (dict, list)) and depth <= _MAX_WRAPPERS:
            _read(inner, reading, depth + 1)
            return
    names = ", ".join(name_of(key) for key in list(document)[:_MAX_NAMES])
    what = f"an object with the keys {names}" if names else "an empty object"
    reading.add_damage(DamageKind.UNKNOWN_SHAPE, f"{what}; left out")
