"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# A busy machine is no fault of the code; and where a change is judged, every run judges alike.
settings.register_profile(
    "visceral",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("visceral")

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The corpus of real traces beside the project; on other machines the test is skipped."""
    folder = PROJECT.parent / "shared"
    if not (folder / "traces" / "real").is_dir():
        pytest.skip("shared corpus not present")
    return folder


@pytest.fixture(scope="session")
def sample_traces() -> Path:
    """The sample traces of the project."""
    return PROJECT / "sample_traces"


@dataclass(frozen=True)
class Tables:
    """A store whose tables of calls are temporary ones: quick to empty and to fill."""

    store: duckdb.DuckDBPyConnection
    schemas: dict[str, pa.Schema] = field(default_factory=dict)

    def empty(self, *names: str) -> None:
        """Put temporary tables without rows before those of these names."""
        for name in names:
            self.store.execute(f"DROP TABLE IF EXISTS temp.{name}")
            self.store.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM main.{name} LIMIT 0")
            self.schemas[name] = self.store.sql(f"SELECT * FROM {name}").to_arrow_table().schema

    def fill(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Let a table hold these rows and no other."""
        import pyarrow as pa

        self.store.execute(f"DELETE FROM {name}")
        if rows:
            known = pa.schema([self.schemas[name].field(column) for column in rows[0]])
            self.store.register("_rows", pa.Table.from_pylist(rows, known))
            self.store.execute(f"INSERT INTO {name} BY NAME SELECT * FROM _rows")
            self.store.unregister("_rows")


@pytest.fixture(scope="session")
def _store_of_all_tests() -> Iterator[duckdb.DuckDBPyConnection]:
    from visceral_cli.store.database import temporary_store

    with temporary_store() as store:
        yield store


@pytest.fixture
def tables(_store_of_all_tests: duckdb.DuckDBPyConnection) -> Tables:
    """The tables of calls, spans and argument texts, without rows."""
    tables = Tables(_store_of_all_tests)
    tables.empty("tool_call", "span", "argument_text")
    return tables
