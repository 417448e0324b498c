"""Builders: spans as OTLP JSON, written as a Collector would, and a store filled from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from visceral_cli.loading.fill import filled_store
from visceral_cli.progress import Silent
from visceral_cli.settings import ExtractSettings, Settings

SECOND = 1_000_000_000
DAY = 1_772_442_000

Json = dict[str, Any]


def build_span(
    span: int,
    *,
    trace: int = 1,
    parent: int | None = None,
    tool: str | None = "search",
    start: float = 0,
    end: float = 1,
    arguments: object = None,
    result: object = None,
    call_id: str | None = None,
    name: str | None = None,
    failed: bool = False,
    **attributes: object,
) -> Json:
    """One span; with ``tool`` an ``execute_tool`` span. Times are seconds of the test's day."""
    told = dict(attributes)
    if tool is not None:
        told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    if arguments is not None:
        told["gen_ai.tool.call.arguments"] = json.dumps(arguments)
    if result is not None:
        told["gen_ai.tool.call.result"] = json.dumps(result)
    if call_id is not None:
        told["gen_ai.tool.call.id"] = call_id
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{span:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": name or (f"execute_tool {tool}" if tool else "step"),
        "kind": 1,
        "startTimeUnixNano": str(DAY * SECOND + int(start * SECOND)),
        "endTimeUnixNano": str(DAY * SECOND + int(end * SECOND)),
        "attributes": [
            {"key": key.replace("__", "."), "value": _any(value)} for key, value in told.items()
        ],
        "status": {"code": 2} if failed else {},
    }


def _any(value: object) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": str(value)}


def export_line(spans: Sequence[Json], *, service: str | None = "desk", scope: str = "test") -> str:
    """One line of a Collector's file."""
    attributes = [] if service is None else [{"key": "service.name", "value": _any(service)}]
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": attributes},
                    "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
                }
            ]
        }
    )


@pytest.fixture(scope="session")
def span() -> Callable[..., Json]:
    """See `build_span`."""
    return build_span


@pytest.fixture(scope="session")
def export() -> Callable[..., str]:
    """See `export_line`."""
    return export_line


Fill = Callable[..., Any]


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Write groups of spans as lines of one file each, and open the store that holds them."""

    @contextmanager
    def filled(
        *files: Sequence[Json] | str, settings: Settings | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        folder = tmp_path / "traces"
        folder.mkdir(exist_ok=True)
        for number, content in enumerate(files):
            text = content if isinstance(content, str) else export_line(content) + "\n"
            (folder / f"{number}.jsonl").write_text(text)
        with filled_store([str(folder)], settings or Settings(workers=1), Silent()) as found:
            yield found.store

    return filled


@pytest.fixture
def keep_text() -> Settings:
    """Settings by which arguments and results go into the store."""
    return Settings(workers=1, extract=ExtractSettings(keep_text=True))
