import math

import pytest

from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.ingest.values import MAX_DEPTH, BadValue, any_value, read_attributes


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "a"}, "a"),
        ({"string_value": ""}, ""),
        ({"boolValue": False}, False),
        ({"intValue": "7"}, 7),
        ({"intValue": 7}, 7),
        ({"int_value": "9223372036854775807"}, 2**63 - 1),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"doubleValue": 900}, 900.0),
        ({"doubleValue": "1.5"}, 1.5),
        ({"doubleValue": "-Infinity"}, -math.inf),
        ({"doubleValue": None}, None),
        ({}, None),
        (None, None),
        ({"bytesValue": "AQI="}, b"\x01\x02"),
        ({"bytes_value": "-_8"}, b"\xfb\xff"),
        ({"arrayValue": {}}, []),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "1"}]}}, [1, "1"]),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}}, {"k": True}),
        ({"kvlist_value": {}}, {}),
    ],
)
def test_an_any_value_becomes_a_python_value_of_its_type(value: object, expected: object) -> None:
    found = any_value(value)
    assert found == expected
    assert type(found) is type(expected)


def test_nan_as_text_is_a_number_that_is_none() -> None:
    found = any_value({"doubleValue": "NaN"})
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "value",
    [
        {"intValue": "x"},
        {"intValue": "1_000"},
        {"intValue": 7.5},
        {"intValue": True},
        {"doubleValue": "nan?"},
        {"doubleValue": 10**400},
        {"boolValue": 1},
        {"stringValue": 5},
        {"bytesValue": "!"},
        {"arrayValue": {"values": 1}},
        {"kvlistValue": {"values": [{"value": {}}]}},
        {"stringValueStrindex": 3},
        [],
    ],
)
def test_a_value_of_a_wrong_type_is_refused(value: object) -> None:
    with pytest.raises(BadValue):
        any_value(value)


def test_a_bad_number_spoils_its_own_attribute_only() -> None:
    reading = Reading()
    pairs = [
        {"key": "a", "value": {"intValue": "7"}},
        {"key": "b", "value": {"intValue": "secret"}},
        {"key": "c", "value": {"arrayValue": {"values": [{"intValue": "y"}]}}},
        {"key": "d", "value": {"intValue": 7}},
    ]
    assert read_attributes(pairs, reading, "span attributes") == {"a": 7, "d": 7}
    assert [damage.what for damage in reading.damage] == [
        "span attributes: b: intValue is no integer; left out",
        "span attributes: c: intValue is no integer; left out",
    ]


def test_the_last_of_two_equal_keys_is_kept_and_noted() -> None:
    reading = Reading()
    pairs = [{"key": "k", "value": {"intValue": "1"}}, {"key": "k", "value": {"doubleValue": 1}}]
    assert read_attributes(pairs, reading, "span attributes") == {"k": 1.0}
    assert reading.damage_counts == {DamageKind.FIELD: 1}


def test_the_same_attribute_twice_is_no_damage() -> None:
    reading = Reading()
    pairs = [{"key": "k", "value": {"intValue": "1"}}, {"key": "k", "value": {"intValue": 1}}]
    assert read_attributes(pairs, reading, "span attributes") == {"k": 1}
    assert not reading.damage


def test_a_plain_map_is_taken_as_it_stands_without_its_padding() -> None:
    reading = Reading()
    pairs = {"a": 1, "b": None, "c": {"x": [None, 2**70]}}
    assert read_attributes(pairs, reading, "attributes") == {"a": 1, "c": {"x": [None, 2**70]}}


@pytest.mark.parametrize("pairs", ["text", 1, True])
def test_attributes_that_are_no_list_and_no_map_are_noted(pairs: object) -> None:
    reading = Reading()
    assert read_attributes(pairs, reading, "attributes") == {}
    assert reading.damage_counts == {DamageKind.FIELD: 1}


@pytest.mark.parametrize(
    ("depth", "damaged"), [(MAX_DEPTH - 1, 0), (MAX_DEPTH, 0), (MAX_DEPTH + 1, 1)]
)
def test_nesting_has_a_limit(depth: int, damaged: int) -> None:
    value: object = {"intValue": 1}
    plain: object = 1
    for _ in range(depth):
        value = {"arrayValue": {"values": [value]}}
    for _ in range(depth):
        plain = [plain]
    for pairs in ([{"key": "k", "value": value}], {"k": plain}):
        reading = Reading()
        attributes = read_attributes(pairs, reading, "attributes")
        assert len(reading.damage) == damaged
        assert len(attributes) == 1 - damaged
