"""The envelope in which ``otlp-stdout`` exporters print OTLP to a log.

``serverless-otlp-forwarder``: one object a line, its ``payload`` a whole OTLP message, protobuf or
JSON, mostly compressed with gzip and then in base64. Its ``headers`` may hold credentials and are
never looked at.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from visceral_cli.ingest.json_text import decode_utf8, parse_inner
from visceral_cli.ingest.otlp_document import read_otlp
from visceral_cli.ingest.span import DamageKind, Reading
from visceral_cli.ingest.span_fields import Object, text_of

MAX_PAYLOAD_BYTES = 64 << 20
"""What one payload may unfold to."""

_MARK = "__otel_otlp_stdout"


def is_envelope(document: Object) -> bool:
    """Return whether ``document`` is such an envelope."""
    return _MARK in document


def read_envelope(document: Object, reading: Reading) -> None:
    """Add what the payload of one envelope holds."""
    try:
        payload = _payload(document)
    except (binascii.Error, zlib.error, ValueError) as error:
        kind = DamageKind.TOO_LARGE if isinstance(error, _TooLarge) else DamageKind.COMPRESSION
        reading.add_damage(kind, "the payload of an envelope cannot be unpacked; left out")
        return
    if "json" not in text_of(document.get("content-type")).lower():
        # Most inputs are JSON, and protobuf's library is large: they do not wait for it.
        from visceral_cli.ingest.otlp_proto import read_message_here  # noqa: PLC0415

        read_message_here(payload, reading)
        return
    inner = parse_inner(decode_utf8(payload, reading), reading)
    if not isinstance(inner, dict) or not read_otlp(inner, reading):
        reading.add_damage(DamageKind.NOT_JSON, "the payload of an envelope is no OTLP; left out")


class _TooLarge(ValueError):
    pass


def _payload(document: Object) -> bytes:
    payload = document.get("payload")
    if isinstance(payload, dict):
        return json.dumps(payload).encode()
    if not isinstance(payload, str):
        raise ValueError
    data = base64.b64decode(payload) if document.get("base64") else payload.encode()
    if text_of(document.get("content-encoding")).lower() != "gzip":
        return data
    unpacker = zlib.decompressobj(wbits=31)
    unpacked = unpacker.decompress(data, MAX_PAYLOAD_BYTES)
    if unpacker.unconsumed_tail:
        raise _TooLarge
    if not unpacker.eof:
        raise ValueError
    return unpacked
