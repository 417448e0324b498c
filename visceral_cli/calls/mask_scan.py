"""Many canonical results searched at once for words of masks and cuts.

All four words end in ``ed``, and the four letters before it are rare. Comparing bytes at once and
looking before each ``ed`` takes a quarter of the time of searching for word after word.
"""

from __future__ import annotations

import numpy as np

from visceral_cli.calls import placeholders

_E, _D = b"ed"
_LOWER = 0x20
"""The bit that makes an ASCII letter lower case."""

_BEFORE = frozenset(
    int.from_bytes(letters, "little") for letters in (b"dact", b"ncat", b"mask", b"rubb")
)
"""What stands before the last ``ed`` in redacted, truncated, masked and scrubbed."""


def may_be_altered(text: str) -> bool:
    """Return what `placeholders.may_be_altered` does, for ASCII text; fast if it is long."""
    if len(text) < 6:
        return False
    small = np.frombuffer(text.encode("ascii"), np.uint8) | _LOWER
    ends = np.flatnonzero((small[4:-1] == _E) & (small[5:] == _D))
    fours = np.ndarray(len(small) - 3, "<u4", small, strides=(1,))  # from every byte on
    if _BEFORE.isdisjoint(fours[ends].tolist()):
        return False
    return placeholders.may_be_altered(text)
