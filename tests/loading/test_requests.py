"""What model spans ask for is read where a call lacks it, and only there."""

from __future__ import annotations

import gzip
import json

import pytest

from visceral_cli.errors import InputError
from visceral_cli.loading.fill import filled_store
from visceral_cli.progress import Silent
from visceral_cli.settings import Settings

COLUMNS = "trace_id, span_id, input_hash, identity_missing, content_hash, content_missing"


@pytest.fixture
def asking(span):
    """Return a function that builds ten model spans of a trace, each asking for one call."""

    def build(trace, first=100):
        return [
            span(
                first + n,
                trace=trace,
                tool=None,
                start=n,
                end=n + 1,
                name="chat",
                gen_ai__operation__name="chat",
                gen_ai__output__messages=json.dumps(
                    [
                        {
                            "role": "assistant",
                            "parts": [
                                {
                                    "type": "tool_call",
                                    "id": f"c-{n}",
                                    "name": "search",
                                    "arguments": {"q": f"{trace} {n}"},
                                }
                            ],
                        }
                    ]
                ),
            )
            for n in range(10)
        ]

    return build


def told(store):
    return store.execute("SELECT trace_id, call_id FROM _mention ORDER BY ALL").fetchall()


def calls(store):
    return store.execute(f"SELECT {COLUMNS} FROM tool_call ORDER BY ALL").fetchall()


def test_it_is_not_read_where_no_call_lacks_anything(asking, span, fill):
    full = [
        span(n, trace=1, call_id=f"c-{n}", arguments={"q": n}, result={"n": n}) for n in range(1, 9)
    ]
    unnamed = span(20, trace=1)  # lacks arguments, but nothing can name it
    no_result = span(21, trace=1, call_id="c-9", arguments={"q": 21})
    with fill([*asking(1), *full, unnamed, no_result]) as store:
        assert told(store) == []


def test_it_is_read_at_once_beside_a_call_that_lacks_something(asking, span, fill):
    with fill([*asking(1), *asking(2, 200), span(1, trace=1, call_id="c-3")]) as store:
        assert len(told(store)) == 20
        assert [row[3] for row in calls(store)] == [None]


@pytest.mark.parametrize("workers", [1, 2])
def test_it_is_read_in_the_end_for_a_call_of_another_file(
    asking, span, fill, tmp_path, workers, monkeypatch
):
    monkeypatch.setattr("visceral_cli.loading.pool.SMALL_INPUT_BYTES", 1)
    bare = [span(n, trace=2, start=20 + n, end=21 + n, call_id=f"c-{n}") for n in range(1, 9)]
    files = asking(1), asking(2, 200), bare
    with fill(*files, settings=Settings(workers=workers)) as store:
        assert told(store) == [(f"{2:032x}", f"c-{n}") for n in range(10)]
        completed = calls(store)
        assert [row[3] for row in completed] == [None] * 8
    with fill(*files, settings=Settings(workers=1, store=tmp_path / "s.duckdb")) as store:
        assert len(told(store)) == 20  # the files may be gone when another one is added
        assert calls(store) == completed


def test_the_files_may_come_in_any_order(asking, span, fill):
    with fill([span(1, trace=2, call_id="c-1")], asking(1), asking(2, 200)) as store:
        assert len(told(store)) == 10
        assert [row[3] for row in calls(store)] == [None]


def test_what_is_packed_is_read_at_once(asking, export, tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress((export(asking(1)) + "\n").encode(), mtime=0))
    (tmp_path / "b.jsonl").write_text(export(asking(2)) + "\n")
    with (
        pytest.raises(InputError) as refused,
        filled_store([str(tmp_path)], Settings(workers=1), Silent()),
    ):
        pass
    assert refused.value.hint.startswith("model spans ask for 20 tool calls")


def test_without_a_call_it_is_said_what_is_asked_for(asking, fill):
    repeated = asking(1)
    with pytest.raises(InputError) as refused, fill(asking(1), [*repeated, *repeated]):
        pass
    assert refused.value.hint.startswith("model spans ask for 10 tool calls")
