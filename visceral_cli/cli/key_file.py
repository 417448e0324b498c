"""Workspace keys: text in, AES-256 keys by key id out. No error ever shows a key."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from visceral_cli.cli.wrong_value import WrongValue
from visceral_cli.errors import UsageError

KEY_BYTES = 32

_HINT = "a line is key_id=BASE64, or the base64 text of one key of 32 bytes alone"


def read_key_file(path: Path) -> dict[str, bytes]:
    """Return the keys of a file, one a line; ``#`` begins a comment."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
        raise UsageError(f"{path}: not UTF-8 text", hint=_HINT) from None
    keys: dict[str, bytes] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        try:
            keys |= parse_keys(bare)
        except WrongValue as wrong:
            raise UsageError(f"{path}:{number}: {wrong}", hint=wrong.hint) from None
    if not keys:
        raise UsageError(f"{path}: no key in this file", hint=_HINT)
    return keys


def parse_keys(given: object) -> dict[str, bytes]:
    """Return ``{key id: key}`` of one line; a key without an id has the id ""."""
    text = given.strip() if isinstance(given, str) else ""
    whole = _key_of(text)
    if whole is not None:  # first, since base64 text may itself end in "="
        return {"": whole}
    key_id, equals, rest = text.partition("=")
    key = _key_of(rest.strip()) if equals else None
    if key is None:
        raise WrongValue("not the base64 text of 32 bytes", hint=_HINT)
    return {key_id.strip(): key}


def _key_of(text: str) -> bytes | None:
    standard = text.replace("-", "+").replace("_", "/")
    padded = standard + "=" * (-len(standard) % 4)
    try:
        key = base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None
