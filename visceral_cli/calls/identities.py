"""The arguments and the identity of a call, from whatever its span holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from visceral_cli.calls import places
from visceral_cli.calls.arguments import (
    Arguments,
    parameter_names,
    read_all_arguments,
    read_arguments,
)
from visceral_cli.calls.canonical import canonical_text
from visceral_cli.calls.convention import Convention, Text
from visceral_cli.calls.encryption import SectionOpener, section_keys, section_of
from visceral_cli.calls.envelopes import LONE
from visceral_cli.calls.remembered import Remembered
from visceral_cli.calls.tool_call import CallKind, IdentityMissing
from visceral_cli.contract import attributes as names
from visceral_cli.contract.identity import NotCanonical, input_hash_of_text, input_hashes_of_texts
from visceral_cli.ingest.span import Span
from visceral_cli.settings import ToolDeclaration

QUERY = "query"
"""The name of a retriever's bare query."""

_JSON = "application/json"
# Looked up once: reading a member off its class costs a tenth of a microsecond.
_TOOL, _BARE = CallKind.TOOL, Text.BARE
_MOST_SCHEMAS = 1000


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Arguments with their input hash; ``None`` exactly when the arguments are missing."""

    arguments: Arguments
    input_hash: str | None


_SEALED = Identity(Arguments(IdentityMissing.ENCRYPTED), None)
_NOTHING = Identity(Arguments(IdentityMissing.NOT_CAPTURED), None)
_CIPHERTEXT, _, _ = section_keys(names.INPUT_SECTION)


class IdentityReader:
    """Reads identities; remembers those of texts it has read."""

    def __init__(self, opener: SectionOpener) -> None:
        self._opener = opener
        self._known: Remembered[Identity] = Remembered()
        self._schemas: dict[str, tuple[str, ...]] = {}

    def read(
        self,
        span: Span,
        row: Convention,
        kind: CallKind,
        tool: str,
        version: object,
        declaration: ToolDeclaration,
    ) -> Identity:
        """Return the identity of the one call that a span tells of.

        Raises `UsageError` when a captured section needs another workspace key.
        """
        attributes = span.attributes
        raw, form = places.raw_arguments(span, row)
        mime = places.text_or_none(attributes, row.argument_mime)
        if raw is None and row.sealed:
            raw, is_sealed = self._unseal(attributes)
            if is_sealed and raw is None:
                return _SEALED
            if names.INPUT_HASH in attributes:
                mime = _JSON  # what was hashed is canonical JSON, whatever the framework showed
        vary = declaration.vary
        if row.attested:
            vary = declared_vary(attributes.get(names.VARY), vary)
        positions = self._positions(attributes, row) if row.schema is not None else ()
        if kind is not _TOOL or type(raw) is not str:
            read = read_arguments(
                raw,
                row,
                text_form=form,
                mime=mime,
                names=positions,
                lone=QUERY if kind is CallKind.RETRIEVER else LONE,
                beside=places.beside_arguments(row, kind, attributes),
            )
            return hashed(_reconciled(read, attributes, row, raw), tool, version, vary)
        if len(row.arguments) > 1 and _told_twice(attributes, row, raw):
            read = read_arguments(raw, row, text_form=form, mime=mime, names=positions)
            return hashed(_reconciled(read, attributes, row, raw), tool, version, vary)
        return self.read_text(raw, row, form, mime, tool, version, vary, positions)

    def read_text(
        self,
        raw: str,
        row: Convention,
        form: Text,
        mime: str | None,
        tool: str,
        version: object,
        vary: tuple[str, ...] | None,
        positions: tuple[str, ...],
    ) -> Identity:
        """Return the identity of a call whose arguments stand in one text.

        ``form`` says what a text without MIME type is, ``positions`` names the tool's parameters.
        """
        way = _way(row, form, mime, tool, version, vary, positions)
        known = self._known.known(way).get(raw)
        if known is None:
            read = read_arguments(raw, row, text_form=form, mime=mime, names=positions)
            known = hashed(read, tool, version, vary)
            self._known.keep(way, (raw,), (known,))
        return known

    def read_texts(
        self,
        raws: Sequence[str],
        row: Convention,
        mime: str | None,
        tool: str,
        version: object,
        vary: tuple[str, ...] | None,
    ) -> list[Identity]:
        """Return the identities of calls of one tool whose arguments stand in one text each.

        What :meth:`read_text` returns for each, for a row without a schema of the arguments.
        """
        form = row.argument_text
        way = _way(row, form, mime, tool, version, vary, ())
        identities = list(map(self._known.known(way).get, raws))
        new = [raw for raw, known in zip(raws, identities, strict=True) if known is None]
        if not new:
            return identities  # type: ignore[return-value]
        new = list(dict.fromkeys(new))
        arguments = read_all_arguments(new, row, form, mime)
        read = self._known.keep(way, new, _all_hashed(arguments, tool, version, vary))
        return [
            read[raw] if known is None else known
            for raw, known in zip(raws, identities, strict=True)
        ]

    def without_text(self, row: Convention, keys: Collection[str]) -> Identity:
        """Return what :meth:`read` does for spans without a key of the arguments or of a section.

        Or of a section that cannot be opened.
        """
        sealed = row.sealed and _CIPHERTEXT in keys
        return _SEALED if sealed else _NOTHING

    def _unseal(self, attributes: Mapping[str, object]) -> tuple[str | None, bool]:
        section = section_of(attributes, names.INPUT_SECTION) if self._opener.has_keys else None
        if section is None:
            return None, _CIPHERTEXT in attributes
        return self._opener.open(section), True

    def _positions(self, attributes: Mapping[str, object], row: Convention) -> tuple[str, ...]:
        schema = attributes.get(row.schema) if row.schema is not None else None
        if not isinstance(schema, str):
            return parameter_names(schema)
        known = self._schemas.get(schema)
        if known is None:
            if len(self._schemas) >= _MOST_SCHEMAS:
                self._schemas.clear()
            known = self._schemas[schema] = parameter_names(schema)
        return known


def _way(
    row: Convention,
    form: Text,
    mime: str | None,
    tool: str,
    version: object,
    vary: tuple[str, ...] | None,
    positions: tuple[str, ...],
) -> tuple[object, ...]:
    """Return all that the identity of a call depends on beside the text of its arguments."""
    label = version if version is None or type(version) is str else repr(version)
    return row.name, form is _BARE, mime, tool, label, vary, positions


def declared_vary(told: object, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names that a span declares to count, else ``other``."""
    return tuple(told.split(",")) if isinstance(told, str) and told else other


def _told_twice(attributes: Mapping[str, object], row: Convention, raw: object) -> bool:
    """Whether another of the row's attributes holds something else than ``raw``."""
    for key in row.arguments:
        other = attributes.get(key)
        if other is not None and other != raw:
            return True
    return False


def _reconciled(
    read: Arguments, attributes: Mapping[str, object], row: Convention, raw: object
) -> Arguments:
    """Return the arguments that all attributes of a span agree on.

    The first one counts, but named arguments beat unnamed ones and known ones unknown ones. Two
    that name different arguments leave none.
    """
    if raw is None:
        return read
    for key in row.arguments:
        other = attributes.get(key)
        if other is None or other == raw:
            continue
        second = read_arguments(other, row)
        if second.missing is not None or second.text == read.text:
            continue
        if read.missing is not None or (read.unnamed and not second.unnamed):
            read = second
        elif not read.unnamed and not second.unnamed:
            return Arguments(IdentityMissing.CONFLICT)
    return read


def _all_hashed(
    arguments: Sequence[Arguments], tool: str, version: object, vary: Sequence[str] | None
) -> list[Identity]:
    """Return what `hashed` does for each."""
    texts = [one.text for one in arguments]
    if vary is None and None not in texts:
        try:
            hashes = input_hashes_of_texts(tool, texts, version=version)  # type: ignore[arg-type]
        except NotCanonical:
            pass
        else:
            return list(map(Identity, arguments, hashes))
    return [hashed(one, tool, version, vary) for one in arguments]


def hashed(
    arguments: Arguments, tool: str, version: object, vary: Sequence[str] | None
) -> Identity:
    """Return the arguments with the input hash of those that ``vary`` names, all if ``None``."""
    if arguments.text is None:
        return Identity(arguments, None)
    text = arguments.text
    try:
        if vary is not None and all(name in arguments.value for name in vary):
            # Where one is missing, all arguments count: finer, so that nothing is merged.
            keyed = {name: arguments.value[name] for name in vary}
            text = canonical_text(keyed, plain=False)
        return Identity(arguments, input_hash_of_text(tool, text, version=version))
    except NotCanonical:
        return Identity(Arguments(IdentityMissing.NOT_CANONICAL), None)
