"""Every public table, view and column of a store is explained where it is defined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import visceral_cli

PACKAGE = Path(visceral_cli.__file__).parent
FILES = sorted(set(PACKAGE.rglob("*.sql")) - set((PACKAGE / "runtime").rglob("*.sql")))
OBJECT = re.compile(r"^CREATE ", re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_says_what_it_reads_and_defines(path):
    first = path.read_text().splitlines()[0]
    assert first.startswith("-- ")
    assert "Defines" in path.read_text().split("\n\n")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_above_every_object_stands_what_one_row_is(path):
    paragraphs = path.read_text().split("\n\n")
    for paragraph in paragraphs:
        if OBJECT.search(paragraph):
            assert paragraph.lstrip().startswith("-- "), paragraph


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_holds_definitions_only(path):
    code = re.sub("--.*", "", path.read_text())
    for statement in code.split(";"):
        assert not statement.strip() or statement.strip().startswith("CREATE "), statement
