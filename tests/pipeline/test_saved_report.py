"""Everything that an analysis can find, written as JSON and read back."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema

from visceral_cli.report.read_json import report_from_json
from visceral_cli.report.to_json import report_to_json
from visceral_cli.settings import ExtractSettings, Settings

SCHEMA = json.loads(
    (resources.files("visceral_cli.report") / "report.schema.json").read_text("utf-8")
)


def test_a_report_with_all_of_it_fits_its_schema_and_comes_back(analyze, tool_span):
    spans = []
    for i in range(400):
        order, at = i % 10, 100 * i
        told, then = {"state": i // 10}, {"state": i // 10 + 1}
        asked = {"order": order, "req": f"r-{i}"}
        spans += [
            tool_span(at, asked, i % 10, tool="search", run=i),
            tool_span(at + 1, {"order": order}, told, run=i, attributes={"user.id": f"u{i % 3}"}),
            tool_span(at + 2, {"order": order, "n": i}, "ok", tool="update_order", run=i),
            tool_span(at + 3, {"order": order}, then, run=i + 1000),
            *(
                tool_span(at + 4 + again, {}, {"at": 1_790_000_000 + again}, tool="clock", run=i)
                for again in (0, 1)
            ),
        ]
    report = analyze(spans, Settings(extract=ExtractSettings(keep_text=True)))
    assert report.vary
    assert report.unstable
    assert report.invalidations
    assert {one.scope for one in report.sharing} == {"run"}
    document = json.loads(json.dumps(report_to_json(report)))
    jsonschema.validate(document, SCHEMA)
    assert report_from_json(document) == report


def test_a_report_of_an_earlier_version_has_none_of_it(analyze, tool_span):
    spans = [tool_span(at, {"order": 1}, "same") for at in (0, 1)]
    document = report_to_json(analyze(spans))
    for key in ("vary", "sharing", "invalidations", "unstable"):
        del document[key]
    read = report_from_json(document)
    assert (read.vary, read.sharing, read.invalidations, read.unstable) == ((), (), (), ())
