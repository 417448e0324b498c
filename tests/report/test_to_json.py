from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from visceral_cli.analysis.figures import Projection, SharingStep
from visceral_cli.errors import InputError
from visceral_cli.report.read_json import read_report, report_from_json
from visceral_cli.report.report import DamagePlace, Report
from visceral_cli.report.to_json import report_to_json, write_json

SCHEMA = json.loads(
    (resources.files("visceral_cli.report") / "report.schema.json").read_text("utf-8")
)


def written(report: Report) -> bytes:
    out = io.BytesIO()
    write_json(report, out)
    return out.getvalue()


def without_nan(report: Report) -> Report:
    groups = tuple(
        replace(group, repeat_seconds=0.0) if math.isnan(group.repeat_seconds) else group
        for group in report.groups
    )
    return replace(report, groups=groups)


def test_the_json_report_is_the_golden_one(
    report: Report, golden: Callable[[str, bytes], None]
) -> None:
    golden("report.json", written(report))


def test_the_report_fits_its_schema(report: Report) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(written(report)), SCHEMA)


def test_the_schema_describes_every_field_and_no_other(report: Report) -> None:
    _compare(report_to_json(report), SCHEMA)


def _compare(value: Any, schema: dict[str, Any]) -> None:
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) <= set(schema["properties"])
        assert set(schema["required"]) <= set(value)
        for key, item in value.items():
            options = schema["properties"][key].get("anyOf", [schema["properties"][key]])
            _compare(item, options[0])
    elif isinstance(value, list):
        for item in value:
            _compare(item, schema["items"])


def _written_types() -> list[Any]:
    hints = (next(iter(get_args(hint)), hint) for hint in get_type_hints(Report).values())
    types = [kind for kind in hints if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    return [*types, DamagePlace, Projection, SharingStep]


@pytest.mark.parametrize("kind", _written_types())
def test_the_schema_has_the_fields_of_each_type_in_their_order(kind: Any) -> None:
    described = SCHEMA["$defs"][kind.__name__]["properties"]
    derived = ("copies_per_span", "duplicate_rate")
    assert list(kind.__struct_fields__) == [name for name in described if name not in derived]


def test_the_report_is_ascii_and_strict_json_without_nan(report: Report) -> None:
    def refuse(token: str) -> None:
        raise AssertionError(f"bare {token}")

    document = json.loads(written(report).decode("ascii"), parse_constant=refuse)
    assert document["groups"][1]["repeat_seconds"] is None


def test_a_hostile_name_is_whole_in_json_and_harmless_on_a_terminal(report: Report) -> None:
    text = written(report)
    assert json.loads(text)["tools"][2]["tool"] == report.tools[2].tool
    assert not any(byte < 0x20 and byte != 0x0A for byte in text)


def test_a_report_read_back_is_equal(report: Report, tmp_path: Path) -> None:
    report = without_nan(report)
    path = tmp_path / "report.json"
    path.write_bytes(written(report))
    assert read_report(path) == report


def test_writing_a_read_report_gives_the_same_bytes(report: Report) -> None:
    text = written(without_nan(report))
    assert written(report_from_json(json.loads(text))) == text


def test_keys_of_a_later_program_of_the_same_format_are_ignored(report: Report) -> None:
    document = json.loads(written(without_nan(report)))
    document["later"] = 1
    document["tools"][0]["later"] = "x"
    assert report_from_json(document) == without_nan(report)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=2), "a report of format 2, but this version reads 1"),
        (lambda d: d.pop("format"), "no visceral report"),
        (lambda d: d.pop("savings"), 'a report without "savings"'),
        (lambda d: d["tools"][0].update(calls="many"), r"tools: expected `int`, got `str`"),
        (lambda d: d["rules"].append(3), "rules: a member that is no rule"),
    ],
    ids=["newer format", "no format", "a part is missing", "a wrong type", "no rule"],
)
def test_what_is_no_report_is_refused_with_the_place(
    report: Report, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    document = json.loads(written(without_nan(report)))
    change(document)
    with pytest.raises(InputError, match=message):
        report_from_json(document)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"format": 1,')
    with pytest.raises(InputError, match=r"r\.json: not JSON"):
        read_report(tmp_path / "r.json")
    with pytest.raises(InputError, match="no such file"):
        read_report(tmp_path / "missing.json")
