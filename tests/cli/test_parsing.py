from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from visceral_cli.cli.durations import parse_duration
from visceral_cli.cli.shares import parse_share
from visceral_cli.cli.times import parse_time
from visceral_cli.cli.wrong_value import WrongValue


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("10m", 600),
        ("1.5h", 5400),
        ("2d", 172800),
        (" 10 m ", 600),
        (".5s", 0.5),
        ("0", 0),
        (90, 90),
        (1.5, 1.5),
    ],
)
def test_a_duration_has_a_unit_or_is_seconds(given: object, seconds: float) -> None:
    assert parse_duration(given) == seconds


@pytest.mark.parametrize(
    "given", ["10 minutes", "-5s", "", "1h30m", "1e3", "nan", -1, float("inf"), True, ["10m"], "٣s"]
)
def test_what_is_no_duration_is_refused_with_the_fix(given: object) -> None:
    with pytest.raises(WrongValue) as caught:
        parse_duration(given)
    assert caught.value.hint == "write 90s, 10m, 1.5h or 2d"


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ("20%", 0.2),
        ("0.2", 0.2),
        (0.2, 0.2),
        ("100%", 1),
        ("1", 1),
        (1, 1),
        ("0", 0),
        (" 5 % ", 0.05),
    ],
)
def test_a_share_is_a_percentage_or_a_part_of_one(given: object, share: float) -> None:
    assert parse_share(given) == pytest.approx(share, abs=1e-15)


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ("20", "20 is above 1", "write 20% or 0.2"),
        (20, "20 is above 1", "write 20% or 0.2"),
        ("1.5", "1.5 is above 1", "write 1.5% or 0.015"),
        ("150%", "150% is above 100%", None),
        ("-1%", "-1% is no share", "write 20% or 0.2"),
        ("nan", "nan is no share", "write 20% or 0.2"),
        ("much", '"much" is no share', "write 20% or 0.2"),
        (True, "true or false is no share", "write 20% or 0.2"),
    ],
)
def test_a_bare_20_is_refused_with_the_fix(given: object, message: str, hint: str | None) -> None:
    with pytest.raises(WrongValue) as caught:
        parse_share(given)
    assert (str(caught.value), caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("given", "time_ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-05-04T12:00:00Z", 1_777_896_000_000_000_000),
        ("2026-05-04t14:00:00.000000001+02:00", 1_777_896_000_000_000_001),
        ("2026-05-04", 1_777_852_800_000_000_000),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
        (datetime(2026, 5, 4, 12, tzinfo=UTC), 1_777_896_000_000_000_000),
        (date(2026, 5, 4), 1_777_852_800_000_000_000),
    ],
)
def test_a_time_is_exact_to_the_nanosecond(given: object, time_ns: int) -> None:
    assert parse_time(given) == time_ns


@pytest.mark.parametrize("given", ["yesterday", "2026-13-01", "12:00", 3, "2026-05-04T25:00:00Z"])
def test_what_is_no_time_is_refused(given: object) -> None:
    with pytest.raises(WrongValue) as caught:
        parse_time(given)
    assert caught.value.hint == "write an RFC 3339 time such as 2026-05-04T12:00:00Z"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(WrongValue, match="has no zone") as caught:
        parse_time("2026-05-04T12:00:00")
    assert caught.value.hint == "write 2026-05-04T12:00:00Z for UTC, or a zone as +02:00"
