import pytest

from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.ingest.times import any_time, end_after, from_iso, nanoseconds, scaled

NS = 1_760_000_000_000_000_001


def damage_of(reading: Reading) -> list[str]:
    return [damage.what for damage in reading.damage]


@pytest.mark.parametrize("value", [NS, str(NS), "2025-10-09T08:53:20.000000001Z"])
def test_nanoseconds_stay_exact(value: object) -> None:
    reading = Reading()
    assert nanoseconds(value, reading, "t") == NS
    assert not reading.damage


@pytest.mark.parametrize("value", [None, "", "0", 0])
def test_a_missing_time_is_no_damage(value: object) -> None:
    reading = Reading()
    assert nanoseconds(value, reading, "t") is None
    assert any_time(value, reading, "t") is None
    assert not reading.damage


def test_a_float_is_taken_and_marked_approximate() -> None:
    reading = Reading()
    assert nanoseconds(1.76e18, reading, "t") == 1_760_000_000_000_000_000
    assert damage_of(reading) == ["t is a float; its nanoseconds are approximate"]


def test_milliseconds_in_a_nanosecond_field_are_read_as_such_and_noted() -> None:
    reading = Reading()
    assert nanoseconds("1700000078000", reading, "t") == 1_700_000_078_000_000_000
    assert nanoseconds(1_700_000_078_000_500, reading, "t") == 1_700_000_078_000_500_000
    assert damage_of(reading) == [
        "t holds milliseconds; read as such",
        "t holds microseconds; read as such",
    ]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("x", "t is no number; left out"),
        (True, "t is no number; left out"),
        ([], "t is no number; left out"),
        (float("nan"), "t is no number; left out"),
        (-1, "t is out of range; left out"),
        (2**63, "t is out of range; left out"),
        ("9" * 70, "t is out of range; left out"),
    ],
)
def test_nonsense_is_left_out_and_noted(value: object, what: str) -> None:
    reading = Reading()
    assert nanoseconds(value, reading, "t") is None
    assert damage_of(reading) == [what]


def test_the_largest_time_is_kept() -> None:
    assert nanoseconds(2**63 - 1, Reading(), "t") == 2**63 - 1


def test_a_tiny_time_is_kept_and_noted() -> None:
    reading = Reading()
    assert nanoseconds("1234", reading, "t") == 1234
    assert reading.damage_counts == {DamageKind.FIELD: 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-04-30T20:40:30.366638Z", 1_714_509_630_366_638_000),
        ("2023-01-16T16:46:52.800307738Z", 1_673_887_612_800_307_738),
        ("2024-01-01 00:00:00.123456", 1_704_067_200_123_456_000),
        ("2024-01-01T01:00:00+01:00", 1_704_067_200_000_000_000),
        ("2023-12-31T23:30:00-0030", 1_704_067_200_000_000_000),
        ("2024-01-01 00:00:00 UTC", 1_704_067_200_000_000_000),
        ("2024-02-29T00:00Z", 1_709_164_800_000_000_000),
    ],
)
def test_iso_times_are_read_to_the_last_digit(text: str, expected: int) -> None:
    reading = Reading()
    assert from_iso(text, reading, "t") == expected
    assert any_time(text, reading, "t") == expected
    assert not reading.damage


def test_a_time_that_go_never_set_is_none() -> None:
    reading = Reading()
    assert from_iso("0001-01-01T00:00:00Z", reading, "t") is None
    assert not reading.damage


@pytest.mark.parametrize("text", ["yesterday", "2024-13-01T00:00:00Z", "1969-12-31T23:59:59Z", 5])
def test_an_impossible_iso_time_is_left_out_and_noted(text: object) -> None:
    reading = Reading()
    assert from_iso(text, reading, "t") is None
    assert reading.damage_counts == {DamageKind.FIELD: 1}


@pytest.mark.parametrize(
    "value",
    [1_700_000_000, 1_700_000_000.0, "1700000000", 1_700_000_000_000, 1_700_000_000_000_000],
)
def test_a_number_without_a_unit_is_read_in_the_unit_that_makes_sense(value: object) -> None:
    reading = Reading()
    assert any_time(value, reading, "t") == 1_700_000_000_000_000_000
    assert not reading.damage


def test_seconds_with_a_fraction_keep_what_the_float_holds() -> None:
    found = any_time(1_700_000_000.25, Reading(), "t")
    assert found == 1_700_000_000_250_000_000


def test_a_scaled_number_is_exact_where_it_is_whole() -> None:
    assert scaled(1_771_237_536_879_614, 1000, Reading(), "t") == 1_771_237_536_879_614_000
    assert scaled("57091", 1000, Reading(), "t") == 57_091_000
    assert scaled(357.292, 1000, Reading(), "t") == 357_292
    assert scaled(2**62, 1000, Reading(), "t") is None


def test_an_end_beyond_all_time_is_none() -> None:
    assert end_after(2**63 - 2, 1) == 2**63 - 1
    assert end_after(2**63 - 2, 2) is None
    assert end_after(None, 2) is None
