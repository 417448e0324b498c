"""The texts of single calls."""

from __future__ import annotations

import numpy as np
import pytest

from visceral_cli.analysis.names import call_names, name_table


def test_names_are_those_of_the_wanted_calls(recorded, call):
    calls = recorded(
        call(0, tool="get_a", span="a", namespace="shop"),
        call(1, tool="get_b", span="b"),
        call(2, tool="get_c", span="c", arguments=None, version="2", run="another"),
    )
    first, second, third = name_table(calls.store, np.array([2, 0, 2])).to_pylist()
    assert first == third
    assert (second["tool"], second["namespace"], second["span_id"]) == ("get_a", "shop", "a")
    names = call_names(calls.store, np.array([2, 0, 2]))
    assert (sorted(names), names[0].tool, names[2].tool) == ([0, 2], "get_a", "get_c")
    assert first == {
        "call_key": 2,
        "namespace": "",
        "tool": "get_c",
        "kind": "tool",
        "version": "2",
        "input_hash": None,
        "hash_v": None,
        "trace_id": "another",
        "span_id": "c",
    }


def test_no_names_are_wanted_of_no_call(recorded):
    store = recorded().store
    assert name_table(store, np.zeros(0, np.int64)).num_rows == 0
    assert call_names(store, np.zeros(0, np.int64)) == {}


@pytest.mark.parametrize("wanted", [99, 100, 101])
def test_few_names_and_many_are_found_alike(recorded, call, wanted):
    calls = recorded(*(call(n, tool=f"get_{n}") for n in range(120)))
    rows = np.arange(wanted)[::-1]
    names = name_table(calls.store, rows)
    assert names.column("tool").to_pylist() == [f"get_{row}" for row in rows]
