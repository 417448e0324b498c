"""The contract's golden files, where the corpus that holds them lies beside the project."""

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid

import pytest

from visceral_cli.contract.identity import (
    NotCanonical,
    canonical_json,
    content_hash,
    faithful_json,
    hash_call,
    input_hash,
)

CONTRACT = pathlib.Path(__file__).parents[3] / "shared" / "contract"


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Mode(str, enum.Enum):  # noqa: UP042 - the notation says so
    FAST = "fast"


@dataclasses.dataclass
class Point:
    x: int
    y: int


Pair = collections.namedtuple("Pair", "x y")


def cycle_list(_):
    value = []
    value.append(value)
    return value


def cycle_dict(_):
    value = {}
    value["self"] = value
    return value


def nested_list(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def pairs(value):
    return [(key, decoded(item)) for key, item in value]


def items(value):
    return [decoded(item) for item in value]


# How the golden files write what JSON cannot: {"$py": kind, "v": content}.
KINDS = {
    "float": float,
    "int": int,
    "pow10": lambda v: 10**v,
    "tuple": lambda v: tuple(items(v)),
    "set": lambda v: set(items(v)),
    "frozenset": lambda v: frozenset(items(v)),
    "bytes": bytes.fromhex,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda v: datetime.timedelta(seconds=v),
    "decimal": decimal.Decimal,
    "uuid": uuid.UUID,
    "posixpath": pathlib.PurePosixPath,
    "complex": complex,
    "range": lambda v: range(*v),
    "dict": lambda v: dict(pairs(v)),
    "ordereddict": lambda v: collections.OrderedDict(pairs(v)),
    "defaultdict": lambda v: collections.defaultdict(list, pairs(v)),
    "counter": lambda v: collections.Counter(dict(pairs(v))),
    "enum": lambda _: Color.RED,
    "intenum": lambda _: Level.LOW,
    "strenum": lambda _: Mode.FAST,
    "strsub": lambda v: type("Text", (str,), {})(v),
    "intsub": lambda v: type("Whole", (int,), {})(v),
    "floatsub": lambda v: type("Real", (float,), {})(v),
    "dictsub": lambda v: type("Map", (dict,), {})(pairs(v)),
    "listsub": lambda v: type("Row", (list,), {})(items(v)),
    "namedtuple": lambda v: Pair(*items(v)),
    "dataclass": lambda v: Point(*v),
    "cycle_list": cycle_list,
    "cycle_dict": cycle_dict,
    "nested_list": nested_list,
    "generator": lambda _: (x for x in ()),
    "ellipsis": lambda _: ...,
}


def decoded(value):
    if isinstance(value, list):
        return items(value)
    if isinstance(value, dict) and "$py" in value:
        return KINDS[value["$py"]](value["v"])
    if isinstance(value, dict):
        return {key: decoded(item) for key, item in value.items()}
    return value


def function_of(signature):
    """A function with the signature of the text, such as ``a, b=2``."""
    space = {}
    exec(f"def function({signature}): pass", space)
    return space["function"]


def answer(case):
    """What the code under test says to a case, in the form in which the file expects it."""
    try:
        match case["fn"]:
            case "compute_tool_hash":
                arguments = decoded(case["args"])
                return input_hash(
                    case["tool"], arguments, vary=case["vary"], version=case["version"]
                )
            case "hash_call":
                found, text = hash_call(
                    function_of(case["signature"]),
                    decoded(case["args"]),
                    decoded(case["kwargs"]),
                    tool=case["tool"],
                    vary=case["vary"],
                    version=case["version"],
                )
                return {"input_hash": found, "input_json": text}
            case "canonical_json":
                return canonical_json(decoded(case["value"]))
            case "canonical_output_json":
                text = faithful_json(decoded(case["value"]))
                return {"json": text, "sha256": content_hash(text)}
    except NotCanonical:
        return None


def golden_cases(name):
    """The cases of a file as parameters; one that is skipped by name where the file is missing."""
    path = CONTRACT / name
    if not path.is_file():
        skip = pytest.mark.skip(reason="shared corpus not present")
        return [pytest.param({}, id=name, marks=skip)]
    return [pytest.param(case, id=case["id"]) for case in json.loads(path.read_text())["cases"]]


@pytest.mark.parametrize(
    "case",
    golden_cases("tool_hash_goldens.json") + golden_cases("canonical_output_goldens.json"),
)
def test_every_golden_case_holds(case):
    assert answer(case) == case["expect"]


def test_the_golden_files_are_whole_and_their_equal_groups_share_a_hash(shared):
    inputs = json.loads((shared / "contract" / "tool_hash_goldens.json").read_text())
    outputs = json.loads((shared / "contract" / "canonical_output_goldens.json").read_text())
    assert (len(inputs["cases"]), len(outputs["cases"])) == (94, 36)
    assert set(KINDS) == {*inputs["notation"], *outputs["notation"]} - {"about"}

    answers = {case["id"]: answer(case) for case in inputs["cases"]}
    hashes = {
        name: found["input_hash"] if isinstance(found, dict) else found
        for name, found in answers.items()
    }
    assert inputs["equal_hash_groups"]
    for group in inputs["equal_hash_groups"]:
        assert len({hashes[name] for name in group}) == 1, group
        assert hashes[group[0]] is not None
