"""A rules document without some of its rules."""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path


def text_without(rules_file: Path, withdrawn: Set[str]) -> str:
    """Return the document without the rules of these decision ids; all else stays as it was.

    The file must be one that ``rules.rules_file`` has read.
    """
    document = json.loads(rules_file.read_bytes())
    document["rules"] = [
        rule
        for rule in document["rules"]
        if not (isinstance(rule, dict) and rule.get("decision_id") in withdrawn)
    ]
    return json.dumps(document, indent=2) + "\n"
