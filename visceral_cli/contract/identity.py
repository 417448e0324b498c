"""The identity of a call: canonical JSON, input hash, content hash; contract version 1.

In go a tool's name, its declared version and its arguments; out comes the sha256 under which
equal calls meet. The same rules make the hashes that the Visceral SDK (``visceral-ai`` 0.2.5)
writes to its spans, so that recorded and computed hashes can be compared.

Canonical JSON is what Python's ``json`` writes with sorted keys, no spaces, ASCII only and NaN
refused. Numbers keep their kind: ``1``, ``1.0``, ``true`` and ``"1"`` are four values. It is not
RFC 8785: numbers and the order of keys differ there.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import json.encoder
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NewType

HASH_VERSION = 1
"""The version of the rules on this page; hashes of different versions never meet."""

InputHash = NewType("InputHash", str)
"""sha256 of an identity, 64 lower-case hex digits."""

ContentHash = NewType("ContentHash", str)
"""sha256 of a canonical result, 64 lower-case hex digits."""


class NotCanonical(ValueError):
    """The value has no canonical form; the message says why, never what the value is."""


def canonical_json(value: object) -> str:
    """Return the canonical JSON of an argument; other types than JSON's become their ``str()``.

    Tuples are arrays, subclasses count as their base type. Raises `NotCanonical` for NaN and
    infinity, keys that are not text, circular or too deeply nested values, integers beyond the
    interpreter's digit limit, and values whose ``str()`` fails.
    """
    return _canonical(value, _encode_any, _has_only_text_keys, "a key is not text")


def canonical_json_of_parsed(value: object) -> str:
    """Return the canonical JSON of what a JSON parser returned; same text, about twice as fast.

    Only for such values: keys are taken to be text without looking. The parser must keep ``1``
    and ``1.0`` apart and integers of any size exact (``json`` and ``msgspec`` do, ``orjson``
    does not). Raises `NotCanonical` for NaN and infinity, which ``json.loads`` accepts.
    """
    return _canonical(value, _encode_json, None, "")


def faithful_json(value: object) -> str:
    """Return the canonical JSON of a result, if reading it back gives an equal value.

    Allowed are exactly ``None``, ``bool``, ``int``, ``float``, ``str``, ``list`` and ``dict`` with
    ``str`` keys, checked by type and not by subclass: a tuple would come back as a list. Raises
    `NotCanonical` for everything else, and for what `canonical_json` refuses.
    """
    reason = "a type that JSON does not give back"
    return _canonical(value, _encode_json, _is_faithful, reason)


def content_hash(text: str) -> ContentHash:
    """Return the sha256 of ``text`` in UTF-8; equal hashes mean equal results.

    Canonical JSON is ASCII. In other text a lone surrogate is encoded as itself.
    """
    return ContentHash(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def content_hashes(texts: Iterable[str]) -> list[ContentHash]:
    """Return what `content_hash` does for each canonical JSON text."""
    sha256 = hashlib.sha256
    # Calling a NewType costs a tenth of the hash.
    digests: list[Any] = [sha256(text.encode("ascii")).hexdigest() for text in texts]
    return digests


def input_hash(
    tool: str,
    arguments: Mapping[str, object],
    *,
    vary: Sequence[str] | None = None,
    version: object = None,
) -> InputHash:
    """Return the identity of a call: sha256 of its tool, version and keyed arguments.

    ``vary`` names the arguments that count, in any order; without it all count, with an empty
    one none. Raises `NotCanonical` if a name is not among the arguments, if ``vary`` is one bare
    string, or if an argument that counts has no canonical JSON.
    """
    keyed = dict(arguments) if vary is None else _keyed(arguments, vary)
    return input_hash_of_text(tool, canonical_json(keyed), version=version)


def input_hash_of_text(
    tool: str, keyed_arguments_json: str, *, version: object = None
) -> InputHash:
    """Return the identity of a call whose keyed arguments are canonical JSON already.

    The text is taken as it is. Raises `NotCanonical` if ``version`` has no canonical JSON.
    """
    return input_hashes_of_texts(tool, (keyed_arguments_json,), version=version)[0]


def input_hashes_of_texts(
    tool: str, keyed_arguments_jsons: Iterable[str], *, version: object = None
) -> list[InputHash]:
    """Return the identities of calls of one tool; see `input_hash_of_text`."""
    version_json = "null" if version is None else canonical_json(version)
    end = f',"tool":{_quoted(tool)},"version":{version_json}}}'
    sha256 = hashlib.sha256
    digests: list[Any] = [  # calling a NewType costs a tenth of the hash
        sha256(f'{{"args":{text}{end}'.encode("ascii")).hexdigest()
        for text in keyed_arguments_jsons
    ]
    return digests


def hash_call(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    tool: str,
    vary: Sequence[str] | None = None,
    version: object = None,
) -> tuple[InputHash, str]:
    """Return the identity of a live call and the canonical JSON of all its arguments.

    Both or neither: raises `NotCanonical` also for an argument that ``vary`` leaves out, and if
    the arguments do not fit the function's signature.
    """
    arguments = bind_arguments(function, args, kwargs)
    arguments_json = canonical_json(arguments)
    if vary is None:
        return input_hash_of_text(tool, arguments_json, version=version), arguments_json
    return input_hash(tool, arguments, vary=vary, version=version), arguments_json


def bind_arguments(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments by parameter name, defaults applied.

    ``*args`` becomes a list under its own name, ``**kwargs`` an object under its own name; both
    are there when empty. Raises `NotCanonical` if the call does not fit the signature.
    """
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        # The interpreter's own message may quote a keyword of the caller.
        raise NotCanonical("the arguments do not fit the function") from None
    bound.apply_defaults()
    positional = inspect.Parameter.VAR_POSITIONAL
    return {
        name: list(value) if signature.parameters[name].kind is positional else value
        for name, value in bound.arguments.items()
    }


def _keyed(arguments: Mapping[str, object], vary: Sequence[str]) -> dict[str, object]:
    if isinstance(vary, str):
        raise NotCanonical("vary is one string, not a list of names")
    try:
        missing = [name for name in vary if name not in arguments]
    except TypeError:
        raise NotCanonical("vary is not a list of names") from None
    if missing:
        raise NotCanonical(f"vary names no argument of the call: {', '.join(map(str, missing))}")
    return {name: arguments[name] for name in vary}


def _encoder(default: Callable[[object], object] | None) -> Callable[[object], str]:
    """Return the encoder of canonical JSON; built once, since building costs as much as using."""
    plain = json.JSONEncoder(
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
        allow_nan=False,
        default=default,
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return plain.encode
    # The compiled encoder without the record of visited containers, which only serves to name a
    # cycle: here a cycle ends at the recursion limit. A third less time per call.
    pieces: Callable[[object, int], Iterable[str]]
    try:
        pieces = make(None, plain.default, _quoted, None, ":", ",", True, False, False)
    except TypeError:  # an interpreter that builds it in another way
        return plain.encode
    join = "".join
    return lambda value: join(pieces(value, 0))


_quoted = json.encoder.encode_basestring_ascii
_encode_any = _encoder(str)
_encode_json = _encoder(None)


def _canonical(
    value: object,
    encode: Callable[[object], str],
    accepts: Callable[[object], bool] | None,
    refusal: str,
) -> str:
    try:
        # Encoding comes first: it ends on a circular value, which walking over it would not.
        text = encode(value)
        if accepts is None or accepts(value):
            return text
        reason = refusal
    except ValueError:
        reason = "NaN, infinity or an integer beyond the digit limit"
    except RecursionError:
        reason = "circular or nested too deeply"
    except TypeError:
        reason = "a type without JSON form, or keys of mixed types"
    except Exception as error:  # noqa: BLE001 - str() of a foreign object may fail in any way
        reason = f"reading a value failed with {type(error).__name__}"
    # Raised outside of the handlers: the interpreter's own messages may quote the value.
    raise NotCanonical(reason)


_LEAVES = frozenset({type(None), bool, int, float, str})


def _has_only_text_keys(value: object) -> bool:
    """Whether every key in dicts, lists and tuples is text; ``value`` must not be circular."""
    waiting: list[Any] = [value]
    for item in waiting:  # the list grows under the loop: what a container holds comes later
        if type(item) in _LEAVES:
            continue
        if isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    return False
            waiting += item.values()
        elif isinstance(item, (list, tuple)):
            waiting += item
    return True


def _is_faithful(value: object) -> bool:
    """Whether all types are exactly JSON's; ``value`` must not be circular."""
    if type(value) in _LEAVES:
        return True
    waiting: list[Any] = [value]  # containers only: leaves are most of what there is
    for item in waiting:
        kind = type(item)
        if kind is dict:
            for key, inner in item.items():
                if type(key) is not str:
                    return False
                if type(inner) not in _LEAVES:
                    waiting.append(inner)
        elif kind is list:
            waiting += [inner for inner in item if type(inner) not in _LEAVES]
        else:
            return False
    return True
