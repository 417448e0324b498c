"""Objects that begin afresh in a forked process: their locks and threads are the parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class BeginsAfresh(Protocol):
    """Something with locks, threads or connections."""

    def begin_afresh(self) -> None:
        """Make new ones; the old ones are left alone."""


_OBJECTS: weakref.WeakSet[BeginsAfresh] = weakref.WeakSet()


def begin_afresh_after_fork(thing: BeginsAfresh) -> None:
    """Call ``thing.begin_afresh()`` in every process that is forked from now on."""
    _OBJECTS.add(thing)


def _after_fork() -> None:
    for thing in list(_OBJECTS):
        thing.begin_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
