import enum
import itertools
import json
import math
import subprocess
import sys
from collections import Counter, OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visceral_cli.contract.identity import (
    NotCanonical,
    canonical_json,
    canonical_json_of_parsed,
    content_hash,
    faithful_json,
    hash_call,
    input_hash,
    input_hash_of_text,
)

Pair = namedtuple("Pair", "x y")


class Level(enum.IntEnum):
    LOW = 1


class Mode(str, enum.Enum):  # noqa: UP042 - StrEnum has another str()
    FAST = "fast"


class Color(enum.Enum):
    RED = 1


class Text(str):
    __slots__ = ()


@dataclass
class Point:
    x: int
    y: int


class Silent:
    def __str__(self) -> str:
        raise LookupError("secret")


# The hashes were computed by ``visceral-ai`` 0.2.5, not by the code under test.
ARGUMENTS = [
    ({}, "000315ef51267e540b17ebf80ad4bc738149b2b6337382f9bb377d530bb6652b"),
    ({"x": 1}, "dbdb37712ba90a22360e9f8f3faef4a14289adcdb65bfb754c6b8cf2cd3525fc"),
    ({"x": 1.0}, "0bcb102d6a1ee090780b6d742f3da06b457847c1acf6d4bca19ac5537bae9ed8"),
    ({"x": True}, "7e634f46c4153f1411ae951f169f425a07cf290c1998576d4d85a31edd82edcf"),
    ({"x": "1"}, "21ff368154b20d1cde5375ef8ae98df8d7fe6b5b24478fdd64f538a566b0ad1c"),
    ({"x": None}, "bacf13b1d145c46f82bce3ad139e7459b5b01d282228ed5ed2685a7c5e9d58c7"),
    ({"x": ""}, "2278097eceeb038608d5237863838de9cb9c2bcd0f7f97ef887a890001388126"),
    ({"x": -0.0}, "f29958e60d8dbf4ce611253e233c4dc719ddfbb94fb360f3bbcc809fb2a914e3"),
    ({"x": 0.0}, "edf032cca6ace2b7dbb57f0bef990392c6e87e54e1f749c807a8bac20d4861ab"),
    ({"x": 0}, "19012e069dc2b9a4ad6758b6d6e92c4512cc301c520690cac7682d2b09132d3f"),
    ({"x": 0.1 + 0.2}, "dd68cb438472beac8fe1ad159ffd4dc79c17b90204dc3f6ce8c8c4132e195d0b"),
    ({"x": 1e15}, "40852c8c5f634423316ce48adf2ce48b89a5d484d2751f1562471dcb74d880ee"),
    ({"x": 1e16}, "1c69db0823f1ebaae1fdfddecfc58b1eda7580136002c4a5005afc2200fd2a9b"),
    ({"x": 1e-05}, "e52dbf382ca83f2eabbfb2647e95396421c097bf843f156f85b38bfaeaf295e6"),
    ({"x": 5e-324}, "4e6dbfdb666b405f8d792984a2debe102850a441d4e8935b70682716dd56bc80"),
    ({"x": 9007199254740993}, "6b8aae8f7e19026559821b8963b4241470d8fa15bd0e0dc02dc48935273f3c06"),
    (
        {"x": 18446744073709551616},
        "1465eacec909dda8f6982b58cd690b2f2f197ab8c4c03e75ad5849eb8d3fc768",
    ),
    ({"x": -(10**30)}, "4736015b38c7982da6bdc741e328687c852e1fc16e4806f1775013741f457b87"),
    ({"q": "é"}, "72d1988a5ccebc204ff8b677124b2587ee23dc200f0608aeed9b4a1d349d8625"),
    ({"q": "e\u0301"}, "7dddea27ef6ab734bdbfb7332ff23d2042a73f890236ff2c6b93ee1a904d7d20"),
    ({"q": "😀"}, "a55b4789c8932e27418282106410701b6b5c6b8cc853d2f76e187e23ab9dd856"),
    ({"q": "\ud800"}, "af526687072f2e9e3b4747603967a231ee91d0ef05b8c59d023d6158202c6f9e"),
    (
        {"q": 'a\x00\b\t\n\f\r"\\/\x7f\u2028'},
        "202c58578d7dba42e381e66776b4775359fec2e2d603f2092be00898119588af",
    ),
    ({"q": " a  b\t"}, "d046d9ba41387d30b0eaa73a4cbf138f7382f205a5085397cdf0fb88d43423ea"),
    ({"b": 2, "a": 1}, "39fc3ce38e260424932d4ee7e9a8e353df1d541a99180ccb7d46bace171d577d"),
    ({"\uffff": 1, "😀": 2}, "e8386973de022207e0063df230ccda91a1310daa9ef752185c239ce09cc7560b"),
    ({"x": [1, 2]}, "f0955450383184e9bef0aca3851e9f18ca51b3c601ec3ff10ec4d61006cfcbb7"),
    ({"x": [2, 1]}, "bf8138a5e885e1730101f228f3574238f35c912b88fef31c39dbf150a4f136f2"),
    ({"x": []}, "dfd8550ba02fe1d5eaf7a739246820383b0e1ac9597846b1d6341a67d3018703"),
    ({"x": {}}, "7cdf37c73f884273e45a85bb36f96fdd0c7036d8f6d8911ab5b8695caee8fceb"),
    (
        {"x": {"b": {"d": 1, "c": 2}, "a": [None]}},
        "7c176d58847298b42318f63655cf4e61dcb9f2e994640c921d99e0722b4467ad",
    ),
    ({"": 0}, "3ba44a126849c361bcf1da7e4e2448af30335caef80def81f54e3edd9da1e5fa"),
    (
        {"at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)},
        "7ea306bac6b8d2cd7b57cde09c74150984413494382489a315f88a51e5f028fb",
    ),
    ({"on": date(2026, 1, 2)}, "e8db9b4aef437a58509e635e01485bdc8684fe13fc265ecb5799e821bff9a97f"),
    (
        {"for": timedelta(days=1, seconds=3661)},
        "d0df81490ab6a2ce166c2c49c9afcd99586962f1e7b8dda31abc2855a5d0dadb",
    ),
    ({"x": Decimal("1.10")}, "3e3af7bf367107ed0df5e309a53546188260fca82c72ccce37216937d70ed7a9"),
    ({"x": Decimal("NaN")}, "fa51919327f00df86225166029467bf6f5aa96435ec4c734fc08934206af3d6a"),
    ({"x": UUID(int=1)}, "5d44190c6c100372c2611e0ee3aaa05eac1f9b01be1bdc4bbfaa3fc7b30818cf"),
    ({"x": b"ab"}, "8e002de23f8246fe90cedc906d75a0a126e996eb326fe571b79b4229c86bf2e2"),
    ({"x": {1}}, "950d24bf99a91052ca5946c70d2eaca99d2b48a1dd1030f33e35fc8e1715667f"),
    ({"x": 1 + 2j}, "f7a76ee5665eae626a706b0310d79294e2649230a3d8bda5ee033dcd8495b6c6"),
    (
        {"x": PurePosixPath("/a")},
        "30b43d25fa276adf01cfb79e08610d27e91323696947648a1d715bf6c01898c8",
    ),
    ({"x": Color.RED}, "b866f990680149ada01fd4a577729cdf04b5dfeb9c4492c4c4111e50e2519aba"),
    ({"x": Mode.FAST}, "7694526951eab5f9409996e746167ebeb7aba8f08dd102d310fce0b8ab8a988b"),
]


def cycle() -> list[object]:
    value: list[object] = []
    value.append({"self": value})
    return value


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(("arguments", "expected"), ARGUMENTS)
def test_the_identity_of_a_call_is_the_one_the_sdk_writes(arguments, expected):
    assert input_hash("t", arguments) == expected


def test_every_argument_of_the_table_has_an_identity_of_its_own():
    assert len({expected for _, expected in ARGUMENTS}) == len(ARGUMENTS)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((1, 2), [1, 2]),
        (Pair(1, 2), [1, 2]),
        (Level.LOW, 1),
        (Mode.FAST, "fast"),
        (Text("a"), "a"),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (Counter(a=2), {"a": 2}),
        ({Text("a"): 1}, {"a": 1}),
        (Point(1, 2), "Point(x=1, y=2)"),
        (b"ab", "b'ab'"),
        (range(3), "range(0, 3)"),
        (..., "Ellipsis"),
        (datetime(2026, 1, 2, 3, 4, 5, 1, UTC), "2026-01-02 03:04:05.000001+00:00"),
    ],
)
def test_values_with_one_json_form_share_an_identity(left, right):
    assert canonical_json({"x": left}) == canonical_json({"x": right})


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (None, "dbdb37712ba90a22360e9f8f3faef4a14289adcdb65bfb754c6b8cf2cd3525fc"),
        ("", "d67b5fb98d920d85fa6f2e7cb2246de87bcf0faab81d3e8583f421c38da0b575"),
        ("2", "9a0f2220fc6e765de87dcf14b250a71ae66ca1b0902699dbff34215d9df64299"),
        (2, "ce4ebf73d63f35221445abd8661f67d2d2f1dddc880672ac641dade4d3741f63"),
        (1.0, "292a6d57bd0807189ef033b1603574f04a778e666cde5949601a4edf730db054"),
        (True, "4c4c4b5d4816bc65ea135bbd45e7b24c95477bbdd06b00a0825154d3ddd10bc0"),
    ],
)
def test_the_version_is_part_of_the_identity_with_its_type(version, expected):
    assert input_hash("t", {"x": 1}, version=version) == expected
    assert input_hash_of_text("t", '{"x":1}', version=version) == expected


def test_the_tool_is_part_of_the_identity_outside_ascii_too():
    expected = "f3431e3b923b2b2715598ac2390cca909501cdf3410ae64ef012feebb304161e"
    assert input_hash("größe.lesen", {"x": 1}) == expected
    assert input_hash_of_text("größe.lesen", '{"x":1}') == expected


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [{"y": -math.inf}],
        {1: "a"},
        {None: "a"},
        {True: "a"},
        [({1: "a"},)],
        {"a": {"b": {1.5: 0}}},
        {1: 1, "1": 2},
        10**5000,
        cycle(),
        nested(100_000),
        Silent(),
    ],
    ids=[
        "nan",
        "infinity deep inside",
        "integer key",
        "null key",
        "boolean key",
        "integer key inside a tuple",
        "float key deep inside",
        "mixed keys",
        "integer of 5001 digits",
        "circular",
        "nested too deeply",
        "str() fails",
    ],
)
def test_a_value_without_canonical_json_is_refused_without_being_told(value):
    with pytest.raises(NotCanonical) as refusal:
        canonical_json({"x": value})
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("text", ["NaN", '{"a":[Infinity]}', "1E400"])
def test_what_the_parser_accepts_beyond_json_is_refused(text):
    with pytest.raises(NotCanonical):
        canonical_json_of_parsed(json.loads(text))


def test_an_encoder_can_be_used_again_after_a_refusal():
    value = cycle()
    for _ in range(3):
        with pytest.raises(NotCanonical):
            canonical_json(value)
        with pytest.raises(NotCanonical):
            faithful_json(value)
    value.clear()
    assert canonical_json(value) == "[]"
    assert faithful_json(value) == "[]"


@pytest.mark.parametrize(
    ("vary", "same_as"),
    [
        (None, {"a": 1, "b": 2, "noise": "n"}),
        (["b", "a"], {"a": 1, "b": 2}),
        (("a", "b", "a"), {"a": 1, "b": 2}),
        (["a"], {"a": 1}),
        ([], {}),
    ],
)
def test_vary_keeps_the_named_arguments(vary, same_as):
    arguments = {"a": 1, "b": 2, "noise": "n"}
    assert input_hash("t", arguments, vary=vary) == input_hash("t", same_as)


@pytest.mark.parametrize("vary", [["a", "nope"], "a", [["a"]], 7])
def test_vary_that_names_no_argument_is_refused(vary):
    with pytest.raises(NotCanonical):
        input_hash("t", {"a": 1}, vary=vary)


def test_an_argument_that_vary_leaves_out_is_not_looked_at_by_input_hash():
    assert input_hash("t", {"a": 1, "b": math.nan}, vary=["a"]) == input_hash("t", {"a": 1})


def test_any_mapping_may_hold_the_arguments():
    assert input_hash("t", MappingProxyType({"x": 1})) == input_hash("t", {"x": 1})


# Binding: a signature, positional and keyword arguments, and the text of all bound arguments.

BOUND = [
    (lambda a, b=2: None, [1], {}, '{"a":1,"b":2}'),
    (lambda a, b=2: None, [], {"a": 1}, '{"a":1,"b":2}'),
    (lambda a, b=2: None, [], {"b": 2, "a": 1}, '{"a":1,"b":2}'),
    (lambda a, /, b: None, [1, 2], {}, '{"a":1,"b":2}'),
    (lambda a, *, b: None, [1], {"b": 2}, '{"a":1,"b":2}'),
    (lambda a, b=None: None, [1], {}, '{"a":1,"b":null}'),
    (lambda a, *rest: None, [1, 2, 3], {}, '{"a":1,"rest":[2,3]}'),
    (lambda a, *rest: None, [1], {}, '{"a":1,"rest":[]}'),
    (lambda a, **more: None, [1], {}, '{"a":1,"more":{}}'),
    (lambda *args, **kwargs: None, ["x"], {"k": 3}, '{"args":["x"],"kwargs":{"k":3}}'),
    (lambda x=0: None, [-0.0], {}, '{"x":-0.0}'),
    (lambda at: None, [datetime(2026, 1, 2, tzinfo=UTC)], {}, '{"at":"2026-01-02 00:00:00+00:00"}'),
]


@pytest.mark.parametrize(("function", "args", "kwargs", "expected"), BOUND)
def test_arguments_are_bound_to_their_names(function, args, kwargs, expected):
    found, text = hash_call(function, args, kwargs, tool="t")
    assert text == expected
    assert found == input_hash("t", json.loads(expected))


def test_a_bound_method_has_no_self_among_its_arguments_and_a_plain_function_has():
    class Shop:
        def price(self, article):
            return article

    assert hash_call(Shop().price, ["a"], {}, tool="t")[1] == '{"article":"a"}'
    assert hash_call(Shop.price, ["shop", "a"], {}, tool="t")[1] == (
        '{"article":"a","self":"shop"}'
    )


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "vary"),
    [
        (lambda a, /, b: None, [], {"a": 1, "b": 2}, None),
        (lambda a: None, [1, 2], {}, None),
        (lambda a: None, [], {}, None),
        (lambda a: None, [1], {"zz": 1}, None),
        (lambda a, **more: None, [1], {"z": 1}, ["a", "z"]),
        (lambda a: None, [1], {}, ["b"]),
        (lambda a: None, [1], {}, "a"),
        (lambda a, b: None, [1, math.nan], {}, ["a"]),
        (lambda m: None, [{1: "a"}], {}, None),
        (lambda a, m: None, [1, {1: "a"}], {}, ["a"]),
        (dict.fromkeys, [1, 2, 3], {}, None),
    ],
    ids=[
        "positional only, by name",
        "one too many",
        "one missing",
        "unknown keyword",
        "vary names a key inside **more",
        "vary names no parameter",
        "vary is one string",
        "NaN where vary does not look",
        "integer key",
        "integer key where vary does not look",
        "call that fits no signature",
    ],
)
def test_a_call_has_identity_and_text_or_neither(function, args, kwargs, vary):
    with pytest.raises(NotCanonical):
        hash_call(function, args, kwargs, tool="t", vary=vary)


def test_vary_may_name_the_parameter_that_gathers_keywords():
    found, text = hash_call(lambda a, **more: None, [1], {"z": 1}, tool="t", vary=["more"])
    assert text == '{"a":1,"more":{"z":1}}'
    assert found == input_hash("t", {"more": {"z": 1}})


# Results.

FAITHFUL = [
    (None, "null"),
    (True, "true"),
    (0, "0"),
    (1.0, "1.0"),
    (1e16, "1e+16"),
    ("", '""'),
    ('{"a":1}', '"{\\"a\\":1}"'),
    ("\ud800", '"\\ud800"'),
    ([], "[]"),
    ({"b": [1, 2], "a": {"z": 1.5}}, '{"a":{"z":1.5},"b":[1,2]}'),
]


@pytest.mark.parametrize(("value", "expected"), FAITHFUL)
def test_a_faithful_result_has_canonical_json(value, expected):
    assert faithful_json(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        Pair(1, 2),
        {1},
        b"a",
        datetime(2026, 1, 2, tzinfo=UTC),
        Decimal(1),
        UUID(int=1),
        Color.RED,
        Level.LOW,
        Mode.FAST,
        Text("a"),
        OrderedDict(a=1),
        Counter(a=1),
        Point(1, 2),
        range(3),
        ...,
        iter([]),
        {1: "a"},
        {None: 1},
        {Text("a"): 1},
        math.nan,
        math.inf,
        pytest.param(10**5000, id="integer of 5001 digits"),
    ],
)
def test_a_result_that_json_would_change_is_refused_at_any_depth(value):
    for wrapped in (value, [value], {"rows": [0, value]}, {"a": {"b": value}}):
        with pytest.raises(NotCanonical):
            faithful_json(wrapped)


@pytest.mark.parametrize("value", [cycle(), nested(100_000)], ids=["circular", "too deep"])
def test_a_result_without_end_is_refused(value):
    with pytest.raises(NotCanonical):
        faithful_json(value)


def test_the_content_hash_is_the_sha256_of_the_text():
    assert content_hash('{"id":"c-1","v":1.0}') == (
        "58646c6a52971e83ec5c016e3b9548d7a6930cbc603308c920bef7b6902db927"
    )
    assert content_hash("null") == (
        "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"
    )


def test_text_with_a_lone_surrogate_has_a_content_hash_of_its_own():
    assert len({content_hash(text) for text in ("\ud800", "\ud801", "?", "\ufffd")}) == 4


# Properties, against a reference written from the description and not from ``json``.

SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def reference_text(text: str) -> str:
    return '"' + "".join(reference_character(character) for character in text) + '"'


def reference_character(character: str) -> str:
    if character in SHORT:
        return SHORT[character]
    if " " <= character <= "~":
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def reference(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return reference_text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(reference, value)) + "]"
    if isinstance(value, dict):
        members = sorted(value.items())
        return "{" + ",".join(f"{reference_text(k)}:{reference(v)}" for k, v in members) + "}"
    return reference_text(str(value))


text = st.text(st.characters(exclude_categories=[]), max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers() | st.integers(-(2**70), 2**70)
json_values = st.recursive(
    st.none() | st.booleans() | integers | finite | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
argument_values = st.recursive(
    json_values | st.datetimes() | st.decimals() | st.uuids() | st.binary(max_size=5),
    lambda inner: st.tuples(inner, inner) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(argument_values)
def test_canonical_json_is_that_of_the_reference(value):
    assert canonical_json(value) == reference(value)


@settings(deadline=None)
@given(json_values)
def test_the_three_ways_to_canonical_json_agree_on_json_values(value):
    expected = reference(value)
    assert canonical_json(value) == expected
    assert canonical_json_of_parsed(value) == expected
    assert faithful_json(value) == expected


@settings(deadline=None)
@given(json_values)
def test_canonical_json_read_back_is_equal_and_canonical_again(value):
    read = json.loads(canonical_json(value))
    # A pair of lone surrogates reads back as the one character that it spells.
    assert canonical_json(read) == canonical_json(json.loads(json.dumps(value)))


@settings(deadline=None)
@given(st.dictionaries(text, json_values, max_size=4), text, st.none() | text)
def test_hashing_the_arguments_and_hashing_their_text_agree(arguments, tool, version):
    text_of_arguments = canonical_json(arguments)
    whole = content_hash(reference({"tool": tool, "version": version, "args": arguments}))
    assert input_hash(tool, arguments, version=version) == whole
    assert input_hash_of_text(tool, text_of_arguments, version=version) == whole


@settings(deadline=None)
@given(st.dictionaries(text, json_values, min_size=2, max_size=4), st.randoms())
def test_the_order_of_arguments_does_not_change_the_identity(arguments, random):
    names = list(arguments)
    random.shuffle(names)
    shuffled = {name: arguments[name] for name in names}
    assert input_hash("t", shuffled) == input_hash("t", arguments)


def wrappings(value: object) -> Iterator[object]:
    yield from ({"k": value}, [value], (value,), {"k": [({"k": value},)]})


@settings(deadline=None)
@given(st.dictionaries(st.integers() | st.booleans() | st.none(), st.none(), min_size=1))
def test_a_key_that_is_not_text_is_refused_wherever_it_is(value):
    for wrapped in itertools.chain([value], wrappings(value)):
        with pytest.raises(NotCanonical):
            canonical_json(wrapped)


def test_the_plain_encoder_writes_the_same_where_the_compiled_one_is_missing():
    program = (
        "import json.encoder\n"
        "json.encoder.c_make_encoder = None\n"
        "from visceral_cli.contract.identity import canonical_json, input_hash, faithful_json\n"
        "assert input_hash('t', {'x': 1}).startswith('dbdb37712ba90a22')\n"
        "assert canonical_json({'b': (1.0, {'é': None}), 'a': {2}}) == "
        '\'{"a":"{2}","b":[1.0,{"\\\\u00e9":null}]}\'\n'
        "assert faithful_json([True]) == '[true]'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
