import json
from dataclasses import replace
from pathlib import Path

import pytest

from visceral_cli.contract.acceptance import Inert
from visceral_cli.contract.identity import InputHash
from visceral_cli.contract.rule import Action, Guard, Match, Rule, RuleKind, RuleStatus
from visceral_cli.errors import ExitCode, UsageError
from visceral_cli.rules.rules_file import (
    load_rules,
    read_rules_file,
    rules_text,
    write_rules_file,
)

RULE = Rule(
    decision_id="r-3fa94c1b20de",
    kind=RuleKind.REUSE_IDENTITY,
    match=Match("größe.lesen", input_hash=InputHash("a" * 64), hash_v=1, namespace="shop"),
    guard=Guard(read_only=True, replay_safe=True),
    action=Action("reuse_cached_result", 600.0, 0.05),
    evidence={"calls": 84, "missing": None},
)
CANDIDATE = replace(RULE, decision_id="r-2", guard=Guard(False, False), status=RuleStatus.CANDIDATE)

WRITTEN = r"""{
  "format": 1,
  "rules": [
    {
      "decision_id": "r-3fa94c1b20de",
      "config": {
        "schema": 1,
        "rule_kind": "reuse_identity",
        "match": {
          "tool_name": "gr\u00f6\u00dfe.lesen",
          "namespace": "shop",
          "input_hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          "hash_v": 1
        },
        "guard": {
          "read_only": true,
          "replay_safe": true
        },
        "action": {
          "op": "reuse_cached_result",
          "freshness_seconds": 600,
          "verify_sample_rate": 0.05
        }
      },
      "evidence": {
        "calls": 84,
        "missing": null
      }
    }
  ]
}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rules.json"


def test_the_document_is_written_as_these_bytes(path):
    write_rules_file(path, [RULE])
    assert path.read_bytes() == WRITTEN.encode("ascii")
    assert rules_text([RULE]) == WRITTEN


def test_no_rules_are_a_document_too(path):
    write_rules_file(path, [])
    assert path.read_text() == '{\n  "format": 1,\n  "rules": []\n}\n'
    assert load_rules(path) == []


def test_what_was_written_reads_back_equal(path):
    write_rules_file(path, [RULE, CANDIDATE])
    read = read_rules_file(path)
    assert [entry.rule for entry in read] == [RULE, CANDIDATE]
    assert [entry.inert for entry in read] == [None, Inert.GUARD]


def test_a_candidate_is_read_and_never_loaded(path):
    write_rules_file(path, [CANDIDATE, RULE])
    assert load_rules(path) == [RULE]


def test_writing_replaces_the_file_and_leaves_nothing_beside_it(path):
    path.write_text("before")
    write_rules_file(path, [RULE])
    assert path.read_text() == WRITTEN
    assert list(path.parent.iterdir()) == [path]


def test_a_new_file_can_be_read_by_whom_the_umask_lets(path):
    beside = path.with_name("other")
    beside.write_text("")
    write_rules_file(path, [])
    assert path.stat().st_mode == beside.stat().st_mode


def test_writing_through_a_link_changes_what_it_points_to(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "rules.json")
    write_rules_file(link, [])
    assert link.is_symlink()
    assert load_rules(tmp_path / "rules.json") == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    place = tmp_path / "nowhere" / "rules.json"
    with pytest.raises(UsageError, match=r"nowhere.rules\.json: cannot be written: no such file"):
        write_rules_file(place, [RULE])


def test_a_failed_write_leaves_the_file_that_was_there(path):
    path.write_text("before")
    broken = replace(RULE, evidence={"rate": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        write_rules_file(path, [broken])
    assert path.read_text() == "before"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ":1: not JSON"),
        (b'{"format": 1,\n"rules": [\n', ":3: not JSON"),
        (b"\xff\xfe\x00", ": not JSON"),
        (b"[" * 100_000, ": not JSON"),
        (b"[]", ': no rules document: an object with a list "rules" is expected'),
        (b'{"format": 1}', ': no rules document: an object with a list "rules" is expected'),
        (
            b'{"rules": {"secret": 1}}',
            ': no rules document: an object with a list "rules" is expected',
        ),
        (b'{"format": 2, "rules": []}', ": format 2, but this version reads 1"),
        (
            b'{"format": "secret", "rules": []}',
            ": format of another kind, but this version reads 1",
        ),
    ],
)
def test_a_file_that_is_no_rules_document_is_wrong_usage(path, content, said):
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_rules_file(path)
    assert str(error.value) == f"{path}{said}"
    assert error.value.exit_code is ExitCode.USAGE


def test_a_missing_file_is_wrong_usage(path):
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        read_rules_file(path)


def test_a_document_of_the_hosted_backend_has_no_format_and_is_read(path):
    document = json.loads(WRITTEN)
    del document["format"]
    path.write_text(json.dumps(document))
    assert load_rules(path) == [RULE]


def one(**changes: object) -> bytes:
    rule = json.loads(WRITTEN)["rules"][0]
    for name, change in changes.items():
        part, _, member = name.partition("__")
        if member:
            rule["config"][part][member] = change
        elif part == "decision_id":
            rule[part] = change
        else:
            rule["config"][part] = change
    return json.dumps({"rules": [rule]}).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (one(match__hash_v=2), "rule r-3fa94c1b20de: hash_v 2, but this version writes 1"),
        (one(match__hash_v="1"), "rule r-3fa94c1b20de: no hash_v, but this version writes 1"),
        (
            one(guard__read_only=1),
            "rule r-3fa94c1b20de: its guard does not hold true for read_only and replay_safe",
        ),
        (one(schema=3), "rule r-3fa94c1b20de: no client would use it: schema"),
        (one(decision_id=None), "rule number 1: no client would use it: decision-id"),
        (b'{"rules": [7]}', "rule number 1: no client would use it: not-an-object"),
    ],
)
def test_a_rule_that_no_client_would_use_is_named(path, content, said):
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        load_rules(path)
    assert str(error.value) == f"{path}: {said}"
    assert len(read_rules_file(path)) == 1


@pytest.mark.parametrize("kind", ["stable_head", "of_next_year"])
def test_rules_of_other_readers_are_left_alone(path, kind):
    path.write_bytes(one(rule_kind=kind))
    assert load_rules(path) == []
