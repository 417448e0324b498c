from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from visceral_cli.ingest.proto_frames import (
    Place,
    bare_messages,
    delimited_messages,
    fits,
    framed_messages,
)
from visceral_cli.ingest.span import DamageKind, Reading

Walk = Callable[..., Iterator[Place]]


def message(number: int, padding: int = 0) -> bytes:
    data = TracesData()
    resource_spans = data.resource_spans.add()
    resource_spans.resource.attributes.add().key = "k" * padding
    span = resource_spans.scope_spans.add().spans.add()
    span.trace_id, span.span_id = bytes([number]) * 16, bytes([number]) * 8
    span.start_time_unix_nano = 1760000000000000001
    return data.SerializeToString()


def framed(*messages: bytes) -> bytes:
    return b"".join(len(one).to_bytes(4, "big") + one for one in messages)


def delimited(*messages: bytes) -> bytes:
    return b"".join(varint(len(one)) + one for one in messages)


def varint(number: int) -> bytes:
    low = number & 127
    return bytes([low]) if number < 128 else bytes([low | 128]) + varint(number >> 7)


def walk(kind: Walk, data: bytes, *, more: bool = False) -> tuple[list[bytes], list[DamageKind]]:
    reading = Reading()
    found = [
        data[start : start + length]
        for _, start, length in kind(data, 0, len(data), reading, more=more)
    ]
    return found, [damage.kind for damage in reading.damage]


MESSAGES = [message(1), message(2, padding=300), message(3)]


def test_a_message_fits_and_a_part_of_it_only_where_it_may_be_cut() -> None:
    data = MESSAGES[0]
    assert fits(data, 0, len(data))
    assert not fits(data, 0, len(data) - 1)
    assert fits(data, 0, len(data) - 1, may_be_cut=True)
    assert not fits(b'\n{"resourceSpans":[]}', 0, 21, may_be_cut=True)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (framed_messages, framed(*MESSAGES)),
        (delimited_messages, delimited(*MESSAGES)),
        (bare_messages, b"".join(MESSAGES)),
        (bare_messages, b"\n".join(MESSAGES)),
        (bare_messages, b"\n".join(MESSAGES) + b"\n"),
    ],
)
def test_whole_messages_are_found(kind: Walk, data: bytes) -> None:
    assert walk(kind, data) == (MESSAGES, [])


@pytest.mark.parametrize(
    ("kind", "data"),
    [(framed_messages, framed(*MESSAGES)), (delimited_messages, delimited(*MESSAGES))],
)
@pytest.mark.parametrize("lost", [1, 20, len(MESSAGES[2])])
def test_a_cut_last_message_is_noted(kind: Walk, data: bytes, lost: int) -> None:
    assert walk(kind, data[:-lost]) == (MESSAGES[:2], [DamageKind.CUT])


def test_a_last_message_that_is_not_whole_yet_is_left_alone() -> None:
    for kind, data in ((framed_messages, framed(*MESSAGES)), (bare_messages, b"".join(MESSAGES))):
        assert walk(kind, data[:-1], more=True) == (MESSAGES[:2], [])
    assert walk(delimited_messages, delimited(*MESSAGES)[:-1], more=True) == (MESSAGES[:2], [])


def test_the_beginning_of_a_cut_bare_message_is_kept() -> None:
    found, damage = walk(bare_messages, b"".join(MESSAGES)[:-1])
    assert found == [*MESSAGES[:2], MESSAGES[2][:-1]]
    assert not damage  # the reader of the message notes it


@pytest.mark.parametrize("hole", [4, 5, 7, 4096])
def test_a_hole_between_framed_messages_costs_nothing_else(hole: int) -> None:
    data = framed(MESSAGES[0]) + bytes(hole) + framed(*MESSAGES[1:])
    assert walk(framed_messages, data) == (MESSAGES, [DamageKind.NUL])


def test_a_wrong_length_costs_its_message_only() -> None:
    data = bytearray(framed(*MESSAGES))
    data[1] = 0xFF
    assert walk(framed_messages, bytes(data)) == (MESSAGES[1:], [DamageKind.PROTO])


def test_damage_tells_its_place() -> None:
    reading = Reading()
    reading.byte = 1000
    data = framed(MESSAGES[0]) + bytes(100)
    list(framed_messages(data, 0, len(data), reading))
    assert [damage.byte for damage in reading.damage] == [1000 + 4 + len(MESSAGES[0])]


@given(st.binary(max_size=300))
@pytest.mark.parametrize("kind", [framed_messages, delimited_messages, bare_messages])
def test_no_bytes_raise_or_give_places_outside(kind: Walk, data: bytes) -> None:
    for more in (False, True):
        end = 0
        for head, start, length in kind(data, 0, len(data), Reading(), more=more):
            assert end <= head <= start <= start + length <= len(data)
            end = start + length
