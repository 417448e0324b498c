"""One form for the ids of spans, however an exporter spells them.

In goes what a file holds for a trace or span id: hex of any case (perhaps with ``0x``, perhaps
without its leading zeros), a UUID, base64 in either alphabet, padded or not, base64 of the hex
text, bytes, or a number. Out comes lower-case hex of full length, so that one span exported twice
in two ways has one id. What is none of these (``trace-001``) stays as it is. Absent, empty and
all-zero ids are ``None``.
"""

from __future__ import annotations

import base64
import binascii
import re

TRACE_BYTES = 16
SPAN_BYTES = 8

_HEX_TEXT = re.compile(r"[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LOWER_HEX = "0123456789abcdef"
_NO_TRACE = "0" * 32
_NO_SPAN = "0" * 16


def record_ids(
    trace: object, span: object, parent: object
) -> tuple[str | None, str | None, str | None]:
    """Return the trace, span and parent span id of one record in canonical form.

    Eleven characters may be a short hex span id or an unpadded base64 one: the encoding of the
    record's trace id decides, never the span id alone.
    """
    if (
        type(trace) is str
        and type(span) is str
        and len(trace) == 32
        and len(span) == 16
        and trace != _NO_TRACE
        and span != _NO_SPAN
        and not trace.strip(_LOWER_HEX)
        and not span.strip(_LOWER_HEX)
    ):
        if type(parent) is str and len(parent) == 16 and not parent.strip(_LOWER_HEX):
            return trace, span, parent if parent != _NO_SPAN else None
        return trace, span, span_id(parent)
    in_base64 = is_base64_trace(trace)
    return trace_id(trace), span_id(span, in_base64), span_id(parent, in_base64)


def trace_id(value: object) -> str | None:
    """Return a trace id as 32 hex digits, or as its text where it is no 16 bytes."""
    return _canonical(value, TRACE_BYTES, base64_first=False, unpadded=True)


def span_id(value: object, trace_in_base64: bool = False) -> str | None:
    """Return a span id as 16 hex digits, or as its text where it is no 8 bytes.

    ``trace_in_base64``: whether the record's trace id is base64; only then is a span id read as
    base64 without padding, and that before hex.
    """
    return _canonical(value, SPAN_BYTES, base64_first=trace_in_base64, unpadded=trace_in_base64)


def is_base64_trace(value: object) -> bool:
    """Return whether a trace id is spelt in base64."""
    return (
        isinstance(value, str)
        and not _HEX_TEXT.fullmatch(value.removeprefix("0x"))
        and _from_base64(value.strip(), TRACE_BYTES, unpadded=True) is not None
    )


def _canonical(value: object, size: int, *, base64_first: bool, unpadded: bool) -> str | None:
    if isinstance(value, bytes):
        return _from_bytes(value, size)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return f"{value:0{2 * size}x}"
    if not isinstance(value, str):
        return None
    text = value.strip()
    if not text.strip("0"):
        return None
    found = _from_base64(text, size, unpadded=unpadded) if base64_first else None
    found = found or _from_hex(text, size) or _from_base64(text, size, unpadded=unpadded) or text
    return found if found.strip("0") else None


def _from_hex(text: str, size: int) -> str | None:
    digits = text[2:] if text[:2] in ("0x", "0X") else text
    if size == TRACE_BYTES and len(digits) == 36 and _UUID.fullmatch(digits):
        digits = digits.replace("-", "")
    if not _HEX_TEXT.fullmatch(digits):
        return None
    if len(digits) == 3 * size:
        return _undo_base64(bytes.fromhex(digits), size) or digits.lower()
    return digits.lower().zfill(2 * size)


def _from_base64(text: str, size: int, *, unpadded: bool) -> str | None:
    """Return the hex digits behind base64 of ``size`` bytes, or of their hex text."""
    if not text.endswith("=") and not (unpadded and len(text) % 4):
        return None
    standard = text.rstrip("=").replace("-", "+").replace("_", "/")
    padded = standard + "=" * (-len(standard) % 4)
    try:
        decoded = base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.b64encode(decoded).decode() != padded:
        return None  # bits left over: a text that only looks like base64
    if len(decoded) == 2 * size and _HEX_TEXT.fullmatch(decoded.decode("latin-1")):
        return decoded.decode().lower()
    return decoded.hex() if len(decoded) == size else None


def _from_bytes(value: bytes, size: int) -> str | None:
    if not value.strip(b"\0"):
        return None
    if len(value) == size:
        return value.hex()
    if len(value) == 3 * size // 2 and (digits := _undo_base64(value, size)):
        return digits
    if len(value) == 2 * size and _HEX_TEXT.fullmatch(value.decode("latin-1")):
        return value.decode().lower()
    return value.hex().zfill(2 * size)


def _undo_base64(value: bytes, size: int) -> str | None:
    """Undo what generic protobuf-JSON readers do to OTLP's hex ids: decode them as base64.

    32 hex digits come out as 24 bytes; encoding these gives the digits back.
    """
    digits = base64.b64encode(value).decode()
    fits = len(digits) == 2 * size and _HEX_TEXT.fullmatch(digits)
    return digits.lower() if fits else None
