"""A stretch of a file read in blocks that are decoded while the processor still has them near.

Of a piece read at once, the first bytes have left its cache again before they are decoded.
"""

from __future__ import annotations

from typing import BinaryIO, Protocol

BLOCK_BYTES = 1 << 18
"""How much is read at once: a part of the cache that a core has for itself."""


class Take(Protocol):
    """What reads the records in a block."""

    def __call__(self, data: bytes, at: int, *, more: bool) -> int:
        """Read the whole records in ``data``; return how many bytes these are.

        ``at``: where in the file it begins. ``more``: whether the stretch goes on behind it; then
        a last record that is not whole is left alone.
        """


def read_blocks(
    stream: BinaryIO, at: int, length: int, take: Take, *, block_bytes: int = BLOCK_BYTES
) -> None:
    """Give ``take`` the ``length`` bytes of a file from ``at`` on, block by block.

    A record that crosses the end of a block is read again as the first one of the next; where one
    is longer than a block, the blocks become longer.
    """
    end = at + length
    while at < end:
        asked = min(block_bytes, end - at)
        stream.seek(at)
        data = stream.read(asked)
        more = len(data) == asked < end - at
        used = take(data, at, more=more)
        if not more:
            return
        at += used
        if not used:
            block_bytes *= 2
