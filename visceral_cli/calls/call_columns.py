"""Calls field by field: what the rows of a batch are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from visceral_cli.calls.tool_call import ToolCall

FIELDS = ToolCall.__struct_fields__
_ABSENT = dict(
    zip(FIELDS[-len(ToolCall.__struct_defaults__) :], ToolCall.__struct_defaults__, strict=True)
)


class CallColumns:
    """One list per field of :class:`ToolCall`, and the span record that tells each call."""

    __slots__ = ("fields", "records")

    def __init__(self) -> None:
        self.records: list[int] = []
        self.fields: dict[str, list[Any]] = {name: [] for name in FIELDS}

    def __len__(self) -> int:
        return len(self.records)

    def add(self, calls: Sequence[ToolCall], records: Sequence[int]) -> None:
        """Add calls; ``records[i]`` tells ``calls[i]``."""
        if calls:
            self.records += records
            told = zip(*map(msgspec.structs.astuple, calls), strict=True)
            for column, values in zip(self.fields.values(), told, strict=True):
                column += values

    def add_columns(self, records: Sequence[int], told: Mapping[str, Sequence[Any]]) -> None:
        """Add calls by field; what ``told`` leaves out has its default in all of them."""
        self.records += records
        count = len(records)
        for name, column in self.fields.items():
            values = told.get(name)
            column += [_ABSENT[name]] * count if values is None else values


def columns_of(calls: Sequence[ToolCall], records: Sequence[int]) -> CallColumns:
    """Return calls field by field; ``records[i]`` tells ``calls[i]``."""
    columns = CallColumns()
    columns.add(calls, records)
    return columns
