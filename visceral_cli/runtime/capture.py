"""What of a call's arguments and result goes onto its span."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from visceral_cli.contract import attributes as names
from visceral_cli.contract.key_order import is_order_told, key_order
from visceral_cli.runtime.encryption import Key
from visceral_cli.runtime.kept_value import Written

SetAttribute = Callable[[str, object], object]


class CaptureMode(StrEnum):
    """How values are captured."""

    HASHES = "hashes"
    """The default without a key: the content hash of the result, no value."""
    ENCRYPTED = "encrypted"
    """The default with a key: encrypted sections. Without a usable key: nothing."""
    CLEAR = "clear"
    """Arguments and results in clear text."""


@dataclass(frozen=True, slots=True)
class Capture:
    """The mode and, for `CaptureMode.ENCRYPTED`, the key."""

    mode: CaptureMode = CaptureMode.HASHES
    key: Key | None = None

    def write_input(self, arguments_json: str, set_attribute: SetAttribute) -> None:
        """Write the canonical JSON of all arguments, as far as the mode allows."""
        if self.mode is CaptureMode.CLEAR:
            set_attribute(names.INPUT_VALUE, arguments_json)
        elif self.mode is CaptureMode.ENCRYPTED and self.key is not None:
            _write_section(self.key, names.INPUT_SECTION, arguments_json, set_attribute)

    def write_output(self, written: Written, is_error: bool, set_attribute: SetAttribute) -> None:
        """Write the canonical JSON of the result, or its hash, as far as the mode allows."""
        if self.mode is CaptureMode.HASHES:
            if not is_error:
                set_attribute(names.OUTPUT_HASH, written.content)
            return
        if self.mode is CaptureMode.CLEAR:
            set_attribute(names.OUTPUT_VALUE, written.canonical)
        elif self.key is not None:
            _write_section(self.key, names.OUTPUT_SECTION, written.canonical, set_attribute)
        else:
            return
        if not is_order_told(written.value):
            order = key_order(written.value)
            if order is not None:
                set_attribute(names.OUTPUT_ORDER, order)


def _write_section(key: Key, prefix: str, text: str, set_attribute: SetAttribute) -> None:
    section = key.section(text)
    set_attribute(f"{prefix}.{names.SECTION_CIPHERTEXT}", section.ciphertext)
    set_attribute(f"{prefix}.{names.SECTION_IV}", section.iv)
    set_attribute(f"{prefix}.{names.SECTION_TAG}", section.tag)
    if key.key_id is not None:
        set_attribute(f"{prefix}.{names.SECTION_KEY_ID}", key.key_id)
