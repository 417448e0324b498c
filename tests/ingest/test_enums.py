import pytest

from visceral_cli.ingest.enums import span_kind, status_code
from visceral_cli.ingest.span import CLIENT, ERROR, OK, UNSET, DamageKind, Reading


@pytest.mark.parametrize("value", [3, "3", 3.0, "SPAN_KIND_CLIENT", "client", "SpanKind.CLIENT"])
def test_every_spelling_of_a_kind_is_known(value: object) -> None:
    reading = Reading()
    assert span_kind(value, reading) == CLIENT
    assert not reading.damage


@pytest.mark.parametrize(
    "value", [2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "StatusCode.ERROR"]
)
def test_every_spelling_of_an_error_is_known(value: object) -> None:
    reading = Reading()
    assert status_code(value, reading) == ERROR
    assert not reading.damage


def test_missing_is_unset_and_ok_is_ok() -> None:
    reading = Reading()
    assert [status_code(value, reading) for value in (None, "", 0, "Unset")] == [UNSET] * 4
    assert status_code("Ok", reading) == OK
    assert not reading.damage


@pytest.mark.parametrize("value", [6, -1, "6", "SPAN_KIND_INVALID_TYPE", True, 1.5, []])
def test_an_unknown_kind_is_unspecified_and_noted(value: object) -> None:
    reading = Reading()
    assert span_kind(value, reading) == 0
    assert reading.damage_counts == {DamageKind.FIELD: 1}


@pytest.mark.parametrize("value", [3, "NOT_A_STATUS", {}, float("nan")])
def test_an_unknown_status_is_unset_never_ok(value: object) -> None:
    reading = Reading()
    assert status_code(value, reading) == UNSET
    assert reading.damage_counts == {DamageKind.FIELD: 1}
