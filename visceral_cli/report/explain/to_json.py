"""Explanations as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence

from visceral_cli.report.explain.explanation import EXPLANATION_FORMAT, Explanation
from visceral_cli.report.to_json import plain_value


def as_json(what: str, explanations: Sequence[Explanation]) -> str:
    """Return the facts of each thing as one JSON document."""
    document = {
        "format": EXPLANATION_FORMAT,
        "what": what,
        "explanations": [
            {"kind": one.kind, "heading": one.heading}
            | ({"page": one.page} if one.page else {})
            | {name: plain_value(value) for name, value in one.facts.items()}
            for one in explanations
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
