"""A workload and its results as span files: OTLP JSON lines, as the Collector's file exporter."""

from __future__ import annotations

from pathlib import Path

from simulation.workload import Codes, Workload, Writes

TOOL = "lookup"
WRITER = "update_record"
NAMESPACE = "simulated"

_BEGIN_NS = 1_772_442_000 * 1_000_000_000
_SPANS_A_LINE = 500
_HEAD = (
    '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":'
    f'{{"stringValue":"{NAMESPACE}"}}}}]}},"scopeSpans":[{{"scope":{{"name":"simulation"}},"spans":['
)
_TAIL = "]}]}]}\n"


def _span_of(tool: str) -> str:
    """Return the text of a span of this tool, with slots for what differs."""
    attributes = ",".join(
        f'{{"key":"gen_ai.{key}","value":{{"stringValue":"{value}"}}}}'
        for key, value in (
            ("operation.name", "execute_tool"),
            ("tool.name", tool),
            ("tool.call.arguments", '{\\"id\\":%d}'),
            ("tool.call.result", '{\\"answer\\":%d}'),
        )
    )
    return (
        f'{{"traceId":"%032x","spanId":"%016x","name":"execute_tool {tool}","kind":1,'
        f'"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{attributes}]}}'
    )


def arguments_of(identity: int) -> dict[str, object]:
    """Return the arguments of the calls of one identity."""
    return {"id": identity}


def write_dump(path: Path, traces: Workload, results: Codes, *, writers_are_seen: bool) -> int:
    """Write the spans, one trace per run, in order of time; return how many."""
    rows = _rows(_span_of(TOOL), traces, results, 1)
    if writers_are_seen:
        rows += _rows(_span_of(WRITER), traces.writes, traces.writes.identity, 1 + len(rows))
        rows.sort()
    with path.open("w", encoding="ascii") as file:
        for first in range(0, len(rows), _SPANS_A_LINE):
            spans = ",".join(text for _, text in rows[first : first + _SPANS_A_LINE])
            file.write(_HEAD + spans + _TAIL)
    return len(rows)


def _rows(
    text: str, calls: Workload | Writes, results: Codes, first_span: int
) -> list[tuple[int, str]]:
    columns = (
        (calls.run + 1).tolist(),
        range(first_span, first_span + len(results)),
        (calls.start + _BEGIN_NS).tolist(),
        (calls.end + _BEGIN_NS).tolist(),
        calls.identity.tolist(),
        results.tolist(),
    )
    return [(row[2], text % row) for row in zip(*columns, strict=True)]
