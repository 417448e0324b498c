"""Calls in the order of time: sorted by start, and by texts only where starts are equal."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visceral_cli.loading.call_order import order_calls
from visceral_cli.store.database import temporary_store

CALL = {
    "trace_id": st.sampled_from(["t1", "t2", "T"]),
    "span_id": st.sampled_from(["a", "b", "B", "é"]),
    "position": st.integers(0, 2),
    "start_ns": st.none() | st.integers(0, 3),
    "end_ns": st.none() | st.integers(0, 3),
    "session": st.none() | st.just("own"),
    "user_id": st.none() | st.just("own"),
    "agent": st.none() | st.just("own"),
}
NUMBERS = {"position": pa.int32(), "start_ns": pa.int64(), "end_ns": pa.int64()}
SCHEMA = pa.schema(
    [("record", pa.int64()), *((name, NUMBERS.get(name, pa.string())) for name in CALL)]
)
WHO = {"t1": ("s-1", None, "a-1"), "t2": (None, "u-2", None)}
WHO_TABLE = pa.table(
    {
        "trace": list(WHO),
        **{
            name: pa.array([who[nth] for who in WHO.values()], pa.string())
            for nth, name in enumerate(("session", "user_id", "agent"))
        },
    }
)


@pytest.fixture(scope="module")
def store():
    with temporary_store() as opened:
        yield opened


def ordered(store: duckdb.DuckDBPyConnection, calls: list[dict[str, object]]):
    """Return the rows of ``_call_key`` for calls whose records are their places."""
    rows = [{"record": nth} | call for nth, call in enumerate(calls)]
    store.register("_rows", pa.Table.from_pylist(rows, SCHEMA))
    store.register("_who", WHO_TABLE)
    store.execute("CREATE OR REPLACE TEMP VIEW _call_to_order AS SELECT * FROM _rows")
    store.execute(
        "CREATE OR REPLACE TEMP VIEW _trace_who AS"
        " SELECT * EXCLUDE (trace), hash(trace) AS run_key FROM _who"
    )
    store.execute("DELETE FROM _call_key")
    order_calls(store)
    return store.execute("SELECT * FROM _call_key ORDER BY call_key").fetchall()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(CALL),
        max_size=12,
        unique_by=lambda call: (call["trace_id"], call["span_id"], call["position"]),
    )
)
def test_calls_are_in_order_of_start_end_trace_span_and_position(store, calls):
    def place(record):
        start, end, *ids = (
            calls[record][name] for name in ("start_ns", "end_ns", "trace_id", "span_id")
        )
        ids = [text.encode() for text in ids]
        return start is None, start or 0, end is None, end or 0, *ids, calls[record]["position"]

    found = ordered(store, calls)
    assert [row[0] for row in found] == list(range(len(calls)))
    assert [row[1] for row in found] == sorted(range(len(calls)), key=place)
    assert [row[2] for row in found] == [calls[row[1]]["position"] for row in found]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.fixed_dictionaries(CALL), max_size=4, unique_by=lambda c: c["span_id"]))
def test_what_a_trace_says_is_noted_where_the_call_s_own_span_says_nothing(store, calls):
    for _, record, _, *told in ordered(store, calls):
        own = [calls[record][name] for name in ("session", "user_id", "agent")]
        of_trace = WHO.get(calls[record]["trace_id"], (None, None, None))
        assert told == [w if o is None else None for o, w in zip(own, of_trace, strict=True)]
