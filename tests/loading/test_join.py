"""One execution, one call: spans joined across records, and content told elsewhere."""

from __future__ import annotations

import json


def rows(store, columns):
    return store.execute(f"SELECT {columns} FROM tool_call ORDER BY call_key").fetchall()


def test_a_wrapper_around_the_same_call_is_the_same_call(span, fill):
    outer = span(1, start=0, end=10, arguments={"q": "a"})
    inner = span(2, parent=1, start=1, end=9, arguments={"q": "a"}, result={"found": 1})
    with fill([outer, inner]) as store:
        assert rows(store, "right(span_id, 1), spans, content_hash IS NOT NULL") == [("1", 2, True)]


def test_a_wrapper_is_found_through_spans_that_are_no_calls(span, fill):
    spans = [
        span(1, start=0, end=10, arguments={"q": "a"}),
        span(2, parent=1, tool=None, start=1, end=9),
        span(3, parent=2, tool=None, start=1, end=9),
        span(4, parent=3, start=2, end=8, arguments={"q": "a"}),
    ]
    with fill(spans) as store:
        assert rows(store, "right(span_id, 1), spans") == [("1", 2)]


def test_a_wrapper_in_another_file_is_joined_too(span, fill):
    inner = span(2, parent=1, start=1, end=9, arguments={"q": "a"})
    outer = span(1, start=0, end=10, arguments={"q": "a"})
    with fill([inner], [outer]) as store:
        assert rows(store, "right(span_id, 1), spans") == [("1", 2)]


def test_equal_calls_side_by_side_are_two_calls(span, fill):
    twice = [span(n, parent=9, arguments={"q": "a"}) for n in (1, 2)]
    with fill([*twice, span(9, tool=None, end=2)]) as store:
        assert rows(store, "spans") == [(1,), (1,)]


def test_another_tool_inside_is_a_call_of_its_own(span, fill):
    with fill([span(1, end=9), span(2, parent=1, tool="lookup", start=1)]) as store:
        assert rows(store, "tool") == [("search",), ("lookup",)]


def test_two_instrumentations_of_one_call_id_are_one_call(span, fill):
    one = span(1, trace=1, start=0, end=3, call_id="c-1", arguments={"q": "a"})
    other = openinference_span(span, 2, trace=2, start=1, end=2, call_id="c-1")
    with fill([one], [other]) as store:
        assert rows(store, "right(span_id, 1), spans") == [("1", 2)]


def openinference_span(span, number, **told):
    return span(
        number,
        tool=None,
        openinference__span__kind="TOOL",
        tool__name="search",
        input__value='{"q": "a"}',
        input__mime_type="application/json",
        **told,
    )


def test_two_instrumentations_without_call_ids_are_one_call_where_their_times_coincide(
    span, export, fill
):
    one = span(1, parent=9, start=0, end=3, arguments={"q": "a"})
    other = openinference_span(span, 2, parent=8, start=0, end=3)
    with fill([one], export([other], scope="other") + "\n") as store:
        assert rows(store, "right(span_id, 1), spans") == [("1", 2)]


def test_a_call_id_that_is_used_again_later_is_another_call(span, fill):
    one = span(1, trace=1, start=0, end=3, call_id="c-1", arguments={"q": "a"})
    other = openinference_span(span, 2, trace=2, start=4, end=5, call_id="c-1")
    with fill([one], [other]) as store:
        assert len(rows(store, "spans")) == 2


def model_span(span, number, *asked, trace=1):
    parts = [
        {"type": "tool_call", "id": call_id, "name": "search", "arguments": arguments}
        for call_id, arguments in asked
    ]
    messages = json.dumps([{"role": "assistant", "parts": parts}])
    return span(
        number,
        trace=trace,
        tool=None,
        gen_ai__operation__name="chat",
        gen_ai__output__messages=messages,
    )


def test_arguments_that_only_the_model_span_tells_give_the_call_an_identity(span, fill):
    bare = span(2, call_id="c-1", result={"found": 1})
    told = span(3, trace=2, start=5, end=6, arguments={"q": "a"})
    with fill([bare], [model_span(span, 1, ("c-1", {"q": "a"}))], [told]) as store:
        found = rows(store, "input_hash, identity_missing")
        assert found[0][0] == found[1][0] is not None


def test_a_call_id_of_another_trace_tells_nothing(span, fill):
    bare = span(2, trace=1, call_id="c-1")
    with fill([bare], [model_span(span, 1, ("c-1", {"q": "a"}), trace=2)]) as store:
        assert rows(store, "identity_missing") == [("not-captured",)]


def test_arguments_that_contradict_each_other_give_no_identity(span, fill):
    asked = [model_span(span, n, ("c-1", {"q": q})) for n, q in ((1, "a"), (3, "b"))]
    with fill([*asked, span(2, call_id="c-1")]) as store:
        assert rows(store, "input_hash, identity_missing") == [(None, "conflicting")]


def test_arguments_that_are_told_twice_in_two_spellings_agree(span, fill):
    spellings = ('{"q": "a", "n": 1}', '{"n":1,"q":"a"}')
    asked = [model_span(span, n, ("c-1", text)) for n, text in zip((1, 3), spellings, strict=True)]
    plain = span(4, trace=2, start=5, end=6, arguments={"q": "a", "n": 1})
    with fill([*asked, span(2, call_id="c-1"), plain]) as store:
        found = rows(store, "input_hash, identity_missing")
        assert found[0] == found[1]
        assert found[0][0] is not None


def test_texts_of_completed_calls_are_kept_where_texts_are_kept(span, fill, keep_text):
    asked = model_span(span, 1, ("c-1", {"q": "a"}))
    with fill([asked, span(2, call_id="c-1")], settings=keep_text) as store:
        found = store.execute(
            "SELECT text FROM tool_call JOIN argument_text USING (arguments_hash)"
        ).fetchall()
        assert found == [('{"q":"a"}',)]
